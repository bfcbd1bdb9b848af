"""believe: `choose` by a network that is the mean of its own past, with classes of equal size (ours)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graylearn.methods.base import Share, Task, register
from graylearn.methods.blends import Choose

_ROUNDS = 20
"""Of making classes equal; each goes half of the way."""
_MOST = 2.0
"""An answer is made at most so many times larger or smaller."""


@register("believe")
@dataclass
class Believe(Choose):
    """As `choose`, with the mean over epochs of what the network of the mean weights says.

    Answers are scaled by class so that what is taught without labels adds up to the same for every class:
    people give some labels far too often, and a network that learns from itself makes that worse.
    """

    momentum: Share = 0.8
    """Weight of the past in the mean answer. Default: ours, less than in `choose`, because a mean of the
    weights answers."""
    equal: bool = True
    """Take classes to be of equal size; False where they are not."""

    average: ClassVar[float | None] = 0.999
    each: ClassVar[bool] = True
    state = (*Choose.state, "scale")

    def start(self, task: Task) -> None:
        """All classes count alike."""
        super().start(task)
        self.scale = torch.ones(task.num_classes, device=task.device)

    def end_epoch(self, epoch: int) -> None:
        """Scale the classes anew; samples count by how sure the answer is, so foreign ones count little."""
        if not self.equal:
            return
        top, says = self.answers.max(1)
        agrees = (says == self.task.targets).to(top.dtype)
        sure = (top * agrees).sum() / agrees.sum().clamp(min=1)
        counts = (top / sure.clamp(min=1e-12)).clamp(max=1)
        for _ in range(_ROUNDS):
            taught = self._weighed(self.answers) ** self.sharpness
            sizes = counts @ (taught / taught.sum(1, keepdim=True).clamp(min=1e-30))
            step = (sizes.mean() / sizes.clamp(min=1e-6)) ** 0.25  # a quarter, as answers are squared
            self.scale = (self.scale * step).clamp(1 / _MOST, _MOST)

    def _weighed(self, answer: Tensor) -> Tensor:
        return answer * self.scale.to(answer.dtype)
