"""Batches from arrays that live on the device, or on the host where it has no room for them.

Samples are collected (and images augmented) for a window of many batches and then cut up, so that a
small batch costs little more than a view. What a source gives for a step of an epoch depends on nothing
but that step and that epoch, so a resumed run can begin at any epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

import torch
from torch import Tensor

from graylearn.data.batches.augment import Augment, PixelScale, as_nhwc, augment_rows, check_image_shape
from graylearn.errors import DataError

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
            check_image_shape(x.shape)
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
