"""Several processes that train one network: what torchrun starts, or a process group of the user's own.

Every process takes its share of each batch, gradients are added up, and all take the same step: N processes
with batches of B give what one gives with batches of N x B. Torch's DistributedDataParallel would replace one
function here, `add_up_gradients`, and it takes means over processes, which are not the mean over samples if
shares differ in size. At the end of an epoch the history is added up; the first process writes checkpoints.

    torchrun --nproc-per-node 2 -m graylearn fit data.csv --out run

There the first process does the whole run, and the others only help to train (`led`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from graylearn.data.batches import ArrayBatches, BatchSource
from graylearn.data.streams import StreamBatches
from graylearn.errors import SettingsError
from graylearn.methods import Method


@dataclass
class Group:
    """This process among those that train together."""

    rank: int
    size: int
    whole: list[int] = field(default_factory=list)
    """Samples in each step of an epoch, of all processes together."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes."""
        return self.rank == 0

    def add_up(self, values: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        dist.all_reduce(values)
        return values

    def of_all(self, values: Tensor, step: int) -> Tensor:
        """One value for each sample of a step's whole batch, from those of this process's samples."""
        every = torch.zeros(self.whole[step], device=values.device)
        every[self.rank :: self.size] = values
        return self.add_up(every)

    def any(self, flag: bool, device: torch.device) -> bool:
        """Whether the flag is set in any process."""
        return bool(self.add_up(torch.tensor([float(flag)], device=device)).item())

    def from_first(self, value: Any) -> Any:
        """The value that the first process has."""
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    @torch.no_grad()
    def level(self, module: torch.nn.Module) -> None:
        """Give all processes the weights and buffers of the first."""
        for value in module.state_dict().values():
            if isinstance(value, Tensor):
                dist.broadcast(value, src=0)

    @torch.no_grad()
    def add_up_gradients(self, parameters: list[torch.nn.Parameter]) -> None:
        """Sum the gradients; one that no process has stays None, so that the optimizer skips it."""
        there = torch.tensor(
            [float(each.grad is not None) for each in parameters], device=parameters[0].device
        )
        flat = [torch.zeros_like(each) if each.grad is None else each.grad for each in parameters]
        joint = self.add_up(torch.cat([there, *(each.reshape(-1).float() for each in flat)]))
        start = len(parameters)
        for number, each in enumerate(parameters):
            part = joint[start : start + each.numel()].view_as(each)
            start += each.numel()
            each.grad = part.to(each.dtype) if joint[number] > 0 else None

    def share(self, source: BatchSource) -> None:
        """Let `source` give this process every size-th sample of each batch, none lost and none twice."""
        if not isinstance(source, ArrayBatches | StreamBatches):
            raise SettingsError(
                "a DataLoader brings batches of its own, which several processes cannot share: "
                "give (x, y) arrays, Samples or a Dataset"
            )
        bounds, order = [0, *source.ends], source.order
        pairs = list(pairwise(bounds))
        self.whole = [end - begin for begin, end in pairs]
        own = [len(range(begin + self.rank, end, self.size)) for begin, end in pairs]

        def mine(epoch: int) -> Tensor:
            rows = order(epoch)
            return torch.cat([rows[begin + self.rank : end : self.size] for begin, end in pairs])

        source.order, source.ends = mine, torch.tensor(own).cumsum(0).tolist()


def current() -> Group | None:
    """The processes that train together; None if this is the only one."""
    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        return None
    return Group(dist.get_rank(), dist.get_world_size())


def check_method(method: Method) -> None:
    """Refuse a method whose losses depend on samples of other processes."""
    if not method.can_be_shared():
        raise SettingsError(
            f"{type(method).__name__} looks beyond the single sample (at its batch, the history or a second "
            "network) and cannot be shared by several processes: train it in one, or take gl, "
            "standard or another method that has one loss per sample"
        )


# -- the command line under torchrun -------------------------------------------------------------------------

_helpers_wait = False


@contextmanager
def led(device: str | None, work: Callable[..., Any]) -> Iterator[bool]:
    """True in the process that does the whole run; False in the others, once they have helped to train.

    Outside of torchrun, and in a group that the user made, nothing is handed over. `work` is what the first
    process hands over with `hand_over`.
    """
    global _helpers_wait
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or "RANK" not in os.environ or dist.is_initialized():
        yield True
        return
    cuda = device != "cpu" and torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if cuda else "gloo")
    group = current()
    assert group is not None
    try:
        if not group.is_first:
            while (job := group.from_first(None)) is not None:
                work(**job)
            yield False
            return
        _helpers_wait = True
        try:
            yield True
        finally:
            _helpers_wait = False
            group.from_first(None)
    finally:
        dist.destroy_process_group()


def hand_over(job: dict[str, Any]) -> None:
    """Have the helpers, if there are any, take part in a training."""
    group = current()
    if _helpers_wait and group is not None:
        group.from_first(job)
