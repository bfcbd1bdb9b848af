"""spld: self-paced learning with diversity, easy samples of every class (Jiang et al., 2014)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graylearn.methods.base import register
from graylearn.methods.checks import Factor
from graylearn.methods.spl import SelfPaced


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
