"""gl, gl-label: Gray Learning, what the label claims and what it excludes (Zhao, Cao and Wang)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from graylearn.losses import gray_loss
from graylearn.methods import checks
from graylearn.methods.base import Method, Step


@dataclass
class Gray(Method):
    """C L_G + (1 - C) L_C, with the confidence C constant in the gradient."""

    confidence: Literal["max", "label"] = "max"
    """C = max_k Q_k ("max") or C = q ("label"). Default: the authors' code, and what measured best."""

    def __post_init__(self) -> None:
        checks.one_of("gl", "confidence", self.confidence, ("max", "label"))

    def loss(self, step: Step) -> Tensor:
        """The gray loss of each sample."""
        return gray_loss(step.logits, step.target, confidence=self.confidence, reduction="none")


@dataclass
class GrayLabel(Gray):
    """The same with the confidence of the paper's equation."""

    confidence: Literal["max", "label"] = "label"
    """As in gl. Default: C = q, the paper's C(x, y): robust, but slow to fit where q is small."""
