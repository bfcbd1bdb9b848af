"""The user's data in any form as a source of batches, with soft targets and the weight of each loss."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from graylearn.data.batches import (
    ArrayBatches,
    BatchSource,
    PixelScale,
    Preparation,
    as_classes,
    as_nhwc,
    check_lengths,
)
from graylearn.data.inputs import as_class_weights, as_plain, as_rows, as_weights, is_hugging_face, is_sparse
from graylearn.data.streams import (
    LoaderBatches,
    Several,
    StreamBatches,
    are_several,
    as_inputs,
    collate,
    joined,
    split_item,
)
from graylearn.errors import DataError, SettingsError
from graylearn.training import seeding
from graylearn.training.settings import Settings

_LOOKED_AT = 256
"""Samples of a dataset that are hashed and measured, because they may be slow to read; of arrays all are."""
_DEVICE_SHARE = 0.5
"""How much of the free memory of a device a training set may take."""


@dataclass(frozen=True)
class Training:
    """A source of batches, and facts about it."""

    source: BatchSource
    preparation: Preparation
    example: Tensor
    """(at most 2, ...) inputs as the network will see them."""
    ids: np.ndarray[Any, Any] | None
    """What the user calls each sample."""
    fingerprint: str
    """A hash of the data, so that a run is not resumed on other data; empty without checkpoints."""


def _are_arrays(data: Any) -> bool:
    """Whether this is a table, an array, a dict or arrays side by side: all have items as a dataset has, but
    none of (x, y)."""
    if not isinstance(data, list | tuple):
        return isinstance(data, np.ndarray | Tensor | Mapping) or hasattr(data, "to_numpy")
    if len(data) == 0 or (isinstance(data, tuple) and len(data) == 2):
        return False
    if len(data) == 2 and all(isinstance(part, list) for part in data):
        return len(data[0]) == len(data[1]) and len(data[0]) not in (2, 3)
    return isinstance(data[0], np.ndarray | Tensor)


def _are_batches(data: Any) -> bool:
    """Whether this is a list of (x, y) batches, not one of samples: its first y has several labels."""
    if not isinstance(data, list | tuple) or not data:
        return False
    if isinstance(data, tuple) and len(data) == 2:  # (x, y), unless y is a batch as well
        second = data[1]
        if not isinstance(second, tuple) or not all(isinstance(part, np.ndarray | Tensor) for part in second):
            return False
    first = data[0]
    pair = isinstance(first, list | tuple) and len(first) in (2, 3)
    named = isinstance(first, Mapping) and ("labels" in first or "label" in first)
    return (pair or named) and np.ndim(split_item(first)[1]) == 1


def _numbered(batches: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
    """Batches (x, y, index); samples are numbered through all of them if the batches have no index."""
    parts = [split_item(batch) for batch in batches]
    first = parts[0][0]
    for number, (x, y, _) in enumerate(parts if isinstance(first, np.ndarray | Tensor) else ()):
        given, expected = tuple(np.shape(x)), (len(y), *first.shape[1:])
        if given != expected:
            raise DataError(
                f"batch {number} of the list has x of shape {given} for {len(y)} labels, expected {expected}:"
                " give as many labels as samples, and samples of one shape"
            )
    ends = np.cumsum([len(y) for _, y, _ in parts])
    counted = [torch.arange(end - len(y), end) for (_, y, _), end in zip(parts, ends, strict=True)]
    return [(x, y, counted[number] if index is None else index) for number, (x, y, index) in enumerate(parts)]


def make_training(
    data: Any, settings: Settings, device: torch.device, dtype_images: torch.dtype, even_tail: bool = False
) -> Training:
    """The source for (x, y) arrays, Samples, Datasets, DataLoaders and other iterables of batches.

    `dtype_images` is the type of float images on their way into the network. With `even_tail` the last two
    batches of an epoch are alike in size; a DataLoader's batches stay as they are.
    """
    make = _Sources(settings, device, dtype_images, even_tail)
    check_sized(data, "data")
    if _are_arrays(data):
        count = f" of {len(data)} arrays" if isinstance(data, list | tuple) else ""
        raise DataError(f"data is a {type(data).__name__}{count}: give a tuple (x, y) of samples and labels")
    if hasattr(data, "x") and hasattr(data, "y") and hasattr(data, "ids"):  # Samples
        return make.of_arrays(data.x, data.y, np.asarray(data.ids), data.kind == "image")
    if _are_batches(data):
        return make.of_loader(_numbered(data))
    if isinstance(data, tuple) and len(data) == 2:
        return make.of_arrays(*data)
    if isinstance(data, DataLoader | IterableDataset):
        return make.of_loader(data)
    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        return make.of_dataset(data)
    if isinstance(data, Iterable):
        return make.of_loader(data)
    raise DataError(
        f"data is {type(data).__name__}, expected (x, y) arrays, Samples, a Dataset, a DataLoader"
        " or an iterable of (x, y) batches"
    )


@dataclass(frozen=True)
class _Sources:
    """Makes the source of batches, and what else a training needs to know of its data."""

    settings: Settings
    device: torch.device
    dtype_images: torch.dtype
    even_tail: bool

    def of_arrays(
        self, x: Any, y: Any, ids: NDArray[Any] | None = None, are_images: bool = False
    ) -> Training:
        settings, labels = self.settings, as_labels(y)
        several = are_several(x) and not (isinstance(x, tuple | list) and len(x) == len(labels))
        samples: Any = as_inputs(x) if several else as_tensor(x)
        if samples.ndim < 2 and not several:
            raise DataError(f"x has shape {tuple(samples.shape)}, expected (num_samples, ...) with features")
        for part in samples.named.values() if several else (samples,):
            check_lengths(part, labels)
            check_finite(part)
        pixels = samples.dtype == torch.uint8 and (are_images or samples.ndim == 4)
        preparation = self._preparation(samples, pixels, lambda: samples)
        fits = self._fits(samples, pixels) if settings.stream is None else not settings.stream
        options = {**self._options(len(labels)), "preparation": preparation}
        source = ArrayBatches(samples, labels, on_host=not fits, **options)
        example = preparation.finish(preparation.stored(samples[:2].to(self.device)))
        seen = _fingerprint(samples, labels) if settings.checkpoint is not None else ""
        return Training(source, preparation, example, ids, seen)

    def of_dataset(self, data: Any) -> Training:
        if len(data) == 0:
            raise DataError("there are no samples to train on")
        first = as_inputs(split_item(data[0])[0])[None]
        options = {**self._options(len(data)), "workers": self.settings.workers}
        return self._streamed(data, first, partial(StreamBatches, data, **options))

    def of_loader(self, data: Any) -> Training:
        settings = self.settings
        if isinstance(data, IterableDataset):
            data = DataLoader(
                data, batch_size=settings.batch_size, num_workers=settings.workers, collate_fn=collate
            )
        if iter(data) is data:
            raise DataError(
                "the data can be read only once, but every epoch reads it anew:"
                " give a list, a Dataset or a DataLoader instead of a generator"
            )
        seeding.seed_global(settings.seed, "epoch", 0)
        first = as_inputs(split_item(next(iter(data), (torch.empty(0), None)))[0])
        if len(first) == 0:
            raise DataError("there are no samples to train on")
        return self._streamed(data, first, partial(LoaderBatches, data, device=self.device))

    def _streamed(self, data: Any, first: Any, make_source: Callable[..., LoaderBatches]) -> Training:
        """first: one batch; uint8 images are scaled by the statistics of a part of them."""
        pixels = first.dtype == torch.uint8 and first.ndim == 4
        preparation = self._preparation(first, pixels, lambda: _looked_at(data, first))
        # samples may be drawn anew when they are read
        seeding.seed_global(self.settings.seed, "epoch", 0)
        source, seen = make_source(preparation=preparation), ""
        if self.settings.checkpoint is not None:
            seeding.seed_global(self.settings.seed, "epoch", 0)
            seen = _fingerprint(_looked_at(data, first), source.targets)
        shown = first[:2].to(self.device)
        if preparation.images or shown.is_floating_point() or shown.dtype == torch.uint8:
            shown = preparation.finish(preparation.stored(shown))
        return Training(source, preparation, shown, None, seen)  # of whole numbers, tokens that are embedded

    def _options(self, num_samples: int) -> dict[str, Any]:
        """How batches are made."""
        return {
            "batch_size": self.settings.batch_size,
            "order": lambda epoch: seeding.epoch_order(num_samples, self.settings.seed, epoch),
            "device": self.device,
            "even_tail": self.even_tail,
        }

    def _fits(self, samples: Tensor, pixels: bool) -> bool:
        if self.device.type != "cuda":
            return True
        needed = samples.numel() * (samples.element_size() if pixels else 4)
        return needed < _DEVICE_SHARE * torch.cuda.mem_get_info(self.device)[0]

    def _preparation(self, samples: Any, pixels: bool, images_to_measure: Callable[[], Any]) -> Preparation:
        augment, scale = self.settings.augment, self.settings.scale
        if augment is not None and isinstance(samples, Several):
            raise DataError("images are augmented where they are the one input: leave augment out")
        if scale is not None and not pixels:
            raise SettingsError("scale is that of uint8 images, which x does not hold: leave it out")
        if pixels and scale is None:
            scale = PixelScale.measure(as_nhwc(images_to_measure()))
        images = scale is not None or augment is not None
        return Preparation(
            scale=scale,
            augment=augment,
            seed=seeding.derive(self.settings.seed, "augment"),
            dtype=self.dtype_images if images else torch.float32,
        )


def check_finite(samples: Tensor) -> None:
    """Refuse samples with NaN or infinite values."""
    if samples.is_floating_point() and len(samples) and not bool(torch.isfinite(samples).all()):
        raise DataError("x holds NaN or infinite values: fill or remove them before training")


def _looked_at(data: Any, first: Any) -> Any:
    """All that is in memory, else samples spread over a dataset, or the first ones, as one batch."""
    if isinstance(data, list):
        return joined([as_inputs(split_item(batch)[0]) for batch in data])
    dataset = getattr(data, "dataset", data)
    if isinstance(dataset, TensorDataset):
        return dataset.tensors[0]
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
        return first[:1]
    collated = getattr(data, "collate_fn", collate)
    rows = np.unique(np.linspace(0, len(dataset) - 1, _LOOKED_AT).astype(int))
    samples = [as_inputs(split_item(collated([dataset[int(row)]]))[0]) for row in rows]
    try:
        return joined(samples)
    except RuntimeError:  # they differ in shape
        return samples[0]


def _fingerprint(samples: Any, labels: Tensor) -> str:
    """A hash of the labels, the shape and every value: a second for two gigabytes."""
    if isinstance(samples, Several):
        return " ".join(f"{name} {_fingerprint(part, labels)}" for name, part in samples.named.items())
    digest = hashlib.sha256(json.dumps([list(samples.shape), str(samples.dtype)]).encode())
    digest.update(labels.cpu().long().numpy().tobytes())
    at_once = max(1, (1 << 24) // max(1, samples[:1].numel()))
    for start in range(0, len(samples), at_once):
        rows = samples[start : start + at_once].cpu().contiguous()
        digest.update(rows.view(torch.uint8).numpy().data)
    return digest.hexdigest()


_SUM_TOLERANCE = 1e-3


def weights_for(
    sample_weight: Any, targets: Tensor, class_weight: Any = None, num_classes: int = 0, models: int = 1
) -> Tensor | None:
    """The weight of each sample times that of its class, on the device, with mean 1.

    Several models have their targets end to end; `sample_weight` is (samples,) for all of them, or
    (models, samples), and the mean is 1 in each.
    """
    if sample_weight is None and class_weight is None:
        return None
    samples = len(targets) // models
    weights = np.ones(samples) if sample_weight is None else as_weights(sample_weight, "sample_weight")
    if weights.size not in (samples, models * samples):
        raise DataError(f"sample_weight has shape {weights.shape} for {samples} samples: give one each")
    weights = np.broadcast_to(weights.reshape(-1, samples), (models, samples))
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any(axis=1).all():
        raise DataError("sample weights must be finite, 0 or more, and not all 0")
    weights = weights / weights.max(axis=1, keepdims=True)  # the sum of the largest floats is infinite
    if class_weight is not None:
        labels = targets.cpu().numpy()
        of_class = as_class_weights(class_weight, labels, range(num_classes))
        weights = weights * (of_class / of_class.max())[labels]
        if not weights.any():
            raise DataError("sample_weight and class_weight leave no sample that counts: give some of both")
    weights = weights / weights.mean(axis=1, keepdims=True)
    return torch.from_numpy(weights.reshape(-1)).float().to(targets.device)


def split_soft(data: Any) -> tuple[Any, Tensor | None]:
    """(data, soft targets): if y is (N, K) floats, the most probable class of a sample is its label."""
    if isinstance(data, TensorDataset) and len(data.tensors) == 2:
        data = data.tensors
    if not isinstance(data, tuple) or len(data) != 2 or isinstance(data[1], tuple) or np.ndim(data[1]) != 2:
        return data, None
    given = torch.as_tensor(np.asarray(as_plain(data[1])))
    if not given.is_floating_point() or given.shape[1] < 2:
        return data, None
    soft = given.double()
    if not bool(torch.isfinite(soft).all()) or bool((soft < 0).any()):
        raise DataError("soft targets must be finite and 0 or more: give the probability of each class")
    off = (soft.sum(1) - 1).abs() > _SUM_TOLERANCE
    if bool(off.any()):
        row = int(off.nonzero()[0])
        raise DataError(f"the soft targets of sample {row} add up to {float(soft[row].sum()):.4g}, not to 1")
    return (data[0], soft.argmax(1)), (soft / soft.sum(1, keepdim=True)).float()


def as_tensor(values: Any, what: str = "x") -> Tensor:
    """Arrays, tensors, lists or frames of numbers as a tensor; float64 becomes float32."""
    if isinstance(values, Tensor):
        tensor = values.detach()
    else:
        values = as_rows(values, what)
        if is_sparse(values):
            raise DataError(f"{what} is a sparse matrix: give it dense, as its toarray() is")
        array = np.asarray(values)
        kinds = values.dtypes if isinstance(values, pd.DataFrame) else [array.dtype]
        if array.dtype == object and all(map(pd.api.types.is_numeric_dtype, kinds)):
            array = values.to_numpy(np.float32, na_value=np.nan)  # flags beside floats, as of get_dummies
        if array.dtype.kind not in "biuf":
            mend = "encode tables and text before training"
            if what == "y":
                mend = "number the classes, as numpy.unique(y, return_inverse=True)[1] does"
            raise DataError(f"{what} holds {array.dtype}, expected numbers: {mend}")
        if not array.flags.writeable or any(stride < 0 for stride in array.strides):
            array = array.copy()  # torch warns of arrays that may not be written to
        tensor = torch.from_numpy(array)
    plain = tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_nested
    if not plain or tensor.is_meta or (tensor.dtype.itemsize == 1 and tensor.is_floating_point()):
        raise DataError(
            f"{what} is sparse, quantized, nested, of 8-bit floats or meta: give a dense float32 one"
        )
    if tensor.is_complex():
        raise DataError(f"{what} is complex: give real and imaginary parts as features of their own")
    return tensor.float() if tensor.dtype == torch.float64 else tensor


def as_labels(values: Any) -> Tensor:
    """Labels as a tensor; False and True become 0 and 1."""
    labels = as_tensor(values, "y")
    return labels.long() if labels.dtype == torch.bool else labels


def check_sized(data: Any, name: str) -> None:
    """Refuse a map-style Dataset without a length."""
    if isinstance(data, Dataset) and not isinstance(data, IterableDataset) and not hasattr(data, "__len__"):
        raise DataError(
            f"{name} is {type(data).__name__}, a Dataset without a length: give it a __len__, or make it an "
            "IterableDataset"
        )


def read_labelled(data: Any, name: str) -> tuple[Any, Any]:
    """(x, y) of samples with their labels; a Dataset or DataLoader is read once, into memory."""
    if isinstance(data, tuple | list) and len(data) == 2:
        return data[0], data[1]
    if is_dataset(data):
        check_sized(data, name)
        data = DataLoader(data, batch_size=256, collate_fn=collate)
    if isinstance(data, DataLoader):
        parts = [split_item(item) for item in data]
        if not parts:
            raise DataError(f"there are no samples in {name}")
        if any(np.ndim(part[1]) == 0 for part in parts):
            raise DataError(f"the DataLoader of {name} gives no batches of (x, y): give it a batch_size")
        return joined([as_inputs(part[0]) for part in parts]), torch.cat([as_classes(y) for _, y, _ in parts])
    if hasattr(data, "x") and hasattr(data, "y"):  # Samples
        return data.x, data.y
    raise DataError(
        f"{name} is {type(data).__name__}, expected a tuple (x, y) with the labels, Samples, a Dataset or a"
        " DataLoader"
    )


def is_dataset(data: Any) -> bool:
    """Whether it is read item by item, as datasets of torch and of Hugging Face are."""
    return isinstance(data, Dataset) or (is_hugging_face(data) and not isinstance(data, Mapping))


def check_labels(targets: Tensor, num_classes: int) -> None:
    """Refuse labels for which the network has no logit."""
    if num_classes < 2:
        raise DataError("the network gives one logit per sample, expected one per class, even for two")
    largest = int(targets.max())
    if largest >= num_classes:
        raise DataError(
            f"there is a label {largest} but the network gives {num_classes} logits (0..{num_classes - 1})"
        )
