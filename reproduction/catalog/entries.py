"""What the catalog knows of each dataset: who made it, its files, size, licence and where it comes from."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graylearn.errors import DataError


@dataclass(frozen=True)
class RemoteFile:
    """A file that can be downloaded from its publisher."""

    url: str
    """Where the publisher serves it."""
    size: int
    """Bytes."""
    sha256: str
    """Checksum of the whole file."""
    unpacks_to: str | None = None
    """The folder a tar archive holds; None for a file that is used as it is."""

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Entry:
    """One dataset of the catalog."""

    name: str
    """What `load` calls it."""
    title: str
    """What people call it."""
    kind: Literal["image", "table"]
    """Pictures, or rows of a table."""
    files: tuple[str, ...]
    """The files or folders its publisher ships, as they must lie in the data folder."""
    n: int
    """Samples in the published files, train and test together."""
    classes: int
    """Classes in the published files."""
    shape: tuple[int, ...]
    """Of one sample: pixels and channels as `load` gives them, or the number of published features."""
    licence: str
    """On what terms it may be used."""
    source: str
    """Where it comes from."""
    size: int | None = None
    """Bytes of the published files, about; None where copies differ."""
    downloads: tuple[RemoteFile, ...] = ()
    """What `download` fetches; empty where the publisher asks for a login or a form."""

    @property
    def downloadable(self) -> bool:
        """Whether `download` can fetch it."""
        return bool(self.downloads)


def _entry(name: str, told: dict[str, Any]) -> Entry:
    remote = tuple(RemoteFile(**each) for each in told.pop("downloads", ()))
    lists: dict[str, Any] = {field: tuple(told.pop(field)) for field in ("files", "shape")}
    return Entry(name, downloads=remote, **lists, **told)


_TOLD = tomllib.loads(Path(__file__).with_name("entries.toml").read_text(encoding="utf-8"))
CATALOG: dict[str, Entry] = {name: _entry(name, told) for name, told in _TOLD.items()}
"""Every dataset of the paper, and Tiny-ImageNet, by name."""


def find_entry(name: str) -> Entry:
    """The entry of a dataset; "CIFAR-10", "cifar_10" and "cifar10" are one name."""

    def plain(text: str) -> str:
        return "".join(letter for letter in text.lower() if letter.isalnum())

    for entry in CATALOG.values():
        if plain(name) == plain(entry.name):
            return entry
    raise DataError(f"there is no dataset {name!r} in the catalog; it has {', '.join(CATALOG)}")
