"""ShuffleNetV2 of width 1 in the form for 32x32 images: a 3x3 stem of stride 1 and no pooling after it.

Ma, Zhang, Zheng, Sun: ShuffleNet V2: Practical Guidelines for Efficient CNN Architecture Design.
1,263,854 parameters at 10 classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graylearn.nets import ConvNet, conv_bn, image_channels

STEM_WIDTH = 24
STAGES = ((116, 4), (232, 8), (464, 4))  # width, units (the first of them at half the size)
FEATURES = 1024


def interleave(left: Tensor, right: Tensor) -> Tensor:
    """Join two branches with their channels taking turns: concatenation and channel shuffle in one."""
    return torch.stack((left, right), dim=2).flatten(1, 2)


def branch(in_channels: int, out_channels: int, stride: int) -> nn.Sequential:
    """1x1, depthwise 3x3, 1x1; no ReLU after the depthwise convolution."""
    return nn.Sequential(
        conv_bn(in_channels, out_channels),
        nn.ReLU(),
        conv_bn(out_channels, out_channels, 3, stride=stride, groups=out_channels),
        conv_bn(out_channels, out_channels),
        nn.ReLU(),
    )


class DownUnit(nn.Module):
    """Both branches see all channels and halve the size."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        half = out_channels // 2
        self.left = nn.Sequential(
            conv_bn(in_channels, in_channels, 3, stride=2, groups=in_channels),
            conv_bn(in_channels, half),
            nn.ReLU(),
        )
        self.right = branch(in_channels, half, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in, H, W) -> (N, out, H / 2, W / 2)."""
        return interleave(self.left(x), self.right(x))


class SplitUnit(nn.Module):
    """One half of the channels passes untouched, the other goes through a branch."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.right = branch(channels // 2, channels // 2, stride=1)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) -> the same shape."""
        left, right = x.chunk(2, dim=1)
        return interleave(left, self.right(right))


class ShuffleNetV2(ConvNet):
    """Three stages of units that split, transform and shuffle channels; 1024 features."""

    def __init__(self, num_classes: int, in_shape: Sequence[int]) -> None:
        super().__init__(num_classes, in_shape)
        channels = STEM_WIDTH
        layers: list[nn.Module] = [
            conv_bn(image_channels("shufflenetv2", in_shape, minimum=8), channels, 3),
            nn.ReLU(),
        ]
        for width, units in STAGES:
            layers.append(DownUnit(channels, width))
            layers += [SplitUnit(width) for _ in range(units - 1)]
            channels = width
        layers += [conv_bn(channels, FEATURES), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(FEATURES, num_classes)
