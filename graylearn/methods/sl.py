"""sl: symmetric learning, cross entropy plus its reverse (Wang et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from graylearn.losses import symmetric_loss
from graylearn.methods.base import Method, Step, register
from graylearn.methods.checks import Range

MANY_CLASSES = 50
"""From here on the authors' weights for 100 classes are nearer than those for 10."""


@register("sl")
@dataclass
class Symmetric(Method):
    """a CE + b RCE with RCE = -A (1 - q), A standing for log 0."""

    alpha: Annotated[float | None, Range(0)] = None
    """Weight of cross entropy. Default: the authors', .1 below 50 classes (theirs: 10), else 6 (100)."""
    beta: Annotated[float | None, Range(0)] = None
    """Weight of the reverse. Default: the authors', 1 below 50 classes (theirs: 10), else .1 (100)."""
    log_zero: Annotated[float, Range(-1e4, 0)] = -4.0
    """What stands for log 0. Default: the authors' paper; their code has log(1e-4) = -9.21."""

    def loss(self, step: Step) -> Tensor:
        """The symmetric loss of each sample."""
        alpha, beta = (0.1, 1.0) if step.logits.shape[1] < MANY_CLASSES else (6.0, 0.1)
        return symmetric_loss(
            step.logits,
            step.target,
            alpha=alpha if self.alpha is None else self.alpha,
            beta=beta if self.beta is None else self.beta,
            log_zero=self.log_zero,
            reduction="none",
        )
