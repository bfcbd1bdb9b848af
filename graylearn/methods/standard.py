"""standard: cross entropy on the given label, the method every other one is compared with."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Method, Step, register


@register("standard")
@dataclass
class Standard(Method):
    """L_G = -log q."""

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample."""
        return F.cross_entropy(step.logits, step.target, reduction="none")

    def soft_loss(self, step: Step, share: Tensor) -> Tensor:
        """Cross entropy to `share`."""
        return F.cross_entropy(step.logits, share.to(step.logits.dtype), reduction="none")
