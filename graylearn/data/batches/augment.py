"""Images on their way into a network: random crop and flip, and pixels to normalised floats, on any device.

The random numbers of an image are a hash of (seed, epoch, index of the sample): no generator has a state,
so a batch looks the same on the CPU and on a GPU, streamed or held in memory, and in a resumed run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from graylearn.errors import SettingsError

_CHUNK = 4096


@dataclass(frozen=True)
class Augment:
    """Random changes to training images."""

    crop: int = 4
    """Pixels of padding, out of which a crop of the old size is drawn; 0 = none."""
    padding: Literal["reflect", "zero"] = "reflect"
    """What lies in the padding: the image mirrored at its edge, or black."""
    flip: bool = True
    """Mirror every other image left to right, at random."""

    def __post_init__(self) -> None:
        if self.crop < 0:
            raise SettingsError(f"crop is {self.crop}, expected pixels of padding: 0 or more")
        if self.padding not in ("reflect", "zero"):
            raise SettingsError(f"padding is {self.padding!r}; choose 'reflect' or 'zero'")


@dataclass(frozen=True)
class PixelScale:
    """Turns pixels 0..255 into floats with mean 0 and standard deviation 1 in each channel."""

    mean: tuple[float, ...]
    """Mean of each channel, of pixels in 0..1."""
    std: tuple[float, ...]
    """Standard deviation of each channel, of pixels in 0..1."""

    @classmethod
    def measure(cls, images: Tensor | np.ndarray) -> PixelScale:
        """Mean and standard deviation over uint8 images (N, H, W, C): counted, so exact on every device."""
        channels = images.shape[-1]
        counts = np.zeros((channels, 256), dtype=np.int64)
        for start in range(0, len(images), _CHUNK):
            chunk = torch.as_tensor(images[start : start + _CHUNK])
            for channel in range(channels):
                counts[channel] += (
                    torch.bincount(chunk[..., channel].reshape(-1).long(), minlength=256).cpu().numpy()
                )
        values = np.arange(256) / 255.0
        share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        mean = share @ values
        std = np.sqrt(np.maximum(share @ values**2 - mean**2, 0.0))
        std[std < 1e-6] = 1.0  # a constant channel says nothing: leave it at zero rather than divide by it
        return cls(tuple(mean.tolist()), tuple(std.tolist()))

    def __call__(self, images: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """uint8 images (N, H, W, C) as normalised floats (N, C, H, W), in channels_last memory."""
        if images.shape[-1] != len(self.mean):
            raise SettingsError(
                f"images have {images.shape[-1]} channels but the pixel scale has {len(self.mean)}:"
                " measure it on images of the same kind"
            )
        std = torch.tensor(self.std, device=images.device)
        shift = torch.tensor(self.mean, device=images.device) / -std
        scaled = torch.addcmul(shift, images.float(), 1 / (255 * std))
        return scaled.to(dtype).permute(0, 3, 1, 2)


def as_nhwc(images: Tensor) -> Tensor:
    """Images (N, H, W), (N, C, H, W) or (N, H, W, C) as (N, H, W, C), contiguous.

    The channels are the last axis where its size is 1, 3 or 4, else the second.
    """
    if images.ndim == 3:
        return images[..., None].contiguous()
    if images.shape[-1] in (1, 3, 4):
        return images.contiguous()
    return images.permute(0, 2, 3, 1).contiguous()


def random_uniform(index: Tensor, seed: int, epoch: int, draws: int) -> Tensor:
    """`draws` numbers in [0, 1) for each sample of `index`, as (draws, N)."""
    stream = (seed * 1_000_003 + epoch) & 0xFFFFFFFF
    lane = torch.arange(draws, device=index.device)[:, None]
    bits = _mix(_mix(index[None, :] + stream * 0x9E3779B1) + lane * 0x85EBCA77 + (seed >> 32))
    return (bits >> 8).float() / (1 << 24)


def _mix(values: Tensor) -> Tensor:
    """A 32-bit integer hash (xor-shift-multiply); in int64, where no product overflows, on every device."""
    values = values & 0xFFFFFFFF
    for shift, factor in ((16, 0x7FEB352D), (15, 0x046CA68B)):
        values = ((values ^ (values >> shift)) * factor) & 0xFFFFFFFF
    return values ^ (values >> 16)


def augment_rows(
    images: Tensor, rows: Tensor, index: Tensor, augment: Augment, *, seed: int, epoch: int
) -> Tensor:
    """`images[rows]`, (B, H, W, C), augmented; `index` says which sample each is, for its random numbers.

    One gather does it all: where each pixel comes from is worked out for rows and columns apart.
    """
    height, width = images.shape[1:3]
    if augment.crop >= min(height, width):
        raise SettingsError(f"crop pads {augment.crop} pixels but images are {height}x{width}: use less")
    draw = random_uniform(index, seed, epoch, 3)  # (3, B): down, across, flip
    span = 2 * augment.crop + 1
    down = (draw[0] * span).long() - augment.crop
    across = (draw[1] * span).long() - augment.crop
    row = torch.arange(height, device=images.device) + down[:, None]  # (B, H)
    column = torch.arange(width, device=images.device) + across[:, None]  # (B, W)
    if augment.flip:
        column = torch.where((draw[2] < 0.5)[:, None], column.flip(1), column)
    taken = images[
        rows[:, None, None], _reflect(row, height)[:, :, None], _reflect(column, width)[:, None, :]
    ]
    if augment.padding == "reflect":
        return taken
    inside = _within(row, height)[:, :, None] & _within(column, width)[:, None, :]
    return taken * inside[..., None]


def _reflect(position: Tensor, size: int) -> Tensor:
    """Positions outside 0 .. size - 1 mirrored back in, the edge itself not repeated."""
    return size - 1 - (size - 1 - position.abs()).abs()


def _within(position: Tensor, size: int) -> Tensor:
    return (position >= 0) & (position < size)


def check_image_shape(shape: Sequence[int]) -> None:
    """Refuse what cannot be a set of images."""
    if len(shape) not in (3, 4):
        raise SettingsError(
            f"augment needs images (N, height, width, channels), got samples of shape {tuple(shape[1:])}:"
            " leave augment out for tables"
        )
