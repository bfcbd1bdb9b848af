"""Batches from sets that are read as they are needed: Datasets, DataLoaders, iterables.

DataLoader workers read the samples; augmentation happens on the device, batch by batch, as it does for
sets in memory, with the same random numbers.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

from graylearn.data.batches.augment import as_nhwc
from graylearn.data.batches.base import (
    Batch,
    Order,
    Preparation,
    as_classes,
    batch_ends,
)
from graylearn.data.batches.items import as_inputs, collate, read_rows, split_item
from graylearn.errors import DataError, warn


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


@runtime_checkable
class Listed(Protocol):
    """Batches with an index that know the labels of all samples, so that they are not read once before."""

    targets: Any
    """(N,) the labels."""
    batch_size: int
    """Samples of a batch, at most or about."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...


class LoaderBatches:
    """Batches of the user's own DataLoader or iterable, in the order it gives them.

    Where neither the items nor the dataset tell which sample is which, samples are counted as they arrive:
    the first of an epoch is sample 0. Every epoch must then give the same samples in the same order.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        *,
        device: torch.device,
        preparation: Preparation | None = None,
    ) -> None:
        self.device, self.preparation = device, preparation or Preparation()
        self.counted = False
        self.loader = loader
        if isinstance(loader, DataLoader) and not isinstance(loader.dataset, IterableDataset):
            # the dataset knows all its labels, also of samples that drop_last or a sampler leaves out
            if loader.batch_sampler is None:
                raise DataError("the DataLoader gives single samples: give it a batch_size")
            targets, own = read_rows(loader.dataset, loader.num_workers, loader.collate_fn)
            self.loader = _indexed(loader, own)
            self.steps = len(loader)
            self.batch_size = int(getattr(loader.batch_sampler, "batch_size", 0))
        elif isinstance(loader, Listed):
            targets = as_classes(loader.targets)
            self.steps, self.batch_size = len(loader), loader.batch_size
        else:
            targets, sizes = self._first_pass()
            self.steps, self.batch_size = len(sizes), max(sizes)
        self.host_targets = targets
        self.targets = targets.to(device)

    def _first_pass(self) -> tuple[Tensor, list[int]]:
        """The labels, which methods must know before they start, and the sizes of the batches."""
        indices, labels, sizes = [], [], []
        count = 0
        self._seed()
        for item in self.loader:
            _, y, index = split_item(item)
            y = as_classes(y)
            if index is None:
                self.counted = True
                index = torch.arange(count, count + len(y))
            indices.append(torch.as_tensor(index).long())
            labels.append(y)
            sizes.append(len(y))
            count += len(y)
        if count == 0:
            raise DataError("there are no samples to train on")
        if self.counted:
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

    def _seed(self) -> None:
        # The loop seeds the global generators before each epoch; a loader's own ones follow them, so that
        # the order of an epoch can be repeated.
        for owner in (self.loader, getattr(getattr(self.loader, "batch_sampler", None), "sampler", None)):
            own = getattr(owner, "generator", None)
            if isinstance(own, torch.Generator):
                own.manual_seed(int(torch.randint(1 << 62, ())))

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """The batches of `epoch`."""
        self._seed()
        count = 0
        for item in self.loader:
            x, y, index = split_item(item)
            y = torch.as_tensor(y).long()
            if index is None:
                index = torch.arange(count, count + len(y))
            index = torch.as_tensor(index).long()
            count += len(y)
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
