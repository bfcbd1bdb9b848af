"""Batches from arrays that live on the device, or on the host where it has no room for them.

Samples are collected (and images augmented) for a window of many batches and then cut up, so that a
small batch costs little more than a view. What a source gives for a step of an epoch depends on nothing
but that step and that epoch, so a resumed run can begin at any epoch. The random numbers of an image are a
hash of (seed, epoch, index of the sample): no generator has a state, so it looks the same on the CPU and on
a GPU, streamed or held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from graylearn.errors import DataError, SettingsError

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
    inner_row, inner_column = _reflect(row, height), _reflect(column, width)
    taken = images[rows[:, None, None], inner_row[:, :, None], inner_column[:, None, :]]
    if augment.padding == "reflect":
        return taken
    inside = (inner_row == row)[:, :, None] & (inner_column == column)[:, None, :]
    return taken * inside[..., None]


def _reflect(position: Tensor, size: int) -> Tensor:
    """Positions outside 0 .. size - 1 mirrored back in, the edge itself not repeated."""
    return size - 1 - (size - 1 - position.abs()).abs()


WINDOW_BYTES = 64 << 20
"""How much of an epoch is collected at once: enough to hide the cost of launching, small beside any GPU."""

Order = Callable[[int], Tensor]
"""Epoch -> the order of the samples in it, on the CPU: (num_samples,), or (models, num_samples)."""


@dataclass(slots=True)
class Batch:
    """What one training step reads."""

    inputs: Tensor
    """(N, ...) for the network; Several where it reads more than one."""
    target: Tensor
    """(N,) given labels."""
    index: Tensor
    """(N,) indices in the training set."""


class BatchSource(Protocol):
    """Where the loop gets its batches."""

    targets: Tensor
    """(num_samples,) given labels, on the device."""
    batch_size: int

    @property
    def steps(self) -> int:
        """Batches in an epoch."""
        ...

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """The batches of `epoch`."""
        ...


@dataclass(frozen=True)
class Preparation:
    """How samples as stored become inputs of a network, in training and in prediction."""

    scale: PixelScale | None = None
    """For uint8 images, stored (N, H, W, C); None for numbers that go in as they are."""
    augment: Augment | None = None
    """Random changes, in training only."""
    seed: int = 0
    """Of the random changes."""
    dtype: torch.dtype = torch.float32
    """Of the inputs."""

    @property
    def images(self) -> bool:
        """Whether samples are stored as images (N, H, W, C)."""
        return self.scale is not None or self.augment is not None

    def train(self, x: Tensor, rows: Tensor, index: Tensor, epoch: int) -> Tensor:
        """Inputs from `x[rows]`; `index` says which samples of the training set they are."""
        if self.augment is None:
            taken = x.index_select(0, rows)
        else:
            taken = augment_rows(x, rows, index, self.augment, seed=self.seed, epoch=epoch)
        return self.finish(taken)

    def finish(self, taken: Tensor) -> Tensor:
        """Inputs from samples as stored, unchanged by chance."""
        if self.scale is not None:
            return self.scale(taken, self.dtype)
        if self.augment is not None:
            return taken.to(self.dtype).permute(0, 3, 1, 2)
        return taken if taken.dtype == self.dtype else taken.to(self.dtype)

    def stored(self, x: Tensor) -> Tensor:
        """Samples in the form they are stored in on the device."""
        if self.images:
            if x.ndim not in (3, 4):
                raise SettingsError(
                    f"augment needs images (N, height, width, channels), got samples of shape "
                    f"{tuple(x.shape[1:])}: leave augment out for tables"
                )
            return as_nhwc(x)
        return x if x.dtype == self.dtype else x.to(self.dtype)


def as_classes(labels: Any) -> Tensor:
    """(N,) labels of samples as numbers of classes; refuses whatever would have to be rounded or guessed."""
    try:
        classes = torch.as_tensor(labels)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = type(labels[0] if isinstance(labels, Sequence) and len(labels) else labels).__name__
        raise DataError(f"labels hold {kind}, expected whole numbers: encode them as 0, 1, 2, ...") from error
    if classes.ndim != 1 or classes.is_floating_point() or classes.is_complex():
        soft = classes.ndim == 2 and classes.shape[1] > 1
        raise DataError(
            f"labels are {classes.dtype} of shape {tuple(classes.shape)}, expected whole numbers of shape"
            " (num_samples,): encode them as classes 0, 1, 2, ..."
            + (" (soft targets are to train on, in arrays (x, y), as floats)" if soft else "")
        )
    classes = classes.long()
    if len(classes) and int(classes.min()) < 0:
        raise DataError(
            f"label {int(classes.min())} is negative, expected classes 0, 1, 2, ...: leave out samples that"
            " have no label"
        )
    return classes


def check_lengths(x: Tensor, y: Tensor) -> None:
    """Refuse samples and labels that do not fit together."""
    as_classes(y)
    if len(x) != len(y):
        raise DataError(f"there are {len(x)} samples but {len(y)} labels: give one label per sample")
    if len(y) == 0:
        raise DataError("there are no samples to train on")


def batch_ends(num_samples: int, batch_size: int, even_tail: bool = False) -> list[int]:
    """Where each batch of an epoch ends: all are full but the last, which takes what is left.

    With `even_tail` the last two share what they have. Batch norm measures each batch and every batch is a
    step of the same rate, so a last batch of four samples, the end of every epoch, undoes more than it
    teaches.
    """
    ends = [*range(batch_size, num_samples, batch_size), num_samples]
    if even_tail and len(ends) > 1:
        left = ends[-1] - ends[-2]
        ends[-2] -= (batch_size - left) // 2
    return ends


class ArrayBatches:
    """Batches of samples held as a whole, for one model or for several side by side.

    They lie on the device unless `on_host`. For several models, a step has inputs (models, N, ...), with
    labels and indices laid end to end; sample i of model g is number g * num_samples + i. x has one row per
    sample if all share them, else one per number.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        *,
        batch_size: int,
        order: Order,
        device: torch.device,
        preparation: Preparation | None = None,
        even_tail: bool = False,
        models: int = 1,
        on_host: bool = False,
    ) -> None:
        self.models, self.num_samples = models, len(y) // models
        check_lengths(x, y if len(x) == len(y) else y[: self.num_samples])
        self.preparation = preparation or Preparation()
        self.device, self.on_host = device, on_host
        self.x = self.preparation.stored(x if on_host else x.to(device))
        self.targets = as_classes(y).to(device)
        self.batch_size, self.order = batch_size, order
        self.ends = batch_ends(self.num_samples, batch_size, even_tail)
        step_bytes = max(1, self.x[:1].numel() * 4 * models) * batch_size
        self.window = max(1, WINDOW_BYTES // step_bytes)  # steps
        self.offsets = torch.arange(models, device=device)[:, None] * self.num_samples

    @property
    def steps(self) -> int:
        """Batches in an epoch; the last may be smaller."""
        return len(self.ends)

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """The batches of `epoch`."""
        order = self.order(epoch).to(self.device, non_blocking=True).view(self.models, -1)
        bounds = [0, *self.ends]
        for step in range(0, self.steps, self.window):
            cuts = bounds[step : step + self.window + 1]
            sizes = [end - begin for begin, end in pairwise(cuts)]
            index = order[:, cuts[0] : cuts[-1]] + self.offsets
            # step by step, so that what a step reads lies side by side
            index = torch.cat([part.reshape(-1) for part in torch.split(index, sizes, 1)])
            sizes = [self.models * size for size in sizes]
            rows = index if len(self.x) == len(self.targets) else index % self.num_samples
            x = self.x
            if self.on_host:
                x, rows = x[rows.to(x.device)], torch.arange(len(rows), device=self.device)
                x = (x.pin_memory() if self.device.type == "cuda" else x).to(self.device, non_blocking=True)
            whole = self.preparation.train(x, rows, index, epoch)
            inputs = [whole[begin:end] for begin, end in pairwise(accumulate([0, *sizes]))]
            if self.models > 1:
                inputs = [part.view(self.models, -1, *part.shape[1:]) for part in inputs]
            target = self.targets.index_select(0, index)
            yield from map(Batch, inputs, torch.split(target, sizes), torch.split(index, sizes))
