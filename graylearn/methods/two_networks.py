"""Methods that train two networks, each of which tells what the other learns from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Count, Method, Range, Share, Step, mean_over, register


def peer_losses(step: Step) -> Tensor:
    """Cross entropy of each sample under each network, (networks, N)."""
    networks, size, classes = step.logits.shape
    target = step.target.expand(networks, size)
    loss = F.cross_entropy(step.logits.reshape(-1, classes), target.reshape(-1), reduction="none")
    return loss.view(networks, size)


# co-teaching: two networks, each learns from what the other finds easy (Han et al., 2018).


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


# decoupling: two networks, trained only where they disagree (Malach and Shalev-Shwartz, 2017).


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
