"""Samples weighted by how their penultimate features lie among those of their class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.neighbors import LocalOutlierFactor
from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Count, Factor, Method, Share, Step, Task, register
from graylearn.methods.blends import blendable

# srcc: self-reweighting from class centroids (Ma et al., 2022). A reconstruction from its abstract alone.


@register("srcc")
@dataclass
class SelfReweighting(Method):
    """Cross entropy on inputs and on mixed pairs of them, weighted by closeness to the class centroid.

    Centroids move with each batch, c_k <- m c_k + (1 - m) mean f; w = max(0, cos(f, c_y)), scaled so that
    the weights of a batch have mean 1. RECONSTRUCTION: the moving average, the weights and the mixing
    are what the abstract says; their constants, and that the mixed loss is added, are ours.
    """

    momentum: Share = 0.9
    """m, the weight of the past in a centroid. Default: ours."""
    mixup: Factor = 1.0
    """Weight of the loss on mixed pairs, whose shares are drawn uniformly. Default: ours."""

    needs_features = True
    per_sample = False
    state = ("centroids", "known")

    def start(self, task: Task) -> None:
        """No class has a centroid before a sample of it was seen."""
        super().start(task)
        self.centroids = torch.empty(task.num_classes, 0, device=task.device)
        self.known = torch.zeros(task.num_classes, dtype=torch.bool, device=task.device)

    def loss(self, step: Step) -> Tensor:
        """The weighted cross entropy of each sample, clean and mixed."""
        features = step.features.detach().flatten(1)
        self._move_centroids(features, step.target)
        weight = F.cosine_similarity(features, self.centroids[step.target]).clamp(min=0)
        weight = weight / weight.mean().clamp(min=1e-12)
        loss = weight * F.cross_entropy(step.logits, step.target, reduction="none")
        return loss + self.mixup * self._mixed_loss(step, weight) if self.mixup else loss

    def _move_centroids(self, features: Tensor, target: Tensor) -> None:
        if self.centroids.shape[1] == 0:
            self.centroids = features.new_zeros(len(self.centroids), features.shape[1])
        # bincount would make the host wait for the device at every step
        counts = features.new_zeros(len(self.centroids)).index_add_(0, target, features.new_ones(len(target)))
        means = torch.zeros_like(self.centroids).index_add_(0, target, features)
        means /= counts.clamp(min=1)[:, None]
        moved = self.momentum * self.centroids + (1 - self.momentum) * means
        moved = torch.where(self.known[:, None], moved, means)  # the first mean is the first centroid
        here = counts > 0
        self.centroids = torch.where(here[:, None], moved, self.centroids)
        self.known = self.known | here

    def _mixed_loss(self, step: Step, weight: Tensor) -> Tensor:
        """Cross entropy of inputs mixed with those of a shuffled batch, each label with its own weight."""
        generator = self.task.generator
        inputs = blendable(step.inputs, "srcc")
        other = torch.randperm(len(inputs), generator=generator, device=inputs.device)
        share = torch.rand((), generator=generator, device=inputs.device)
        mixed = share * inputs + (1 - share) * inputs[other]
        logits = step.forward(mixed.to(step.inputs.dtype)).logits
        logits = logits.to(weight.dtype)
        own = weight * F.cross_entropy(logits, step.target, reduction="none")
        others = weight[other] * F.cross_entropy(logits, step.target[other], reduction="none")
        return share * own + (1 - share) * others


# Local outlier factors within each class, and the weights that follow from them.

LARGEST_FACTOR = 10.0
"""Repeated features have unbounded density, and a neighbour of them a factor of millions: a tenth
of the density of the neighbours counts as the most."""


def class_outlier_factors(
    features: NDArray[np.float32], targets: NDArray[np.int64], neighbours: int, neighbour_share: float
) -> NDArray[np.float64]:
    """The local outlier factor (cosine) of each sample among those of its label, (N,); 1 is inside.

    `neighbours` are shrunk to `neighbour_share` of the class; a class of one or two has no outliers.
    """
    factors = np.ones(len(targets))
    for label in np.unique(targets):
        members = np.flatnonzero(targets == label)
        if len(members) < 3:
            continue
        count = min(neighbours, round(neighbour_share * (len(members) - 1)))
        lof = LocalOutlierFactor(n_neighbors=max(count, 1), metric="cosine").fit(features[members])
        factors[members] = np.minimum(-lof.negative_outlier_factor_, LARGEST_FACTOR)
    return factors


def suspect_worst(
    score: NDArray[np.float32], targets: NDArray[np.int64], share: float
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """(which are suspected, weights), both (N,): suspected is the `share` of each class of largest score.

    With b the largest score of a class that is not suspected and m its largest of all, a suspect of
    score s weighs (m - s) / (m - b): little outside costs little, and the worst counts nothing.
    """
    suspected = np.zeros(len(targets), dtype=bool)
    weight = np.ones(len(targets))
    for label in np.unique(targets):
        members = np.flatnonzero(targets == label)
        of_class = score[members].astype(np.float64)
        ranked = np.sort(of_class)
        inside = len(members) - int(share * len(members))
        border = ranked[inside - 1] if inside else ranked[0]
        outside = members[of_class > border]
        suspected[outside] = True
        weight[outside] = (ranked[-1] - score[outside]) / (ranked[-1] - border)
    return suspected, weight


# il: iterative learning for open-set noise, outliers of each class pushed away (Wang et al., 2018).


@register("il")
@dataclass
class Iterative(Method):
    """Cross entropy weighted by how far a sample lies outside its class, plus a contrastive loss.

    After `first` epochs and then every `every`, a round: the local outlier factor of each sample among the
    penultimate features of its own class, gathered from the training passes of that epoch, is added to
    its score, and the `suspect` share of each class with the largest scores is suspected. A suspect's
    weight falls from 1 at the border to the others down to 0 for the worst of its class. Before the
    first round the loss is plain cross entropy.
    """

    first: Count = 5
    """Epochs before the first round. Default: the authors'."""
    every: Count = 10
    """Epochs from round to round. Default: the authors'."""
    neighbours: Count = 2000
    """Neighbours of the local outlier factor in a large class. Default: the authors'."""
    neighbour_share: Share = 0.4
    """At most this share of a class are neighbours. Default: what 2000 is of a class of CIFAR-10 (5000).
    With a whole class as neighbours all factors are nearly 1. Digits with 20 % ood samples, AUROC of the
    score after two rounds: .88 at a share of .2, .98 at .4, .99 at .6, .83 at 1."""
    suspect: Share = 0.5
    """Share of each class that is suspected. Default: the worst half."""
    contrast: Factor = 1.0
    """Weight of the contrastive loss. Default: both terms count alike."""
    margin: Factor = 1.0
    """How far apart the contrastive loss pushes, on features of length 1. Default: the authors'."""

    needs_features = True
    per_sample = False
    plans_epochs = True
    state = ("score", "suspected", "weight", "rounds")

    def start(self, task: Task) -> None:
        """Nobody is suspected before the first round."""
        super().start(task)
        self.features_seen = torch.empty(0, device=task.device)  # filled only in the epoch before a round
        self.score = torch.zeros(task.num_samples, device=task.device)
        self.suspected = torch.zeros(task.num_samples, dtype=torch.bool, device=task.device)
        self.weight = torch.ones(task.num_samples, device=task.device)
        self.rounds = 0

    def loss(self, step: Step) -> Tensor:
        """The weighted cross entropy of each sample and its part of the contrastive loss."""
        if self._round_ends(step.epoch):
            self._gather(step)
        loss = F.cross_entropy(step.logits, step.target, reduction="none")
        if self.rounds == 0:
            return loss
        pairs = contrastive_loss(step.features, step.target, self.suspected[step.index], self.margin)
        return self.weight[step.index] * loss + self.contrast * pairs

    def end_epoch(self, epoch: int) -> None:
        """Hold a round where one is due."""
        if not self._round_ends(epoch):
            return
        features = self.features_seen.cpu()
        targets = self.task.targets.cpu()
        seen = ~features[:, 0].isnan()  # a loader that drops its last batch leaves some out
        factors = class_outlier_factors(
            features[seen].numpy(), targets[seen].numpy(), self.neighbours, self.neighbour_share
        )
        score = self.score.cpu()
        score[seen] += torch.from_numpy(factors).to(score.dtype)
        suspected, weight = suspect_worst(score.numpy(), targets.numpy(), self.suspect)
        device = self.task.device
        self.score = score.to(device)
        self.suspected = torch.from_numpy(suspected).to(device)
        self.weight = torch.from_numpy(weight).to(device, torch.float32)
        self.rounds += 1
        self.features_seen = torch.empty(0, device=device)

    def _round_ends(self, epoch: int) -> bool:
        """Whether a round follows this epoch; none follows the last, which would have no use for it."""
        done = epoch + 1
        return self.first <= done < self.task.epochs and (done - self.first) % self.every == 0

    def _gather(self, step: Step) -> None:
        features = step.features.detach().flatten(1).float()
        if self.features_seen.numel() == 0:
            shape = (self.task.num_samples, features.shape[1])
            self.features_seen = torch.full(shape, torch.nan, device=features.device)
        self.features_seen[step.index] = features


def contrastive_loss(features: Tensor, target: Tensor, suspected: Tensor, margin: float) -> Tensor:
    """Each sample's part, (N,), of a loss whose mean over the batch is the mean over all pairs.

    Two clean samples of a class should be near (d^2), two of different classes, or a clean and a
    suspected one, at least `margin` apart (max(margin - d, 0)^2); two suspects are no pair. d is the
    distance of features scaled to length 1, because only then a margin means the same in every network.
    """
    kind = torch.where(suspected, -1, target)  # two of one kind are near, unless both are suspects
    apart = kind[:, None] != kind
    near = (kind >= 0)[:, None] & ~apart
    near.fill_diagonal_(False)
    with torch.autocast(features.device.type, enabled=False):  # bfloat16 cannot tell near features apart
        unit = F.normalize(features.flatten(1), dim=1)
        squared = (2 - 2 * unit @ unit.T).clamp(min=1e-12)  # the root has no gradient at 0
    pushed = (margin - squared.sqrt()).clamp(min=0).square()
    pair_loss = torch.where(apart, pushed, torch.where(near, squared, 0.0))
    pairs = (near | apart).sum(dtype=pair_loss.dtype).clamp(min=1)
    return pair_loss.sum(1) * (len(target) / pairs)
