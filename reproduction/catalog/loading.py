"""`load` a dataset of the catalog, and tell which of them are here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from graylearn.data.samples import Samples
from graylearn.errors import DataError, SettingsError
from reproduction.catalog.entries import CATALOG, Entry, find_entry
from reproduction.catalog.files import NO_FOLDER, Finder, Found, data_folder
from reproduction.catalog.image_files import find_pictures
from reproduction.catalog.images import find_arrays, find_npz
from reproduction.catalog.tables import Protocol, find_table


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


def load(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    split: Literal["train", "test", "all"] = "all",
    protocol: Protocol = "paper",
) -> Samples:
    """Read a dataset of the catalog, however its name is spelled ("CIFAR-10", "cifar10").

    The files lie in `folder`, else in the one that GRAYLEARN_DATA names, some folders down or not. Images are
    split as published, train and test; of tables there is all, read as `protocol` says (`catalog.tables`).
    """
    if protocol not in ("paper", "released"):
        raise SettingsError(f"protocol is {protocol!r}; choose 'paper' or 'released'")
    entry = find_entry(name)
    known = ("all",) if entry.kind == "table" else ("train", "test")
    if split not in known:
        raise SettingsError(f"split of {entry.title} is {split!r}; choose from {', '.join(known)}")
    finder = _finder(folder)
    found = _find(entry, finder)
    if found is None:
        raise DataError(_missing(entry, finder.root))
    return found.read(protocol if entry.kind == "table" else split)


def datasets_table(folder: str | os.PathLike[str] | None = None) -> list[DatasetStatus]:
    """Every dataset of the catalog: whether it is here, its size, licence and where it comes from."""
    finder = _finder(folder)
    return [_status(entry, _find(entry, finder)) for entry in CATALOG.values()]


def _finder(folder: str | os.PathLike[str] | None) -> Finder:
    """Without a data folder nothing is found but what scikit-learn carries."""
    if folder is None and not os.environ.get("GRAYLEARN_DATA"):
        return Finder(None)
    root = data_folder(folder)
    if not root.is_dir():
        raise DataError(f"the data folder {root} is not there")
    return Finder(root)


def _find(entry: Entry, finder: Finder) -> Found | None:
    if entry.kind == "table":
        return find_table(entry.name, finder)
    return (
        find_arrays(entry.name, finder) or find_pictures(entry.name, finder) or find_npz(entry.name, finder)
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
