"""MobileNetV2 in the form for 32x32 images: a total stride of 8 in place of 32.

Sandler, Howard, Zhu, Zhmoginov, Chen: MobileNetV2: Inverted Residuals and Linear Bottlenecks.
2,296,922 parameters at 10 classes. The form of that well-known count differs from the article in two
places, kept here so that results compare: the first block has its 1x1 expansion although it expands by
one, and a block that changes the width but not the size has a projected shortcut. Its ReLU is unclipped.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from graylearn.nets import ConvNet, conv_bn, image_channels

STEM_WIDTH = 32
STAGES = (  # expansion, width, blocks, stride of the first block
    (1, 16, 1, 1),
    (6, 24, 2, 1),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
FEATURES = 1280


class InvertedResidual(nn.Module):
    """Expand by 1x1, filter each channel by 3x3, project by 1x1 without ReLU; shortcut at stride 1."""

    def __init__(self, in_channels: int, out_channels: int, expansion: int, stride: int) -> None:
        super().__init__()
        wide = in_channels * expansion
        self.expand = conv_bn(in_channels, wide)
        self.filter = conv_bn(wide, wide, 3, stride=stride, groups=wide)
        self.project = conv_bn(wide, out_channels)
        self.has_shortcut = stride == 1
        self.shortcut: nn.Module = nn.Identity()
        if self.has_shortcut and in_channels != out_channels:
            self.shortcut = conv_bn(in_channels, out_channels)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in, H, W) -> (N, out, H / stride, W / stride)."""
        out: Tensor = self.project(F.relu(self.filter(F.relu(self.expand(x)))))
        return out + self.shortcut(x) if self.has_shortcut else out


class MobileNetV2(ConvNet):
    """Seventeen inverted residual blocks; 1280 features."""

    def __init__(self, num_classes: int, in_shape: Sequence[int]) -> None:
        super().__init__(num_classes, in_shape)
        channels = STEM_WIDTH
        layers: list[nn.Module] = [
            conv_bn(image_channels("mobilenetv2", in_shape, minimum=8), channels, 3),
            nn.ReLU(),
        ]
        for expansion, width, blocks, stride in STAGES:
            for block in range(blocks):
                layers.append(InvertedResidual(channels, width, expansion, 1 if block else stride))
                channels = width
        layers += [conv_bn(channels, FEATURES), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(FEATURES, num_classes)
