"""SENet-18: an 18-layer pre-activation residual network whose blocks weigh their channels, for 32x32 images.

Hu, Shen, Sun: Squeeze-and-Excitation Networks; He, Zhang, Ren, Sun: Identity Mappings in Deep Residual
Networks. 11,260,354 parameters at 10 classes, the well-known form: batch norm after the stem and none
after the last block, so features may be negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graylearn.nets import WIDTHS, ConvNet, global_mean, image_channels, residual_body

REDUCTION = 16


class ChannelGate(nn.Module):
    """Squeeze an image to its channel means, and scale each channel by a factor in (0, 1) read from them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, channels // REDUCTION)
        self.excite = nn.Linear(channels // REDUCTION, channels)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) -> the same shape."""
        factor = torch.sigmoid(self.excite(F.relu(self.squeeze(global_mean(x)))))
        return x * factor[:, :, None, None]


class GatedBlock(nn.Module):
    """Batch norm and ReLU before each of two 3x3 convolutions, a channel gate, and a shortcut."""

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.first_norm = nn.BatchNorm2d(in_channels)
        self.first = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(out_channels)
        self.second = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
        self.gate = ChannelGate(out_channels)
        self.shortcut: nn.Conv2d | None = None
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Conv2d(in_channels, out_channels, 1, stride=stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in, H, W) -> (N, out, H / stride, W / stride)."""
        active = F.relu(self.first_norm(x))
        # A projection reads the normalised input; an identity must pass the raw one.
        shortcut = x if self.shortcut is None else self.shortcut(active)
        out: Tensor = self.gate(self.second(F.relu(self.second_norm(self.first(active)))))
        return out + shortcut


class SENet18(ConvNet):
    """Four stages of two gated blocks, each stage after the first at half the size; 512 features."""

    def __init__(self, num_classes: int, in_shape: Sequence[int]) -> None:
        super().__init__(num_classes, in_shape)
        self.body = residual_body(image_channels("senet18", in_shape, minimum=8), GatedBlock)
        self.head = nn.Linear(WIDTHS[-1], num_classes)
