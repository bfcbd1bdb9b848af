"""Every network by name, and the one function that builds them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from graylearn.errors import SettingsError, nearest
from graylearn.nets.base import Net
from graylearn.nets.mlp import MLP
from graylearn.nets.resnet18 import ResNet18
from graylearn.nets.small_cnn import SmallCNN

NETS: dict[str, Callable[..., Net]] = {
    "mlp": MLP,
    "small_cnn": SmallCNN,
    "resnet18": ResNet18,
}
"""Networks by name, each called as net(num_classes, in_shape, **options); add your own by its name."""


def check_name(name: str) -> None:
    """Refuse a name that no network has."""
    if name not in NETS:
        raise SettingsError(f"there is no net {name!r}; {nearest(name, list(NETS), 'the nets are')}")


def make(name: str, num_classes: int, in_shape: Sequence[int], **options: Any) -> Net:
    """Build the network `name` for samples of shape `in_shape`: (C, H, W) for images, (D,) for rows.

    Weights are drawn from torch's global random generator, on the CPU.
    """
    check_name(name)
    if not isinstance(in_shape, Sequence):
        raise SettingsError.wrong("in_shape", in_shape, "the shape of a sample, such as (64,) or (3, 32, 32)")
    known = [
        parameter.name
        for parameter in inspect.signature(NETS[name]).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    if unknown := sorted(set(options) - set(known)):
        raise SettingsError(
            f"the net {name!r} has no option {', '.join(unknown)}: it takes {', '.join(known) or 'none'}"
        )
    return NETS[name](num_classes, in_shape, **options).float()  # whatever torch makes by default
