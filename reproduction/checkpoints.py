"""Checkpoints of the cells of a sweep, from which one that was killed resumes.

Those of a fit lie in a folder named after the key of its cell, and go once its row is written.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.cells import Cell

CHECKPOINTS = 10
"""Checkpoints a run: at most a tenth of one is trained again. One of ResNet18 and its history is 150 MB."""


@dataclass(frozen=True)
class Checkpoints:
    """Where they lie."""

    folder: Path | None = None
    """Each fit has a folder of its own in it; None keeps no checkpoints."""

    def settings(self, cell: Cell) -> dict[str, Any]:
        """The options of `train` that keep checkpoints of the fit of a cell and resume from them."""
        if self.folder is None:
            return {}
        return {
            "checkpoint": self.folder / cell.key,
            "checkpoint_epochs": max(1, cell.epochs // CHECKPOINTS),
            "resume": True,
        }

    def clear(self, cell: Cell) -> None:
        """Remove the checkpoints of a cell whose row is written, and what holds no others."""
        if self.folder is None:
            return
        shutil.rmtree(self.folder / cell.key, ignore_errors=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


NONE = Checkpoints()
"""No checkpoints."""
