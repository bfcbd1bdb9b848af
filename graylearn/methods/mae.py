"""mae: mean absolute error between the label and the softmax (Ghosh, Kumar and Sastry, 2017)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from graylearn.losses import mae_loss
from graylearn.methods.base import Method, Step, register


@register("mae")
@dataclass
class MAE(Method):
    """2 (1 - q): bounded, so no wrong label can pull without end, and slow to fit."""

    released: bool = False
    """Use the smooth L1 distance (1 - q)^2 / 2 of Gray Learning's released code. Default: its paper."""

    def loss(self, step: Step) -> Tensor:
        """The distance of each sample's softmax from its label."""
        distance = mae_loss(step.logits, step.target, reduction="none")
        return distance.square() / 8 if self.released else distance
