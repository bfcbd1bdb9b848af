"""`load` a dataset of the catalog, and tell which of them are here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from graylearn.data.samples import Samples
from graylearn.data.splits import train_test_split
from graylearn.errors import DataError, SettingsError
from reproduction.catalog.entries import CATALOG, Entry, find_entry
from reproduction.catalog.files import NO_FOLDER, Finder, Found, data_folder
from reproduction.catalog.image_files import find_pictures
from reproduction.catalog.images import find_arrays, find_npz
from reproduction.catalog.tables import Protocol, find_table

PICTURE_SIZE = 32
"""Side of the pictures of Mini-ImageNet and Tiny-ImageNet as the paper mixes them into CIFAR and SVHN."""


@dataclass(frozen=True)
class DatasetStatus(Entry):
    """One row of the list of datasets: what it is, and whether it is here."""

    present: bool = False
    """Whether `load` finds it."""
    form: str | None = None
    """"published", "npz" or "scikit-learn"; None where it is missing."""
    where: str | None = None
    """The file or folder it is read from; None where it is missing or inside scikit-learn."""

    @property
    def needs(self) -> str:
        """The files to put into the data folder."""
        files = ", ".join(self.files)
        return f"{files} or {self.name}.npz" if self.kind == "image" else files

    def to_json(self) -> dict[str, Any]:
        """The row as `graylearn datasets --json` prints it."""
        names = "name title kind n classes present form where size licence source downloadable needs"
        return {name: getattr(self, name) for name in names.split()}


@overload
def load(
    name: str,
    folder: str | os.PathLike[str] | None = ...,
    *,
    split: Literal["both"] = ...,
    protocol: Protocol = ...,
    seed: int = ...,
    size: int = ...,
) -> tuple[Samples, Samples]: ...
@overload
def load(
    name: str,
    folder: str | os.PathLike[str] | None = ...,
    *,
    split: Literal["train", "test", "all"],
    protocol: Protocol = ...,
    seed: int = ...,
    size: int = ...,
) -> Samples: ...
def load(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    split: Literal["both", "train", "test", "all"] = "both",
    protocol: Protocol = "paper",
    seed: int = 0,
    size: int = PICTURE_SIZE,
) -> Samples | tuple[Samples, Samples]:
    """Read a dataset of the catalog.

    Args:
        name: one of CATALOG, however spelled ("CIFAR-10", "cifar10").
        folder: where the files lie, some folders down or not; else the folder GRAYLEARN_DATA names.
        split: "train", "test", "both" for the pair, or "all" for one set. Images have a published split;
            tables have none and are cut by `train_test_split` with a fifth for test.
        protocol: for tables, "paper" or "released"; see `catalog.tables`.
        seed: for tables, of the split.
        size: for sets of picture files, the side they are scaled to.
    """
    if split not in ("both", "train", "test", "all"):
        raise SettingsError(f"split is {split!r}; choose 'train', 'test', 'both' or 'all'")
    if protocol not in ("paper", "released"):
        raise SettingsError(f"protocol is {protocol!r}; choose 'paper' or 'released'")
    entry = find_entry(name)
    finder = _finder(folder)
    found = _find(entry, finder, size)
    if found is None:
        raise DataError(_missing(entry, finder.root))
    if entry.kind == "table":
        whole = found.read(protocol)
        if split == "all":
            return whole
        train, test = train_test_split(whole, seed=seed)
        return (train, test) if split == "both" else train if split == "train" else test
    if split == "both":
        return found.read("train"), found.read("test")
    return _join(found.read("train"), found.read("test")) if split == "all" else found.read(split)


def available(folder: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """The names of the datasets that `load` finds."""
    return tuple(status.name for status in datasets_table(folder) if status.present)


def datasets_table(folder: str | os.PathLike[str] | None = None) -> list[DatasetStatus]:
    """Every dataset of the catalog: whether it is here, its size, licence and where it comes from."""
    finder = _finder(folder)
    return [_status(entry, _find(entry, finder, PICTURE_SIZE)) for entry in CATALOG.values()]


def _finder(folder: str | os.PathLike[str] | None) -> Finder:
    """Without a data folder nothing is found but what scikit-learn carries."""
    if folder is None and not os.environ.get("GRAYLEARN_DATA"):
        return Finder(None)
    root = data_folder(folder)
    if not root.is_dir():
        raise DataError(f"the data folder {root} is not there")
    return Finder(root)


def _find(entry: Entry, finder: Finder, size: int) -> Found | None:
    if entry.kind == "table":
        return find_table(entry.name, finder)
    return (
        find_arrays(entry.name, finder)
        or find_pictures(entry.name, finder, size)
        or find_npz(entry.name, finder)
    )


def _missing(entry: Entry, root: Path | None) -> str:
    if root is None:
        return f"{entry.title} is not found: {NO_FOLDER}"
    how = "download it" if entry.downloadable else f"get it at {entry.source}"
    return f"{entry.title} is not in {root}: it needs {_status(entry, None).needs}; {how}"


def _status(entry: Entry, found: Found | None) -> DatasetStatus:
    if found is None:
        return DatasetStatus(**vars(entry))
    where = str(found.where) if found.where else None
    return DatasetStatus(**vars(entry), present=True, form=found.form, where=where)


def _join(train: Samples, test: Samples) -> Samples:
    """Both parts as one set; pictures keep their paths as ids, array sets are numbered through."""
    ids = np.concatenate([train.ids, test.ids])
    if train.ids.dtype != object:
        ids = np.arange(len(ids))
    x, y = np.concatenate([train.x, test.x]), np.concatenate([train.y, test.y])
    return Samples(x, y, train.classes, ids, "image")
