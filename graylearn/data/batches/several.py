"""Several inputs of a network, which go through the engine together as one tensor would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graylearn.errors import DataError


class Several:
    """Inputs by name, for a network called with keywords, or in order; of one sample or of a batch."""

    ndim = 0
    """As of no image and no row of numbers, which are stored, scaled and augmented in ways of their own."""
    dtype = None

    def __init__(self, parts: dict[str, Tensor] | tuple[Tensor, ...]) -> None:
        self.parts = parts

    @property
    def named(self) -> dict[Any, Tensor]:
        """The tensors by name or number."""
        return self.parts if isinstance(self.parts, dict) else dict(enumerate(self.parts))

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
        if isinstance(self.parts, dict):
            return Several({name: change(part) for name, part in self.parts.items()})
        return Several(tuple(change(part) for part in self.parts))

    def to(self, kind: torch.device | torch.dtype, non_blocking: bool = False) -> Several:
        """On another device; of another type they are not, as each has that which the network reads."""
        if isinstance(kind, torch.dtype):
            return self
        return self.map(lambda part: part.to(kind, non_blocking=non_blocking))

    def pin_memory(self) -> Several:
        """In memory that a GPU reads by itself; a DataLoader asks for it."""
        return self.map(Tensor.pin_memory)

    def call(self, network: Callable[..., Any]) -> Any:
        """What `network` says of them."""
        return network(**self.parts) if isinstance(self.parts, dict) else network(*self.parts)


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
        try:
            return torch.as_tensor(x)
        except (TypeError, ValueError, RuntimeError) as error:
            raise DataError(
                f"a sample is {type(x).__name__}, which is no tensor: have the dataset make one of it, by its"
                " transform"
            ) from error
    if isinstance(x, Mapping):
        return Several({str(name): _plain(part, repr(name)) for name, part in x.items()})
    return Several(tuple(_plain(part, f"number {number}") for number, part in enumerate(x)))


def _plain(part: Any, name: str) -> Tensor:
    try:
        tensor = torch.as_tensor(part)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"input {name} holds {type(part).__name__}, which is no tensor: leave it out of what the network"
            " is given, or make numbers of it"
        ) from error
    if tensor.dtype == torch.uint8 and tensor.ndim > 2:
        raise DataError(
            f"input {name} holds uint8 images, which are scaled only where they are the one input:"
            " give them as floats"
        )
    return tensor.float() if tensor.is_floating_point() else tensor


def joined(batches: Sequence[Any]) -> Any:
    """Batches, each a tensor or Several, as one batch."""
    if not isinstance(batches[0], Several):
        return torch.cat(list(batches))
    named = {name: torch.cat([batch.named[name] for batch in batches]) for name in batches[0].named}
    return Several(named if isinstance(batches[0].parts, dict) else tuple(named.values()))
