"""co-teaching: two networks, each taught by what the other finds easy (Han et al., 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from graylearn.methods.base import Method, Step, register
from graylearn.methods.checks import Count, Share
from graylearn.methods.peers import peer_losses
from graylearn.methods.selection import mean_over


@register("co-teaching")
@dataclass
class CoTeaching(Method):
    """Each network trains on the 1 - R(t) of the batch with the smallest losses of its peer.

    The losses of the two networks are added: they share no weights, so each gets the gradient of its own.
    """

    noise_rate: Share = 0.1
    """R once the ramp is over. Default: .1, the share of ood samples (alpha) that Gray Learning starts from;
    the authors take the share of wrong labels."""
    ramp: Count = 10
    """Epochs over which R rises from 0 to `noise_rate`. Default: the authors'."""

    networks = 2
    per_sample = False

    def loss(self, step: Step) -> Tensor:
        """The two networks' losses on what the peer chose, added up for each sample."""
        losses = peer_losses(step)  # (2, N)
        easiest = losses.detach().argsort(dim=1, stable=True)[:, : self.kept(step.epoch, losses.shape[1])]
        chosen = torch.zeros_like(losses, dtype=torch.bool).scatter_(1, easiest, True)
        return mean_over(losses, chosen.flip(0)).sum(0)

    def kept(self, epoch: int, batch_size: int) -> int:
        """How many samples of a batch are kept: (1 - R) of them, rounded down, but never none."""
        rate = self.noise_rate * min(epoch / self.ramp, 1.0)
        # the small addend undoes rounding such as (1 - .9) * 10 = .9999999999999998
        return max(1, math.floor((1 - rate) * batch_size + 1e-9))
