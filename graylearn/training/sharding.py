"""Networks whose weights are sharded over several processes by `fully_shard` (FSDP).

A parameter is then a DTensor: this process holds a part, and the whole takes all of them together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from graylearn.errors import SettingsError


def is_part(value: Any) -> bool:
    """Whether this process holds only a part of a tensor."""
    known = sys.modules.get("torch.distributed.tensor")  # nobody has made one where it was not imported
    return known is not None and isinstance(value, known.DTensor)


def is_sharded(model: nn.Module) -> bool:
    """Whether the weights of the model are sharded over several processes."""
    return any(map(is_part, model.parameters()))


def whole(value: Any, kept: bool = True) -> Any:
    """`value` with every part in it replaced by the whole tensor, on the CPU, or None where it is not `kept`.

    To be called in all processes: they bring their parts together.
    """
    if is_part(value):
        full = value.full_tensor()
        return full.cpu() if kept else None
    if isinstance(value, dict):
        return {name: whole(each, kept) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(whole(each, kept) for each in value)
    return value


def part_of(full: Tensor, like: Any) -> Tensor:
    """The part of a whole tensor that this process holds of `like`; all of it where that is whole."""
    if not is_part(like) or is_part(full):
        return full
    from torch.distributed.tensor import distribute_tensor

    mine = full.to(like.device)
    return distribute_tensor(mine, like.device_mesh, like.placements, src_data_rank=None)  # all have it


@torch.no_grad()
def clip_norm(parameters: Iterable[Tensor], most: float) -> None:
    """Scale gradients, in parts or whole, so that their joint norm is at most `most`."""
    gradients = [each.grad for each in parameters if each.grad is not None]
    if gradients:
        norms = [whole(gradient.norm()).cpu() for gradient in gradients]
        factor = most / (float(torch.stack(norms).norm()) + 1e-6)
        for gradient in gradients if factor < 1 else ():
            gradient *= factor


def check_sharded(model: nn.Module, half: torch.dtype | None, processes: int) -> None:
    """Refuse what cannot be done with a network in parts."""
    if half == torch.float16:
        raise SettingsError(
            "float16 scales losses by what each process sees, which a sharded network cannot: use "
            "precision='bf16', or the MixedPrecisionPolicy of fully_shard"
        )
    sizes = {each.device_mesh.size() for each in model.parameters() if is_part(each)}  # type: ignore[attr-defined]
    if sizes != {processes}:
        raise SettingsError(
            f"the network is sharded over {' and '.join(map(str, sorted(sizes)))} of {processes} processes: "
            "give fully_shard a mesh of all of them"
        )
