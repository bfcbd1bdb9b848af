"""gl, gl-label, gl-relative: Gray Learning, what a label claims and what it excludes (Zhao, Cao and Wang)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from graylearn.losses import gray_loss
from graylearn.losses.reference import soft_gray_rows
from graylearn.methods.base import Method, Step, register


@register("gl")
@dataclass
class Gray(Method):
    """C L_G + (1 - C) L_C, with the confidence C constant in the gradient."""

    confidence: Literal["max", "label", "relative"] = "max"
    """C = max_k Q_k ("max"), C = q ("label") or max_k Q_k over its median in the batch, at most 1
    ("relative"). Default: the authors' code."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.per_sample = self.confidence != "relative"

    def can_be_shared(self) -> bool:
        """Yes: of the other samples it needs the median alone, which `loss` asks all processes for."""
        return True

    def loss(self, step: Step) -> Tensor:
        """The gray loss of each sample."""
        return gray_loss(step.logits, step.target, confidence=self._confidence(step), reduction="none")

    def soft_loss(self, step: Step, share: Tensor) -> Tensor:
        """At the cost of one label."""
        return soft_gray_rows(step.logits, share.to(step.logits.dtype), self._confidence(step))

    def _confidence(self, step: Step) -> str | Tensor:
        """The rule, or the values where several processes have parts of the batch."""
        if self.confidence != "relative" or step.of_all is None:
            return self.confidence
        top = step.logits.detach().softmax(1).amax(1)
        # a NaN has its loss say so
        return (top / step.of_all(top).nanmedian()).clamp(max=1.0).nan_to_num(1.0)


@register("gl-relative")
@dataclass
class GrayRelative(Gray):
    """The same with confidence measured against that of the batch.

    An untrained network is equally unsure of all: C is 1, and the loss begins as cross entropy. C = max Q is
    1/K there and learns at 2/K of the rate, which a short schedule with many classes never makes up.
    """

    confidence: Literal["max", "label", "relative"] = "relative"
    """As in gl. Default: what this name stands for."""


@register("gl-label")
@dataclass
class GrayLabel(Gray):
    """The same with the confidence of the paper's equation."""

    confidence: Literal["max", "label", "relative"] = "label"
    """As in gl. Default: C = q, the paper's C(x, y): robust, but slow to fit where q is small."""
