"""Methods that choose which samples count: the easy ones first, or what another network says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Count, Factor, Method, Range, Share, Step, Task, mean_over, register

# spl: self-paced learning, the easy samples first (Kumar, Packer and Koller, 2010).


@register("spl")
@dataclass
class SelfPaced(Method):
    """Train on the samples whose loss was below lambda; relax lambda after each epoch.

    The two halves of the method take turns: while the weights of the samples stand still the network
    trains for an epoch, then the losses of that epoch choose the samples of the next.
    """

    share: Share = 0.5
    """Share of the samples that the first lambda admits. Default: the authors' "about half"."""
    growth: Annotated[float, Range(1)] = 1.3
    """Factor on lambda after each epoch. Default: the authors'."""
    warmup: Count = 1
    """Epochs on all samples before the first choice. Default: one; the authors too begin with a short
    training on everything, since the losses of an untrained network are not informative."""

    per_sample = False
    state = ("losses", "selected", "threshold")

    def start(self, task: Task) -> None:
        """All samples are in until the first choice."""
        super().start(task)
        self.losses = torch.full((task.num_samples,), math.inf, device=task.device)
        self.selected = torch.ones(task.num_samples, dtype=torch.bool, device=task.device)
        self.threshold = torch.tensor(math.inf, device=task.device)

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of the chosen samples; what is left out is still measured for the next choice."""
        loss = F.cross_entropy(step.logits, step.target, reduction="none")
        self.losses[step.index] = loss.detach().to(self.losses.dtype)
        return mean_over(loss, self.selected[step.index])

    def end_epoch(self, epoch: int) -> None:
        """Set or relax lambda, and choose the samples of the next epoch."""
        if epoch + 1 < self.warmup:
            return
        if epoch + 1 == self.warmup:
            self.threshold = self._first_threshold()
        else:
            self.threshold = self.threshold * self.growth
        self.selected = self.choose(self.losses)

    def choose(self, losses: Tensor) -> Tensor:
        """Which samples the next epoch trains on, (num_samples,) bool."""
        return losses < self.threshold

    def _first_threshold(self) -> Tensor:
        """The loss that has `share` of the samples below it."""
        seen = self.losses[self.losses < math.inf].sort().values
        admitted = math.ceil(self.share * len(seen))
        return seen[admitted] if admitted < len(seen) else torch.full_like(self.threshold, math.inf)


# spld: self-paced learning with diversity, easy samples of every class (Jiang et al., 2014).


@register("spld")
@dataclass
class DiverseSelfPaced(SelfPaced):
    """Keep the i-th easiest sample of a class if its loss < lambda + gamma / (sqrt(i) + sqrt(i - 1))."""

    gamma: Factor = 1.0
    """gamma as a multiple of lambda, so that both relax together, as the authors let them. Default: 1,
    which admits the easiest sample of a class up to twice lambda; 0 gives spl."""

    def choose(self, losses: Tensor) -> Tensor:
        """Which samples the next epoch trains on, (num_samples,) bool."""
        rank = self._rank_in_class(losses)
        bonus = self.gamma / (rank.sqrt() + (rank - 1).sqrt())
        return losses < self.threshold * (1 + bonus)

    def _rank_in_class(self, losses: Tensor) -> Tensor:
        """1 for the smallest loss of a class, 2 for the next; (num_samples,) float."""
        targets = self.task.targets
        by_loss = losses.argsort(stable=True)
        order = by_loss[targets[by_loss].argsort(stable=True)]  # by class, then by loss
        counts = torch.bincount(targets, minlength=self.task.num_classes)
        first = counts.cumsum(0) - counts  # where each class begins in the order
        positions = torch.arange(len(targets), device=targets.device)
        rank = torch.empty_like(losses)
        rank[order] = (positions - first[targets[order]] + 1).to(losses.dtype)
        return rank


# mentornet-pd: MentorNet's predefined curriculum, a moving percentile of the loss (Jiang et al., 2018).


@register("mentornet-pd")
@dataclass
class MentorNetPD(Method):
    """v L with v = 1 where the loss is at most a moving average of a percentile of the batch losses.

    The mean is over the whole batch, left-out samples included, as in the authors' code.
    """

    percentile: Share = 0.7
    """Which percentile of the losses, as a share. Default: the authors' code."""
    decay: Share = 0.9
    """Weight of the past in the moving average. Default: the authors' code."""
    burn_in: Share = 0.18
    """Share of the epochs in which every sample counts. Default: the authors' 18 %."""

    per_sample = False
    plans_epochs = True
    state = ("moving",)

    def start(self, task: Task) -> None:
        """The average has no value before the first batch."""
        super().start(task)
        self.moving = torch.tensor(math.nan, device=task.device)

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of the samples that the percentile admits, zero for the others."""
        loss = F.cross_entropy(step.logits, step.target, reduction="none")
        now = loss.detach().quantile(self.percentile).to(self.moving.dtype)
        self.moving = torch.where(self.moving.isnan(), now, self.decay * self.moving + (1 - self.decay) * now)
        if step.epoch < self.burn_in * self.task.epochs:
            return loss
        return torch.where(loss.detach() > self.moving, 0.0, loss)  # NaN stays NaN, so that it is noticed


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
