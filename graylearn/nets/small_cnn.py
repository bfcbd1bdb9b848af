"""A convolutional network that a CPU can train: three convolutions, about 94,000 parameters."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from graylearn.errors import SettingsError
from graylearn.nets.base import Net, conv_bn, global_mean, image_channels


class SmallCNN(Net):
    """Three 3x3 convolutions of doubling width with max pooling between them; takes images from 4x4 on.

    `width` is that of the first convolution; there are four times as many features. `dropout` is the
    share of features dropped in training.
    """

    def __init__(
        self, num_classes: int, in_shape: Sequence[int], *, width: int = 32, dropout: float = 0.0
    ) -> None:
        super().__init__(num_classes, in_shape)
        if width < 1:
            raise SettingsError(f"width is {width}, expected a positive number of channels: leave it at 32")
        if not 0 <= dropout < 1:
            raise SettingsError(f"dropout is {dropout}, expected a share in [0, 1): give 0.2 for 20 %")
        self.body = nn.Sequential(
            conv_bn(image_channels("small_cnn", in_shape, minimum=4), width, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            conv_bn(width, 2 * width, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            conv_bn(2 * width, 4 * width, 3),
            nn.ReLU(),
        )
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(4 * width, num_classes)

    def forward_features(self, x: Tensor) -> Tensor:
        """Mean over pixels of the last convolution, (N, 4 * width)."""
        features: Tensor = self.dropout(global_mean(self.body(x)))
        return features
