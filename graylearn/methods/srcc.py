"""srcc: self-reweighting from class centroids (Ma et al., 2022). A reconstruction from its abstract alone."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Method, Step, Task, register
from graylearn.methods.blend import blendable
from graylearn.methods.checks import Factor, Share


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
