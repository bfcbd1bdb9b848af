"""bt, bt-hard: bootstrapping, the label mixed with what the network says (Reed et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from graylearn.losses import bootstrap_loss
from graylearn.methods.base import Method, Step, register
from graylearn.methods.checks import Share


@register("bt")
@dataclass
class Bootstrap(Method):
    """-sum_k [b y_k + (1 - b) t_k] log Q_k with t = Q, the softmax."""

    beta: Share = 0.95
    """Share of the given label in the target. Default: the authors' for soft targets."""
    released: bool = False
    """Hold t constant in the gradient and use beta = .5 whatever `beta` says, as Gray Learning's
    released code does. Default: off, so that t is part of the gradient, as its authors wrote it."""

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample with its mixed target."""
        beta = 0.5 if self.released else self.beta
        return bootstrap_loss(
            step.logits, step.target, mode="soft", beta=beta, detach=self.released, reduction="none"
        )


@register("bt-hard")
@dataclass
class HardBootstrap(Method):
    """The same with t = onehot(argmax Q)."""

    beta: Share = 0.8
    """Share of the given label in the target. Default: the authors' for hard targets."""

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample with its mixed target."""
        return bootstrap_loss(step.logits, step.target, mode="hard", beta=self.beta, reduction="none")
