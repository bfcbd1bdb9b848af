"""What a cell leaves on the disk beside its row while it trains: checkpoints, and lines of progress.

The checkpoints of a fit lie in a folder named after the key of its cell and go once the row is written; a
sweep that was killed resumes from them.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.cells import Cell
from reproduction.progress import Progress

CHECKPOINTS = 10
"""Checkpoints a run: at most a tenth of one is trained again. One of ResNet18 and its history is 150 MB."""


@dataclass(frozen=True)
class Traces:
    """Where traces go; None leaves none."""

    checkpoints: Path | None = None
    """A folder; each fit has one of its own in it."""
    progress: Path | None = None
    """The file of progress lines."""

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


NONE = Traces()
"""No traces at all."""
