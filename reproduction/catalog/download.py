"""Downloading: checksummed, and all of a dataset or nothing; what a cut connection left is fetched anew."""

from __future__ import annotations

import http.client
import os
import tarfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from graylearn.data.atomic import flush, signature
from graylearn.errors import DataError
from reproduction.catalog.entries import CATALOG, Entry, RemoteFile, find_entry
from reproduction.catalog.files import data_folder

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes there are so far and the bytes there will be."""

CHUNK = 1 << 18
TIMEOUT = 30.0
"""Seconds without a byte after which a server is given up."""


def download(
    name: str, folder: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> Path:
    """Fetch a dataset of the catalog into the data folder and return that folder; what is there is kept."""
    entry = find_entry(name)
    if not entry.downloadable:
        fetchable = ", ".join(other.name for other in CATALOG.values() if other.downloadable)
        raise DataError(
            f"{entry.title} cannot be downloaded from here; get it at {entry.source} and put "
            f"{', '.join(entry.files)} into the data folder (to be downloaded: {fetchable})"
        )
    return fetch_entry(entry, data_folder(folder), progress)


def fetch_entry(entry: Entry, folder: Path, progress: Progress | None = None) -> Path:
    """Fetch and unpack every file of an entry that is not in the folder yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for remote in entry.downloads:
        target = folder / (remote.unpacks_to or remote.name)
        if target.is_file():
            _check(target, remote)
        if target.exists():
            continue
        with TemporaryDirectory(dir=folder, prefix=".download-") as temporary:
            path = Path(temporary) / remote.name
            _fetch(remote, path, progress)
            (path if remote.unpacks_to is None else _unpacked(path, remote.unpacks_to)).rename(target)
    return folder


def _fetch(remote: RemoteFile, path: Path, progress: Progress | None) -> None:
    request = urllib.request.Request(remote.url, headers={"User-Agent": "graylearn"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response, path.open("wb") as file:
            while chunk := response.read(CHUNK):
                file.write(chunk)
                if progress is not None:
                    progress(file.tell(), remote.size)
    except (OSError, http.client.HTTPException) as error:
        reason = str(getattr(error, "reason", error)) or type(error).__name__
        raise DataError(f"cannot download {remote.url}: {reason}; try again") from error
    _check(path, remote)
    flush(path)


def _unpacked(archive: Path, member: str) -> Path:
    """The folder `member` of a tar archive, unpacked beside it."""
    try:
        with tarfile.open(archive) as tar:
            # Python before 3.11.4 has none, which is why the checksum is looked at first
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(archive.parent)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(f"cannot unpack {archive.name}: {error}") from error
    return archive.parent / member


def _check(path: Path, remote: RemoteFile) -> None:
    """Raise unless the file has the published size and checksum."""
    found = signature(path)
    if found != {"bytes": remote.size, "sha256": remote.sha256}:
        raise DataError(
            f"{path.name} from {remote.url} has {found['bytes']} bytes and SHA-256 {found['sha256']}; "
            f"published are {remote.size} and {remote.sha256}: remove it if it is there, and try again"
        )
