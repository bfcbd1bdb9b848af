"""mentornet-pd: MentorNet's predefined curriculum, a moving percentile of the loss (Jiang et al., 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Method, Step, Task, register
from graylearn.methods.checks import Share


@register("mentornet-pd")
@dataclass
class MentorNetPD(Method):
    """v L with v = 1 where the loss is at most a moving average of a percentile of the batch losses.

    The mean is over the whole batch, left-out samples included, as in the authors' code.
    """

    percentile: Share = 0.7
    """Which percentile of the losses, as a share. Default: the authors' code."""
    decay: Share = 0.9
    """Weight of the past in the moving average. Default: the authors' code."""
    burn_in: Share = 0.18
    """Share of the epochs in which every sample counts. Default: the authors' 18 %."""

    per_sample = False
    plans_epochs = True
    state = ("moving",)

    def start(self, task: Task) -> None:
        """The average has no value before the first batch."""
        super().start(task)
        self.moving = torch.tensor(math.nan, device=task.device)

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of the samples that the percentile admits, zero for the others."""
        loss = F.cross_entropy(step.logits, step.target, reduction="none")
        now = loss.detach().quantile(self.percentile).to(self.moving.dtype)
        self.moving = torch.where(self.moving.isnan(), now, self.decay * self.moving + (1 - self.decay) * now)
        if step.epoch < self.burn_in * self.task.epochs:
            return loss
        return torch.where(loss.detach() > self.moving, 0.0, loss)  # NaN stays NaN, so that it is noticed
