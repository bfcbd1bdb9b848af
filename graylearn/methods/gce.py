"""gce: generalised cross entropy, between cross entropy and MAE (Zhang and Sabuncu, 2018)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from graylearn.errors import SettingsError
from graylearn.losses import generalized_loss
from graylearn.methods.base import Method, Step, register
from graylearn.methods.checks import Share


@register("gce")
@dataclass
class Generalized(Method):
    """(1 - q^p) / p with the power p, the option `q`: near 0 it is cross entropy, at 1 half of MAE."""

    q: Share = 0.7
    """The power. Default: the authors'."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.q == 0:
            raise SettingsError("gce: q is 0, where the loss is cross entropy: use the method 'standard'")

    def loss(self, step: Step) -> Tensor:
        """The generalised cross entropy of each sample."""
        return generalized_loss(step.logits, step.target, q=self.q, reduction="none")
