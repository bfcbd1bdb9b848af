"""nl: negative learning, only what the label excludes (Kim et al., 2019; L_C of Gray Learning)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from graylearn.losses import complementary_loss, negative_loss
from graylearn.methods.base import Method, Step, register


@register("nl")
@dataclass
class Negative(Method):
    """L_C = -sum over k != y of log(1 - Q_k)."""

    sampled: bool = False
    """Reject one other label, drawn anew for each sample at each step, as its authors do, instead of
    all K - 1 at once. Default: all, the NL of Gray Learning's ablation."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.per_sample = not self.sampled  # models that share a batch would share the draws

    def loss(self, step: Step) -> Tensor:
        """The complementary loss of each sample."""
        if self.sampled:
            return negative_loss(step.logits, step.target, generator=self.task.generator, reduction="none")
        return complementary_loss(step.logits, step.target, reduction="none")
