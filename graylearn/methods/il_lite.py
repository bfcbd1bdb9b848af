"""il-lite: cross entropy weighted by confidence, as Gray Learning's released code has it for IL."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Method, Step, register


@register("il-lite")
@dataclass
class IterativeLite(Method):
    """max_k Q_k (constant in the gradient) times cross entropy."""

    def loss(self, step: Step) -> Tensor:
        """The weighted cross entropy of each sample."""
        confidence = step.logits.detach().softmax(1).amax(1)
        return confidence * F.cross_entropy(step.logits, step.target, reduction="none")
