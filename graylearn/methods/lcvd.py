"""lcvd: learning from cross-class vicinity, a blend of classes is none of them (Zhao, Cao and Lin, 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Method, Step, register
from graylearn.methods.blend import blendable, sum_with_shuffles
from graylearn.methods.checks import Factor, Range


@register("lcvd")
@dataclass
class CrossClassVicinity(Method):
    """CE + beta times the mean, over the classes blended into x~, of -log(1 - Q_c(x~)).

    x~ is the mean of an input and of `blended` - 1 others, drawn by shuffling the batch.
    """

    beta: Factor = 1.0
    """Weight of the second term. Default: the authors'."""
    blended: Annotated[int, Range(2)] = 20
    """How many inputs make one x~. Default: the authors', an input and 19 shuffles."""
    finetune: bool = False
    """Train with cross entropy up to the last epoch, and that one with both terms at a hundredth of the
    learning rate: what the released code does to a trained network. With epochs = 1 the network given
    is taken as the trained one. Default: both terms throughout."""

    per_sample = False
    plans_epochs = True

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample plus what its blend must not be taken for."""
        loss = F.cross_entropy(step.logits, step.target, reduction="none")
        if self.finetune and not self._is_last(step.epoch):
            return loss
        return loss + self.beta * self._vicinity_loss(step)

    def learning_rate_scale(self, epoch: int) -> float:
        """A hundredth while fine-tuning."""
        return 0.01 if self.finetune and self._is_last(epoch) else 1.0

    def _is_last(self, epoch: int) -> bool:
        return epoch == self.task.epochs - 1

    def _vicinity_loss(self, step: Step) -> Tensor:
        inputs, target = blendable(step.inputs, "lcvd"), step.target
        others = self._shuffles(len(target), inputs.device)
        took_part = torch.zeros_like(step.logits, dtype=torch.bool).scatter_(1, target[:, None], True)
        took_part.scatter_(1, target[others].T, True)
        blend = sum_with_shuffles(inputs, others)
        logits = step.forward((blend / self.blended).to(step.inputs.dtype)).logits
        rejected = -log_rejection(logits.to(step.logits.dtype))
        return torch.where(took_part, rejected, 0.0).sum(1) / took_part.sum(1)

    def _shuffles(self, size: int, device: torch.device) -> Tensor:
        """(blended - 1, size) orders of the batch."""
        generator = self.task.generator
        orders = [torch.randperm(size, generator=generator, device=device) for _ in range(self.blended - 1)]
        return torch.stack(orders)


def log_rejection(logits: Tensor) -> Tensor:
    """log(1 - Q_k) for every class, (N, K), also where Q_k rounds to 1.

    Only the likeliest class can exceed 1/2; its complement is summed from the others instead.
    """
    log_softmax = logits.log_softmax(1)
    top = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, logits.argmax(1, keepdim=True), True)
    without_top = log_softmax.masked_fill(top, -torch.inf)
    return torch.where(top, without_top.logsumexp(1, keepdim=True), torch.log1p(-without_top.exp()))
