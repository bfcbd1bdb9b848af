"""What the items of a dataset or a loader hold: inputs, a label, and an index where they bear one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Subset, default_collate

from graylearn.data.batches.base import as_classes
from graylearn.data.batches.several import are_several, as_inputs
from graylearn.errors import DataError, warn

_LABELS_READ = 64
"""Items read at most to see whether a dataset's list of labels can be believed."""


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


class _LabelsOnly:
    """Collates the items as the user's loader would, and keeps their labels and the index they bear."""

    def __init__(self, collate: Callable[[list[Any]], Any]) -> None:
        self.collate = collate

    def __call__(self, items: list[Any]) -> tuple[Any, Any]:
        return split_item(self.collate(items))[1:]


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
        dataset, batch_size=256, num_workers=workers, collate_fn=_LabelsOnly(collate)
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
