"""SqueezeNet 1.1: squeeze layers that feed two kernels each, for 32x32 images.

Iandola, Han, Moskewicz, Ashraf, Dally, Keutzer: SqueezeNet. The first convolution keeps the size and the last
of three poolings is left out, as is usual for small images; batch norm after each convolution, without which
the paper's rate of .1 diverges. The classifier is linear on the mean over pixels.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graylearn.nets import ConvNet, conv_bn, image_channels

STEM = 64
FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
"""(squeeze, each expansion) of the eight fire modules."""
POOLED = (0, 2)
"""The modules before which the image is halved."""


class Fire(nn.Module):
    """A 1x1 convolution to few channels, then 1x1 and 3x3 convolutions side by side."""

    def __init__(self, in_channels: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = conv_bn(in_channels, squeeze)
        self.narrow = conv_bn(squeeze, expand)
        self.wide = conv_bn(squeeze, expand, 3)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in, H, W) -> (N, 2 * expand, H, W)."""
        squeezed = self.squeeze(x).relu()
        return torch.cat([self.narrow(squeezed), self.wide(squeezed)], dim=1).relu()


class SqueezeNet(ConvNet):
    """Eight fire modules at half and at a quarter of the size; 512 features."""

    def __init__(self, num_classes: int, in_shape: Sequence[int]) -> None:
        super().__init__(num_classes, in_shape)
        channels = STEM
        layers: list[nn.Module] = [
            conv_bn(image_channels("squeezenet", in_shape, minimum=8), channels, 3),
            nn.ReLU(),
        ]
        for place, (squeeze, expand) in enumerate(FIRES):
            if place in POOLED:
                layers.append(nn.MaxPool2d(3, stride=2, padding=1))
            layers.append(Fire(channels, squeeze, expand))
            channels = 2 * expand
        layers.append(nn.Dropout(0.5))
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(channels, num_classes)
