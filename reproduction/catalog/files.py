"""Finding a dataset's files under a data folder, also some folders down."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graylearn.data.formats import COMPRESSIONS
from graylearn.data.samples import Samples
from graylearn.errors import DataError

DEPTH = 3
"""How many levels of folders are looked into, the data folder being the first."""
PACKED = ("", *COMPRESSIONS)
"""Endings under which a CSV may be compressed."""
NO_FOLDER = "no data folder: pass one (--data FOLDER) or set the environment variable GRAYLEARN_DATA"


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder given, else the one the environment variable GRAYLEARN_DATA names."""
    chosen = os.fspath(folder) if folder is not None else os.environ.get("GRAYLEARN_DATA", "")
    if not chosen:
        raise DataError(NO_FOLDER)
    return Path(chosen).expanduser()


@dataclass(frozen=True)
class Found:
    """A dataset that was found."""

    where: Path | None
    """The file or folder it is read from; None for one that scikit-learn carries."""
    form: str
    """"published" as its publisher ships it, "npz" or "scikit-learn"."""
    read: Callable[[Any], Samples]
    """Read a part of an image set, or a table by a protocol, into memory."""


class Finder:
    """The files and folders under a data folder, looked up by name; nearest to the top first."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self._files: dict[str, list[Path]] = {}
        self._folders: dict[str, list[Path]] = {}
        if root is not None and root.is_dir():
            self._folders[root.resolve().name] = [root]
            level = [root]
            for _ in range(DEPTH):
                level = [folder for parent in level for folder in self._scan(parent)]

    def _scan(self, parent: Path) -> list[Path]:
        """Note what lies in a folder; return the folders among it."""
        folders = []
        for name, path, is_folder in _entries(parent):
            (self._folders if is_folder else self._files).setdefault(name, []).append(path)
            if is_folder:
                folders.append(path)
        return folders

    def file(self, *names: str) -> Path | None:
        """The first file that has one of these names, itself or compressed."""
        for name in names:
            for ending in PACKED:
                if found := self._files.get(name + ending):
                    return found[0]
        return None

    def folder(self, *names: str) -> Path | None:
        """The first folder that has one of these names."""
        for name in names:
            if found := self._folders.get(name):
                return found[0]
        return None

    def beside(self, *names: str) -> tuple[Path, ...] | None:
        """Files of all these names (or compressed) that lie in one folder."""
        for first in (path for ending in PACKED for path in self._files.get(names[0] + ending, [])):
            others = [_packed(first.parent / name) for name in names[1:]]
            if all(others):
                return (first, *(other for other in others if other))
        return None


def _packed(path: Path) -> Path | None:
    """The path, or the same with a compressed ending, whichever is there."""
    candidates = (path.with_name(path.name + ending) for ending in PACKED)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _entries(folder: Path) -> Iterator[tuple[str, Path, bool]]:
    """Names in a folder in a stable order; a folder that may not be read counts as empty."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if not entry.name.startswith("."):
            yield entry.name, Path(entry.path), entry.is_dir()
