"""The result of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from graylearn.data.batches.base import Preparation
from graylearn.errors import counted
from graylearn.notebook import lines, shown
from graylearn.training.history import History
from graylearn.training.predict import evaluate, predict_logits
from graylearn.training.progress import Row
from graylearn.training.settings import Settings


@dataclass(frozen=True)
class Result:
    """The result of a training."""

    model: nn.Module
    """The user's module, trained, on the device of the run, in eval mode."""
    log: list[Row]
    """One row per epoch: loss, accuracy, learning_rate, seconds, ..."""
    history: History
    """Confidence of each training sample in each epoch."""
    settings: Settings
    """What the run was made with, presets and changes resolved."""
    preparation: Preparation
    """How samples become inputs; prediction on uint8 images needs it."""
    interrupted: bool = False
    """Whether Ctrl-C came: the run ended there, at the latest with its last epoch."""
    seconds: float = 0.0
    """Wall time of this call."""
    best_epoch: int | None = None
    """With `patience`, the epoch whose weights the model has, counted from 0."""

    def _repr_html_(self) -> str:
        """Loss and accuracy over the epochs, for notebooks."""
        pictures = []
        for name in ("loss", "accuracy"):
            both = {"training": name, "validation": f"validation_{name}"}
            curves = {who: [row[key] for row in self.log] for who, key in both.items() if self._has(key)}
            pictures.append(lines(f"{name} by epoch", curves))
        return shown(self._words(), *pictures)

    def __repr__(self) -> str:
        last = "".join(
            f", {name} {self.log[-1][name]:.4g}" for name in ("loss", "accuracy") if self._has(name)
        )
        return f"<Result: {self._words()}{last}: see its log, history and model>"

    def _words(self) -> str:
        best = "" if self.best_epoch is None else f" (best: number {self.best_epoch + 1})"
        epochs = counted(len(self.log), "epoch")
        return f"{type(self.model).__name__} trained for {epochs}{best}, {self.seconds:.1f} s"

    def _has(self, key: str) -> bool:
        return bool(self.log) and all(key in row for row in self.log)

    def raise_if_interrupted(self) -> Result:
        """This result; KeyboardInterrupt if Ctrl-C ended the run early."""
        if self.interrupted:
            raise KeyboardInterrupt
        return self

    def predict_logits(self, x: Any, **options: Any) -> NDArray[np.float32]:
        """Logits (N, K) of samples as the model was trained on them: arrays, a Dataset or a DataLoader."""
        return predict_logits(self.model, x, **self._asked(options))

    def evaluate(self, x: Any, y: Any = None, **options: Any) -> dict[str, float]:
        """Loss and accuracy on samples with their true labels: (x, y) or x, y, a Dataset or a DataLoader."""
        return evaluate(self.model, x, y, **self._asked(options))

    def _asked(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"preparation": self.preparation, "logits": self.settings.logits, **options}
