"""A network whose logits are distances to learned prototypes, for the method isomax."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graylearn.nets.base import Net


class PrototypeNet(nn.Module):
    """Any of our networks with logits z_k = -|f - p_k| of its features f in the place of its last layer.

    The prototypes p_k begin at the origin, as their authors' do. Distances and not their squares: their
    gradient has length one, near and far.
    """

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.prototypes = nn.Parameter(torch.zeros(net.num_classes, net.num_features))
        self.net = net
        del net.head  # nothing reads it any more, and the optimizer would still decay it

    def forward_features(self, x: Tensor) -> Tensor:
        """Penultimate features, (N, D)."""
        return self.net.forward_features(x)

    def classify(self, features: Tensor) -> Tensor:
        """Minus the distances (N, K) of features (N, D) to the prototypes."""
        apart = features[:, None] - self.prototypes
        return -apart.square().sum(dim=2).clamp(min=1e-12).sqrt()  # the root has no gradient at 0

    def forward(self, x: Tensor) -> Tensor:
        """Logits (N, K)."""
        return self.classify(self.forward_features(x))
