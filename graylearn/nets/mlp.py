"""Multilayer perceptron, the paper's network for tables: two hidden layers of 128 ReLU."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from torch import Tensor, nn

from graylearn.errors import SettingsError
from graylearn.nets.base import Net


class MLP(Net):
    """Fully connected layers with ReLU; samples of any shape are flattened.

    `hidden` gives the width of each hidden layer, `dropout` the share of each one's outputs dropped in
    training. Penultimate features are the outputs of the last hidden layer.
    """

    def __init__(
        self,
        num_classes: int,
        in_shape: Sequence[int],
        *,
        hidden: Sequence[int] = (128, 128),
        dropout: float = 0.0,
    ) -> None:
        super().__init__(num_classes, in_shape)
        if isinstance(hidden, int) or any(width < 1 for width in hidden):
            shown = hidden if isinstance(hidden, int) else tuple(hidden)
            raise SettingsError(f"hidden is {shown}, expected positive widths: one number per layer")
        if not 0 <= dropout < 1:
            raise SettingsError(f"dropout is {dropout}, expected a share in [0, 1): give 0.2 for 20 %")
        widths = [math.prod(in_shape), *hidden]
        layers: list[nn.Module] = []
        for inputs, outputs in itertools.pairwise(widths):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
            if dropout:
                layers.append(nn.Dropout(dropout))
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(widths[-1], num_classes)

    def forward_features(self, x: Tensor) -> Tensor:
        """Outputs of the last hidden layer, (N, D)."""
        features: Tensor = self.body(x.flatten(1))
        return features
