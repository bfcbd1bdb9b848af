"""Batches from sets that are read as they are needed: Datasets, DataLoaders, iterables.

DataLoader workers read the samples; augmentation happens on the device, batch by batch, as it does for
sets in memory, with the same random numbers.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, default_collate

from graylearn.data.batches import (
    Batch,
    Order,
    Preparation,
    as_classes,
    as_nhwc,
    batch_ends,
)
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


class _Indexed(Dataset[Any]):
    """Another dataset, a batch at a time: collated as the user's loader would, with the index that its items
    bear, or their places."""

    def __init__(self, dataset: Any, collate: Callable[[list[Any]], Any], own: bool) -> None:
        self.dataset, self.collate, self.own = dataset, collate, own

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitems__(self, places: list[int]) -> tuple[Any, Any, Any]:
        x, y, index = split_item(self.collate([self.dataset[place] for place in places]))
        return x, y, index if self.own else torch.tensor([int(place) for place in places])


def _as_is(batch: Any) -> Any:
    return batch


def _start_worker(user: Callable[[int], None] | None, worker: int) -> None:
    """Let workers live through Ctrl-C, which a terminal sends to all processes: the run ends them itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if user is not None:
        user(worker)


class LoaderBatches:
    """Batches of the user's own DataLoader or iterable, in the order it gives them.

    Where neither the items nor the dataset tell which sample is which, samples are counted as they arrive:
    the first of an epoch is sample 0. Every epoch must then give the same samples in the same order.

    An iterable that has `targets` (N,), a `batch_size` and a length is not read once before the first epoch.
    """

    def __init__(
        self,
        loader: Any,
        *,
        device: torch.device,
        preparation: Preparation | None = None,
    ) -> None:
        self.device, self.preparation = device, preparation or Preparation()
        self.loader = loader
        if isinstance(loader, DataLoader) and not isinstance(loader.dataset, IterableDataset):
            # the dataset knows all its labels, also of samples that drop_last or a sampler leaves out
            if loader.batch_sampler is None:
                raise DataError("the DataLoader gives single samples: give it a batch_size")
            targets, own = read_rows(loader.dataset, loader.num_workers, loader.collate_fn)
            self.loader = _indexed(loader, own)
            self.steps = len(loader)
            self.batch_size = int(getattr(loader.batch_sampler, "batch_size", 0))
        elif all(hasattr(loader, name) for name in ("targets", "batch_size", "__len__")):
            targets = as_classes(loader.targets)
            self.steps, self.batch_size = len(loader), loader.batch_size
        else:
            targets, sizes = self._first_pass()
            self.steps, self.batch_size = len(sizes), max(sizes)
        self.host_targets = targets
        self.targets = targets.to(device)

    def _first_pass(self) -> tuple[Tensor, list[int]]:
        """The labels, which methods must know before they start, and the sizes of the batches."""
        indices, labels, counts = [], [], []
        for _, y, index, is_counted in self._read():
            indices.append(index)
            labels.append(y)
            counts.append(is_counted)
        sizes = list(map(len, labels))
        if not sum(sizes):
            raise DataError("there are no samples to train on")
        if any(counts):
            warn(
                "the data gives no index, so samples are numbered in the order they arrive;"
                " the history is right only if every epoch gives them in the same order",
                UserWarning,
            )
        index = torch.cat(indices)
        targets = torch.zeros(int(index.max()) + 1, dtype=torch.int64)
        seen = torch.zeros(len(targets), dtype=torch.bool)
        targets[index], seen[index] = torch.cat(labels), True
        if not bool(seen.all()):
            raise DataError(
                f"the data never gives sample {int((~seen).nonzero()[0])} but gives sample {len(seen) - 1}:"
                " the index must run from 0 without gaps"
            )
        return targets, sizes

    def _read(self) -> Iterator[tuple[Any, Tensor, Tensor, bool]]:
        """(x, y, index) of each batch of an epoch, and whether the index counts samples as they arrive."""
        # The loop seeds the global generators before each epoch; a loader's own ones follow them, so that
        # the order of an epoch can be repeated.
        for owner in (self.loader, getattr(getattr(self.loader, "batch_sampler", None), "sampler", None)):
            own = getattr(owner, "generator", None)
            if isinstance(own, torch.Generator):
                own.manual_seed(int(torch.randint(1 << 62, ())))
        count = 0
        for item in self.loader:
            x, labels, given = split_item(item)
            y = as_classes(labels)
            index = torch.arange(count, count + len(y)) if given is None else torch.as_tensor(given).long()
            yield x, y, index, given is None
            count += len(y)

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """The batches of `epoch`."""
        for x, y, index, _ in self._read():
            if int(index.max()) >= len(self.host_targets) or not torch.equal(self.host_targets[index], y):
                raise DataError(
                    f"in epoch {epoch} a sample has another label than in the first reading:"
                    " the data changes its order between epochs; have it give (x, y, index)"
                )
            yield self._to_device(as_inputs(x), y, index, epoch)

    def _to_device(self, x: Any, y: Tensor, index: Tensor, epoch: int) -> Batch:
        inputs, target, index = (each.to(self.device, non_blocking=True) for each in (x, y, index))
        if self.preparation.images:
            rows = torch.arange(len(inputs), device=self.device)
            inputs = self.preparation.train(as_nhwc(inputs), rows, index, epoch)
        elif inputs.is_floating_point() or inputs.dtype == torch.uint8:
            inputs = self.preparation.finish(inputs)
        return Batch(inputs, target, index)


class StreamBatches(LoaderBatches):
    """Batches of a map-style set, read by workers in the run's own order."""

    def __init__(
        self,
        dataset: Any,
        *,
        batch_size: int,
        order: Order,
        device: torch.device,
        preparation: Preparation | None = None,
        workers: int = 0,
        even_tail: bool = False,
    ) -> None:
        self.order, self.ends = order, batch_ends(len(dataset), batch_size, even_tail)
        self.rows: list[list[int]] = []
        """Of each batch of the epoch at work."""
        pinned = device.type == "cuda"
        loader: DataLoader[Any] = DataLoader(
            dataset, batch_sampler=self.rows, num_workers=workers, collate_fn=collate, pin_memory=pinned
        )
        super().__init__(loader, device=device, preparation=preparation)
        self.batch_size, self.steps = batch_size, len(self.ends)

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """The batches of `epoch`."""
        order = self.order(epoch).tolist()
        self.rows[:] = [order[begin:end] for begin, end in pairwise([0, *self.ends])]
        yield from super().epoch(epoch)


def _indexed(loader: DataLoader[Any], own: bool) -> DataLoader[Any]:
    """The same loader with indices added: those that the items bear, or their places in the dataset."""
    return DataLoader(
        _Indexed(loader.dataset, loader.collate_fn, own),
        batch_sampler=loader.batch_sampler,
        num_workers=loader.num_workers,
        collate_fn=_as_is,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=partial(_start_worker, loader.worker_init_fn),
        generator=loader.generator,
        multiprocessing_context=loader.multiprocessing_context,
    )
