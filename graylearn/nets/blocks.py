"""The two pieces that nearly every convolutional network here is made of."""

from __future__ import annotations

from torch import Tensor, nn


def conv_bn(
    in_channels: int, out_channels: int, kernel: int = 1, *, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """A convolution that keeps the size (up to its stride), then batch norm, which makes a bias needless."""
    return nn.Sequential(
        nn.Conv2d(
            in_channels,
            out_channels,
            kernel,
            stride=stride,
            padding=kernel // 2,
            groups=groups,
            bias=False,
        ),
        nn.BatchNorm2d(out_channels),
    )


def global_mean(x: Tensor) -> Tensor:
    """Mean over all pixels, (N, C, H, W) -> (N, C): what lets one network take images of many sizes."""
    return x.mean(dim=(2, 3))
