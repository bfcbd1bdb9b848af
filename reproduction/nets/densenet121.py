"""DenseNet-121 with growth 32 in the form for 32x32 images: a 3x3 stem of stride 1 and no pooling after it.

Huang, Liu, van der Maaten, Weinberger: Densely Connected Convolutional Networks.
6,956,298 parameters at 10 classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graylearn.nets import Net, global_mean, image_channels

GROWTH = 32
STAGES = (6, 12, 24, 16)  # layers of each dense block


def norm_relu_conv(in_channels: int, out_channels: int, kernel: int) -> nn.Sequential:
    """Batch norm and ReLU before a convolution that keeps the size."""
    return nn.Sequential(
        nn.BatchNorm2d(in_channels),
        nn.ReLU(),
        nn.Conv2d(in_channels, out_channels, kernel, padding=kernel // 2, bias=False),
    )


class DenseLayer(nn.Module):
    """Makes `GROWTH` new channels of all earlier ones, through a bottleneck, and appends them."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.bottleneck = norm_relu_conv(in_channels, 4 * GROWTH, 1)
        self.grow = norm_relu_conv(4 * GROWTH, GROWTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) -> (N, C + GROWTH, H, W)."""
        return torch.cat((x, self.grow(self.bottleneck(x))), dim=1)


class DenseNet121(Net):
    """Four dense blocks with transitions that halve channels and size between them; 1024 features."""

    def __init__(self, num_classes: int, in_shape: Sequence[int]) -> None:
        super().__init__(num_classes, in_shape)
        image = image_channels("densenet121", in_shape, minimum=8)
        channels = 2 * GROWTH
        layers: list[nn.Module] = [nn.Conv2d(image, channels, 3, padding=1, bias=False)]
        for stage, depth in enumerate(STAGES):
            if stage:
                layers += [norm_relu_conv(channels, channels // 2, 1), nn.AvgPool2d(2)]
                channels //= 2
            for _ in range(depth):
                layers.append(DenseLayer(channels))
                channels += GROWTH
        self.body = nn.Sequential(*layers)
        self.norm = nn.BatchNorm2d(channels)
        self.head = nn.Linear(channels, num_classes)

    def forward_features(self, x: Tensor) -> Tensor:
        """Mean over pixels of the last dense block after batch norm and ReLU, (N, 1024)."""
        return global_mean(F.relu(self.norm(self.body(x))))
