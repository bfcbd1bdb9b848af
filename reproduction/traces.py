"""What a cell leaves on the disk beside its row: checkpoints and progress while it trains, its history after.

The checkpoints of a fit lie in a folder named after the key of its cell and go once the row is written; a
sweep that was killed resumes from them. A history is kept only where a folder for it is named.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graylearn.data import Contaminated
from graylearn.data.atomic import replacing, write_text
from graylearn.data.contaminate import TRUTH
from graylearn.training import History, Result
from reproduction.cells import Cell
from reproduction.diagnostics import by_group
from reproduction.measure import rounded
from reproduction.progress import Progress
from reproduction.provenance import provenance

CHECKPOINTS = 10
"""Checkpoints a run: at most a tenth of one is trained again. One of ResNet18 and its history is 150 MB."""


@dataclass(frozen=True)
class Traces:
    """Where traces go; None leaves none."""

    checkpoints: Path | None = None
    """A folder; each fit has one of its own in it."""
    progress: Path | None = None
    """The file of progress lines."""
    histories: Path | None = None
    """A folder for KEY.npz, what `History.load` reads and the truth of each sample, and KEY.json, which
    tells by epoch and group of samples what the history says in the mean."""

    def checkpointing(self, cell: Cell) -> dict[str, Any]:
        """The options of `train` that keep checkpoints of the fit of a cell and resume from them."""
        if self.checkpoints is None:
            return {}
        return {
            "checkpoint": self.checkpoints / cell.key,
            "checkpoint_epochs": max(1, cell.epochs // CHECKPOINTS),
            "resume": True,
        }

    def progressing(self, cell: Cell) -> Progress:
        """The callback of `train` that tells how far the fit of a cell is."""
        return Progress(str(cell), cell.epochs, self.progress)

    def clear(self, cell: Cell) -> None:
        """Remove the checkpoints of a cell whose row is written, and what holds no others."""
        if self.checkpoints is None:
            return
        shutil.rmtree(self.checkpoints / cell.key, ignore_errors=True)
        if self.checkpoints.is_dir() and not any(self.checkpoints.iterdir()):
            self.checkpoints.rmdir()

    def keep(self, cell: Cell, result: Result, train: Contaminated) -> None:
        """Write the history of a finished fit, its means by group, and its log."""
        if self.histories is None:
            return
        self.histories.mkdir(parents=True, exist_ok=True)
        truth = {name: getattr(train, name) for name in TRUTH}
        if cell.method == "oracle":  # it was trained without the others
            truth = {name: values[~train.is_ood] for name, values in truth.items()}
        with replacing(self.histories / f"{cell.key}.npz") as partial, partial.open("wb") as file:
            np.savez_compressed(file, **result.history.arrays(), **truth)  # type: ignore[arg-type]
        told = {
            "key": cell.key,
            "cell": cell.to_dict(),
            "log": result.log,
            "groups": by_group(result.history, truth["is_ood"], truth["is_flipped"], cell.method),
            **provenance(),
        }
        write_text(self.histories / f"{cell.key}.json", json.dumps(rounded(told)) + "\n")

    def kept(self, cell: Cell) -> tuple[History, float] | None:
        """The history that `keep` wrote of the fit of a cell, and how many seconds the fit took."""
        if self.histories is None:
            return None
        history, told = (self.histories / f"{cell.key}.{end}" for end in ("npz", "json"))
        if not history.exists() or not told.exists():
            return None
        log = json.loads(told.read_text())["log"]
        return History.load(history), float(sum(row["seconds"] for row in log))


NONE = Traces()
"""No traces at all."""
