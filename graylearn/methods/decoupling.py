"""decoupling: two networks, trained only where they disagree (Malach and Shalev-Shwartz, 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from graylearn.methods.base import Method, Step, register
from graylearn.methods.checks import Range
from graylearn.methods.peers import peer_losses
from graylearn.methods.selection import mean_over


@register("decoupling")
@dataclass
class Decoupling(Method):
    """Both networks update on the samples that they predict differently.

    The losses of the two networks are added: they share no weights, so each gets the gradient of its own.
    """

    warmup: Annotated[int, Range(0)] = 0
    """Epochs on all samples first. Default: none; the authors begin from trained networks where two
    fresh ones would agree too soon."""

    networks = 2
    per_sample = False

    def loss(self, step: Step) -> Tensor:
        """The two networks' losses where they disagree, added up for each sample."""
        losses = peer_losses(step).sum(0)
        if step.epoch < self.warmup:
            return losses
        first, second = step.logits.argmax(2)
        return mean_over(losses, first != second)
