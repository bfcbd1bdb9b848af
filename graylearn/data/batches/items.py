"""What the items of a dataset or a loader hold: one input or several, a label, and sometimes an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Subset, default_collate

from graylearn.data.batches.base import as_classes
from graylearn.errors import DataError, warn

_LABELS_READ = 64
"""Items read at most to see whether a dataset's list of labels can be believed."""


class Several:
    """Inputs by name, for a network called with keywords, or in order; of one sample or of a batch."""

    ndim = 0
    """As of no image and no row of numbers, which are stored, scaled and augmented in ways of their own."""
    dtype = None

    def __init__(self, named: dict[Any, Tensor]) -> None:
        self.named = named
        """By name, or by number where they come in order."""

    @property
    def shape(self) -> tuple[int]:
        """(N,) of a batch."""
        return (len(self),)

    @property
    def device(self) -> torch.device:
        """Where they lie."""
        return next(iter(self.named.values())).device

    def is_floating_point(self) -> bool:
        """Not as one tensor is: each has its own type already, that which the network reads."""
        return False

    def __len__(self) -> int:
        return len(next(iter(self.named.values())))

    def __getitem__(self, rows: Any) -> Several:
        return self.map(lambda part: part[rows])

    def map(self, change: Callable[[Tensor], Tensor]) -> Several:
        """Each changed in the same way."""
        return Several({name: change(part) for name, part in self.named.items()})

    def to(self, kind: torch.device | torch.dtype, non_blocking: bool = False) -> Several:
        """On another device; of another type they are not, as each has that which the network reads."""
        if isinstance(kind, torch.dtype):
            return self
        return self.map(lambda part: part.to(kind, non_blocking=non_blocking))

    def index_select(self, _: int, rows: Tensor) -> Several:
        """The samples at these rows."""
        return self[rows]

    def numel(self) -> int:
        """How many numbers they hold."""
        return sum(part.numel() for part in self.named.values())

    def pin_memory(self) -> Several:
        """In memory that a GPU reads by itself; a DataLoader asks for it."""
        return self.map(Tensor.pin_memory)

    def call(self, network: Callable[..., Any]) -> Any:
        """What `network` says of them."""
        return network(*self.named.values()) if 0 in self.named else network(**self.named)


def are_several(x: Any) -> bool:
    """Whether these are several inputs, not one: a mapping, or a tuple or list of tensors or arrays."""
    if isinstance(x, Mapping | Several):
        return True
    if isinstance(x, tuple):
        return bool(x) and all(isinstance(part, Tensor | np.ndarray) for part in x)
    return isinstance(x, list) and bool(x) and all(isinstance(part, Tensor) and part.ndim for part in x)


def as_inputs(x: Any) -> Any:
    """One tensor, or Several with float32 where they have decimals; whole numbers stay, as tokens do."""
    if isinstance(x, Several):
        return x
    if not are_several(x):
        return _tensor(x, "a sample")
    named = {str(name): part for name, part in x.items()} if isinstance(x, Mapping) else dict(enumerate(x))
    return Several({name: _plain(part, name) for name, part in named.items()})


def _tensor(x: Any, what: str) -> Tensor:
    try:
        return torch.as_tensor(x)
    except (TypeError, ValueError, RuntimeError) as error:
        told = f"{what} is {type(x).__name__}, which is no tensor"
        raise DataError(f"{told}: have the dataset make one of it, or leave it out") from error


def _plain(part: Any, name: Any) -> Tensor:
    tensor = _tensor(part, f"input {name!r}")
    if tensor.dtype == torch.uint8 and tensor.ndim > 2:
        raise DataError(
            f"input {name!r} holds uint8 images, which are scaled only where they are the one input:"
            " give them as floats"
        )
    return tensor.float() if tensor.is_floating_point() else tensor


def joined(batches: Sequence[Any]) -> Any:
    """Batches, each a tensor or Several, as one batch."""
    if not isinstance(batches[0], Several):
        return torch.cat(list(batches))
    return Several({name: torch.cat([batch.named[name] for batch in batches]) for name in batches[0].named})


