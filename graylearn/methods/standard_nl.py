"""standard+nl: the even mixture that Gray Learning's ablation compares with."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from graylearn.losses import complementary_loss
from graylearn.methods.base import Method, Step, register


@register("standard+nl")
@dataclass
class StandardNegative(Method):
    """(L_G + L_C) / 2: gl with its confidence fixed at one half."""

    def loss(self, step: Step) -> Tensor:
        """The mean of both losses of each sample."""
        claimed = F.cross_entropy(step.logits, step.target, reduction="none")
        return (claimed + complementary_loss(step.logits, step.target, reduction="none")) / 2
