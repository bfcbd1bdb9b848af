"""Label smoothing and soft targets, for any method whose loss of a sample follows from its logits and label.

The loss is the one to be expected where the label is drawn from the target: sum_k t_k * loss(logits, k). For
cross entropy that is cross entropy with t. For the Gray loss it is

    C * sum_k t_k * (-log Q_k) + (1 - C) * sum_k (1 - t_k) * (-log(1 - Q_k)),

what t claims and what it excludes, with C as ever a matter of the network alone. Both are computed so, as
their `soft_loss`; of other methods each step costs K losses per sample.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import torch
from torch import Tensor

from graylearn.errors import SettingsError
from graylearn.methods.base import Method, Step, Task


class Softened(Method):
    """Another method, taught by distributions over the classes."""

    per_sample = False

    def __init__(self, method: Method, smoothing: float = 0.0, targets: Tensor | None = None) -> None:
        alone = method.per_sample and method.networks == 1 and not method.needs_features
        # a subclass that changes the loss alone has not the short form of what it comes from
        last = next(kind for kind in type(method).__mro__ if {"loss", "soft_loss"} & vars(kind).keys())
        self.soft_loss_of = type(method).soft_loss if "soft_loss" in vars(last) else Method.soft_loss
        if not alone and self.soft_loss_of is Method.soft_loss:
            raise SettingsError(
                f"{type(method).__name__} selects, draws or compares, which soft labels do not allow:"
                " leave label_smoothing out and give class labels, or take gl, standard or another method"
                " whose loss follows from logits and label"
            )
        self.method, self.smoothing, self.targets = method, smoothing, targets
        self.plans_epochs = method.plans_epochs

    def __repr__(self) -> str:
        """With a digest of the targets, because a run is resumed with the same."""
        kept = None if self.targets is None else hashlib.sha256(self.targets.cpu().numpy().tobytes())
        inner = repr(self.method) if dataclasses.is_dataclass(self.method) else type(self.method).__name__
        return f"{inner} {self.smoothing} {kept and kept.hexdigest()}"

    def can_be_shared(self) -> bool:
        """As the method itself: the target of a sample is its own."""
        return self.method.can_be_shared()

    def start(self, task: Task) -> None:
        """Bring the targets to the device."""
        super().start(task)
        self.method.start(task)
        if self.targets is not None:
            if self.targets.shape[1] != task.num_classes:
                raise SettingsError(
                    f"there are soft targets of {self.targets.shape[1]} classes but the network gives"
                    f" {task.num_classes} logits: give one per class"
                )
            self.targets = self.targets.to(task.device)

    def start_epoch(self, epoch: int) -> None:
        """Tell the method."""
        self.method.start_epoch(epoch)

    def blend(self, inputs: Tensor) -> Tensor:
        """What the method makes of the inputs."""
        return self.method.blend(inputs)

    def end_epoch(self, epoch: int) -> None:
        """Tell the method."""
        self.method.end_epoch(epoch)

    def learning_rate_scale(self, epoch: int) -> float:
        """As the method wants it."""
        return self.method.learning_rate_scale(epoch)

    def loss(self, step: Step) -> Tensor:
        """The expected loss of each sample."""
        k = step.logits.shape[1]
        if self.targets is None:
            share = torch.nn.functional.one_hot(step.target, k).float()
        else:
            share = self.targets[step.index]
        share = (1 - self.smoothing) * share + self.smoothing / k
        return self.soft_loss_of(self.method, step, share)

    def state_dict(self) -> dict[str, Any]:
        """What the method remembers."""
        return self.method.state_dict()

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Told to the method."""
        self.method.load_state_dict(saved)
