"""spl: self-paced learning, the easy samples first (Kumar, Packer and Koller, 2010)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Method, Step, Task, register
from graylearn.methods.checks import Count, Factor, Range, Share
from graylearn.methods.selection import mean_over


@register("spl")
@dataclass
class SelfPaced(Method):
    """Train on the samples whose loss was below lambda; relax lambda after each epoch.

    The two halves of the method take turns: while the weights of the samples stand still the network
    trains for an epoch, then the losses of that epoch choose the samples of the next.
    """

    share: Share = 0.5
    """Share of the samples that the first lambda admits. Default: the authors' "about half"."""
    growth: Annotated[float, Range(1)] = 1.3
    """Factor on lambda after each epoch. Default: the authors'."""
    warmup: Count = 1
    """Epochs on all samples before the first choice. Default: one; the authors too begin with a short
    training on everything, since the losses of an untrained network say nothing."""
    released: bool = False
    """Keep what is at least `margin` below the mean loss of its batch, at every step, without lambda, as
    Gray Learning's released code does. Default: the authors' schedule."""
    margin: Factor = 0.01
    """Used with `released` alone. Default: that code's."""

    per_sample = False
    state = ("losses", "selected", "threshold")

    def start(self, task: Task) -> None:
        """All samples are in until the first choice."""
        super().start(task)
        self.losses = torch.full((task.num_samples,), math.inf, device=task.device)
        self.selected = torch.ones(task.num_samples, dtype=torch.bool, device=task.device)
        self.threshold = torch.tensor(math.inf, device=task.device)

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of the chosen samples; what is left out is still measured for the next choice."""
        loss = F.cross_entropy(step.logits, step.target, reduction="none")
        self.losses[step.index] = loss.detach().to(self.losses.dtype)
        if self.released:
            too_hard = loss.detach() > loss.detach().mean() - self.margin
            return mean_over(loss, ~too_hard)  # NaN stays in, so that it is noticed
        return mean_over(loss, self.selected[step.index])

    def end_epoch(self, epoch: int) -> None:
        """Set or relax lambda, and choose the samples of the next epoch."""
        if self.released or epoch + 1 < self.warmup:
            return
        if epoch + 1 == self.warmup:
            self.threshold = self._first_threshold()
        else:
            self.threshold = self.threshold * self.growth
        self.selected = self.choose(self.losses)

    def choose(self, losses: Tensor) -> Tensor:
        """Which samples the next epoch trains on, (num_samples,) bool."""
        return losses < self.threshold

    def _first_threshold(self) -> Tensor:
        """The loss that has `share` of the samples below it."""
        seen = self.losses[self.losses < math.inf].sort().values
        admitted = math.ceil(self.share * len(seen))
        return seen[admitted] if admitted < len(seen) else torch.full_like(self.threshold, math.inf)
