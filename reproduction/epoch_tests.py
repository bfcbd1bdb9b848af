"""Test accuracy after each epoch: of the test images as they are, and augmented as in training.

The paper reports the last epoch. Two repositories of its authors crop and flip the test images too, and two
report an earlier epoch, so a row that has both curves answers what either would have made of a number.
"""

from __future__ import annotations

import torch

from graylearn.data import Samples
from graylearn.data.batches import Augment, Preparation, augment_rows
from graylearn.training import Settings, seeding
from graylearn.training.devices import HALF, autocast_type, choose
from graylearn.training.loop import EpochEnd
from graylearn.training.result import predict_logits
from graylearn.training.sources import as_tensor

_BATCH = 2500
"""Images a pass: as few passes as memory that six runs share allows."""


class EpochTests:
    """A callback of `train` that adds two accuracies, `test_plain` and `test_augmented`, to each row."""

    def __init__(self, test: Samples, settings: Settings) -> None:
        device = choose(settings.device)
        half = autocast_type(settings.precision, device, images=True)
        self._precision = next((name for name, kind in HALF.items() if kind == half), "fp32")
        self._preparation = Preparation(scale=settings.scale, dtype=half or torch.float32)
        self._augment = settings.augment or Augment(crop=0, flip=False)
        self._seed = seeding.derive(settings.seed, "test")
        self._x = self._preparation.stored(as_tensor(test.x)).to(device)
        self._y = torch.from_numpy(test.y)

    def __call__(self, end: EpochEnd) -> None:
        """Test the network as the epoch left it."""
        rows = torch.arange(len(self._x), device=self._x.device)
        augmented = augment_rows(self._x, rows, rows, self._augment, seed=self._seed, epoch=end.epoch)
        end.row["test_plain"] = self._accuracy(end, self._x)
        end.row["test_augmented"] = self._accuracy(end, augmented)

    def _accuracy(self, end: EpochEnd, images: torch.Tensor) -> float:
        logits = predict_logits(
            end.model, images, preparation=self._preparation, batch_size=_BATCH, precision=self._precision
        )
        return float((torch.from_numpy(logits).argmax(1) == self._y).double().mean())
