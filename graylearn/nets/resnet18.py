"""ResNet-18 in the form for 32x32 images: a 3x3 stem of stride 1 and no pooling before the stages.

He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition. 11,173,962 parameters at 10 classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from graylearn.nets.base import WIDTHS, ConvNet, conv_bn, image_channels, residual_body


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


class ResNet18(ConvNet):
    """Four stages of two residual blocks, each stage after the first at half the size; 512 features."""

    def __init__(self, num_classes: int, in_shape: Sequence[int]) -> None:
        super().__init__(num_classes, in_shape)
        self.body = residual_body(image_channels("resnet18", in_shape, minimum=8), ResidualBlock)
        self.head = nn.Linear(WIDTHS[-1], num_classes)
