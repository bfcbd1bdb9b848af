"""ResNet-18 in the form for 32x32 images: a 3x3 stem of stride 1 and no pooling before the stages.

He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition. 11,173,962 parameters at 10 classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from graylearn.nets.base import Net, image_channels
from graylearn.nets.blocks import conv_bn, global_mean

WIDTHS = (64, 128, 256, 512)
BLOCKS_A_STAGE = 2


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut; the shortcut is projected where the shape changes."""

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.first = conv_bn(in_channels, out_channels, 3, stride=stride)
        self.second = conv_bn(out_channels, out_channels, 3)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            self.shortcut = conv_bn(in_channels, out_channels, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in, H, W) -> (N, out, H / stride, W / stride)."""
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


class ResNet18(Net):
    """Four stages of two residual blocks, each stage after the first at half the size; 512 features."""

    def __init__(self, num_classes: int, in_shape: Sequence[int]) -> None:
        super().__init__(num_classes, in_shape)
        channels = WIDTHS[0]
        layers: list[nn.Module] = [
            conv_bn(image_channels("resnet18", in_shape, minimum=8), channels, 3),
            nn.ReLU(),
        ]
        for stage, width in enumerate(WIDTHS):
            for block in range(BLOCKS_A_STAGE):
                layers.append(ResidualBlock(channels, width, stride=2 if stage and not block else 1))
                channels = width
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(channels, num_classes)

    def forward_features(self, x: Tensor) -> Tensor:
        """Mean over pixels of the last stage, (N, 512)."""
        return global_mean(self.body(x))
