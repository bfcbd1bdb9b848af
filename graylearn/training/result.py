"""The result of a training, and what a trained network says of samples."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from graylearn.data.batches import Preparation, as_classes
from graylearn.data.streams import are_several, as_inputs, collate, inputs_of
from graylearn.errors import DataError, counted
from graylearn.notebook import lines, shown
from graylearn.training.devices import HALF
from graylearn.training.history import History
from graylearn.training.networks import Which, ask, in_eval_mode
from graylearn.training.progress import Row
from graylearn.training.settings import Settings
from graylearn.training.sources import as_tensor, check_labels, is_dataset, read_labelled


@torch.no_grad()
def predict_logits(
    model: nn.Module,
    x: Any,
    *,
    preparation: Preparation | None = None,
    batch_size: int = 2048,
    device: torch.device | str | None = None,
    precision: str = "fp32",
    logits: Which = None,
) -> NDArray[np.float32]:
    """Logits (N, K) of the samples `x`, with the model in eval mode.

    `preparation` is the one of the Result that trained the model: it holds the pixel scale of uint8 images.
    Several inputs are a dict or a tuple; `logits` says which they are if the model returns more. `x` may be
    a Dataset or a DataLoader, which are read a batch at a time, in the order they have.
    """
    if isinstance(x, DataLoader) or is_dataset(x):
        batches = x if isinstance(x, DataLoader) else DataLoader(x, batch_size=batch_size, collate_fn=collate)
        kept: dict[str, Any] = {"preparation": preparation, "precision": precision, "logits": logits}
        each = [predict_logits(model, inputs_of(item), device=device, **kept) for item in batches]
        if not each:
            raise DataError("there are no samples to predict")
        return np.concatenate(each)
    samples: Any = as_inputs(x) if are_several(x) else as_tensor(getattr(x, "x", x))
    if device is None:
        device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    device = torch.device(device)
    preparation = preparation or Preparation()
    if precision not in HALF and preparation.dtype != torch.float32:  # trained under autocast
        preparation = dataclasses.replace(preparation, dtype=torch.float32)
    if samples.dtype == torch.uint8 and samples.ndim == 4 and not preparation.images:
        raise DataError("x holds uint8 images: give preparation=result.preparation, which knows their scale")
    autocast = torch.autocast(device.type, HALF.get(precision), enabled=precision in HALF)
    parts = []
    with in_eval_mode(model):
        for start in range(0, len(samples), batch_size):
            piece = preparation.stored(samples[start : start + batch_size].to(device, non_blocking=True))
            with autocast:
                parts.append(ask(model, preparation.finish(piece), logits).float())
    if not parts:
        raise DataError("there are no samples to predict")
    return torch.cat(parts).cpu().numpy()


def evaluate(model: nn.Module, x: Any, y: Any = None, **options: Any) -> dict[str, float]:
    """Mean cross entropy and accuracy of the model on samples with their true labels.

    Without `y`, x brings the labels: a tuple (x, y), Samples, a Dataset or a DataLoader, which are read into
    memory. Options are those of `predict_logits`.
    """
    if y is None:
        x, y = read_labelled(x, "x")
    logits = torch.from_numpy(predict_logits(model, x, **options))
    target = as_classes(as_tensor(y, "y")).cpu()
    if len(target) != len(logits):
        raise DataError(f"there are {len(logits)} samples but {len(target)} labels: one per sample is needed")
    check_labels(target, logits.shape[1])
    return {
        "loss": float(F.cross_entropy(logits, target)),
        "accuracy": float((logits.argmax(1) == target).double().mean()),
    }


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
