"""The pieces that nearly every convolutional network here is made of."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

WIDTHS = (64, 128, 256, 512)
BLOCKS_A_STAGE = 2


def conv_bn(
    in_channels: int, out_channels: int, kernel: int = 1, *, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """A convolution that keeps the size (up to its stride), then batch norm, which makes a bias needless."""
    padding = kernel // 2
    conv = nn.Conv2d(in_channels, out_channels, kernel, stride, padding, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out_channels))


def global_mean(x: Tensor) -> Tensor:
    """Mean over all pixels, (N, C, H, W) -> (N, C)."""
    return x.mean(dim=(2, 3))


def residual_body(image: int, block: Callable[[int, int, int], nn.Module]) -> nn.Sequential:
    """A 3x3 stem and four stages of two blocks (in, out, stride), each after the first at half the size."""
    channels = WIDTHS[0]
    layers: list[nn.Module] = [conv_bn(image, channels, 3), nn.ReLU()]
    for stage, width in enumerate(WIDTHS):
        for index in range(BLOCKS_A_STAGE):
            layers.append(block(channels, width, 2 if stage and not index else 1))
            channels = width
    return nn.Sequential(*layers)