def split_item(item: Any) -> tuple[Any, Any, Any]:
    """(x, y, index) of what a dataset or loader gives; index None where it gives only (x, y).

    In a dict the label is called labels or label and the index index; all else are inputs.
    """
    if isinstance(item, Mapping):
        label = next((name for name in ("labels", "label") if name in item), None)
        if label is None:
            raise DataError(f"the data gives {', '.join(map(str, item))}, but no labels: call them 'labels'")
        x = {name: value for name, value in item.items() if name not in (label, "index")}
        return x, item[label], item.get("index")
    if not isinstance(item, Sequence) or isinstance(item, str) or len(item) not in (2, 3):
        shown = f"{len(item)} parts" if isinstance(item, Sequence) else type(item).__name__
        raise DataError(
            f"the data gives {shown} a time, expected (x, y) or (x, y, index):"
            " of several inputs ((a, b), y), or a dict with labels"
        )
    return item[0], item[1], item[2] if len(item) == 3 else None


def inputs_of(item: Any) -> Any:
    """What the network reads of what a dataset or loader gives, with labels or without."""
    if isinstance(item, list | tuple):
        return item[0] if len(item) == 1 else split_item(item)[0]
    labelled = isinstance(item, Mapping) and ("labels" in item or "label" in item)
    return split_item(item)[0] if labelled else item


def collate(items: list[Any]) -> Any:
    """Items of a dataset as a batch; a list of numbers is a row, where torch would make a column of each."""
    return default_collate([_with_rows(item) for item in items])


def _with_rows(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {name: _row(value) for name, value in item.items()}
    return (_row(item[0]), *item[1:]) if isinstance(item, list | tuple) and item else item


def _row(value: Any) -> Any:
    return as_inputs(value) if isinstance(value, list) and not are_several(value) else value


def _labels_of(collate: Callable[[list[Any]], Any], items: list[Any]) -> tuple[Any, Any]:
    """The labels of items collated as the user's loader would, and the index they bear."""
    return split_item(collate(items))[1:]


def read_rows(
    dataset: Any, workers: int = 0, collate: Callable[[list[Any]], Any] = collate
) -> tuple[Tensor, bool]:
    """The labels of a map-style dataset, and whether they are in the order of an index that its items bear.

    An index that does not number the items, such as that of a Subset, which numbers those of the whole set,
    is passed over: the place in the dataset does.
    """
    index = split_item(collate([dataset[0]]))[2]
    listed = _listed_targets(dataset) if index is None else None
    if listed is not None and _borne(dataset, listed, collate):
        return listed, False
    loader: DataLoader[Any] = DataLoader(
        dataset, batch_size=256, num_workers=workers, collate_fn=partial(_labels_of, collate)
    )
    labels, borne = zip(*loader, strict=True)
    targets = torch.cat([as_classes(part) for part in labels])
    if index is None:
        return targets, False
    if all(isinstance(part, Tensor) and not part.is_floating_point() for part in borne):
        index = torch.cat(borne)
        if torch.equal(index.sort().values, torch.arange(len(targets))):
            return targets[index.argsort()], True
    warn(
        f"the index that items bear does not number these {len(targets)} samples from 0 on, so they are"
        " numbered by their places in the Dataset",
        UserWarning,
    )
    return targets, False


def _listed_targets(dataset: Any) -> Tensor | None:
    """The `targets` of a dataset, or of those that a Subset takes; None where there is no such list."""
    if isinstance(dataset, Subset):
        inner = _listed_targets(dataset.dataset)
        return None if inner is None else inner[torch.as_tensor(list(dataset.indices))]
    listed = getattr(dataset, "targets", None)
    if listed is None or len(listed) != len(dataset):
        return None
    try:
        return as_classes(listed)
    except DataError:
        return None


def _borne(dataset: Any, listed: Tensor, collate: Callable[[list[Any]], Any]) -> bool:
    """Whether the items bear the labels listed: a target_transform may have changed some of them.

    One item of each label is read, of many labels some.
    """
    _, first = np.unique(listed.numpy(), return_index=True)
    some = first[:: -(-len(first) // _LABELS_READ)] if len(first) else first
    labels = {index: split_item(collate([dataset[int(index)]]))[1] for index in some}
    return all(int(label) == int(listed[index]) for index, label in labels.items())
