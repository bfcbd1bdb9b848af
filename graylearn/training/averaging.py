"""What a run keeps beside its weights: their running mean, and those of the best epoch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from graylearn.torch_internals import lerp_each
from graylearn.training.processes import is_part, part_of


class Average:
    """A running mean of weights and buffers, which `swap` exchanges with them."""

    def __init__(self, values: Sequence[Tensor], keep: float) -> None:
        self.values = list(values)
        self.mean = [value.clone() for value in values]
        pairs = list(zip(self.mean, self.values, strict=True))
        floats = [pair for pair in pairs if pair[0].is_floating_point()]
        # sharded and whole tensors cannot be moved in one call
        self.moved = [[pair for pair in floats if is_part(pair[0]) == part] for part in (False, True)]
        # such as the batches that a batch norm has counted
        self.copied = [pair for pair in pairs if not pair[0].is_floating_point()]
        self.keep = keep
        self.steps = 0

    @torch.no_grad()
    def update(self) -> None:
        """Add the weights after a step; early ones decay faster, because the first are random."""
        keep = min(self.keep, (1 + self.steps) / (10 + self.steps))
        self.steps += 1
        for pairs in self.moved:
            if pairs:
                means, values = zip(*pairs, strict=True)
                lerp_each(means, values, 1 - keep)
        for mean, value in self.copied:
            mean.copy_(value)

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the mean and the weights."""
        for mean, value in zip(self.mean, self.values, strict=True):
            weights = value.clone()
            value.copy_(mean)
            mean.copy_(weights)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"mean": self.mean, "steps": self.steps}

    def load_state(self, saved: dict[str, Any]) -> None:
        """Take what `state` gave."""
        for mean, value in zip(self.mean, saved["mean"], strict=True):
            mean.copy_(part_of(value, mean))
        self.steps = int(saved["steps"])


class Best:
    """The weights of the best epoch on a validation set, for early stopping.

    Best is the highest accuracy; among equals, the lowest loss.
    """

    def __init__(self, model: nn.Module, patience: int) -> None:
        self.model, self.patience = model, patience
        self.reached = (-math.inf, -math.inf)
        self.epoch = -1
        self.weights: dict[str, Any] = {}

    def look(self, epoch: int, validation: dict[str, float]) -> bool:
        """Compare one epoch with the best; True if the run should end."""
        reached = (validation["accuracy"], -validation["loss"])
        if self.epoch < 0 or reached > self.reached:
            self.reached, self.epoch = reached, epoch
            self.weights = {
                name: value.detach().clone() if isinstance(value, Tensor) else value
                for name, value in self.model.state_dict().items()
            }
        return epoch - self.epoch >= self.patience

    def restore(self) -> None:
        """Put the best weights into the model, if there are any."""
        if self.weights:
            self.model.load_state_dict(self.weights)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"reached": self.reached, "epoch": self.epoch, "weights": self.weights}

    def load_state(self, saved: dict[str, Any]) -> None:
        """Take what `state` gave."""
        self.reached, self.epoch, own = saved["reached"], int(saved["epoch"]), self.model.state_dict()
        self.weights = {name: part_of(value, own[name]) for name, value in saved["weights"].items()}
