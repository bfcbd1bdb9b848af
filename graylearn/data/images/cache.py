"""Image files decoded once into a memory-mapped uint8 array, so that a second run starts at once.

A cache entry is named by the content of its files, in order, and by the size: moved or copied images find it
again, changed ones do not. So as not to read every byte to find that nothing changed, a small pointer file
remembers the last look at the same paths by their sizes and times; any touch leads back to the content.

Entries are written in a folder of another name and moved into place when whole: a killed run leaves nothing
that could be taken for a cache, and the next run clears away what it left.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from graylearn.data.atomic import flush, write_text
from graylearn.data.images.decode import CHANNELS, UNREAD, decode_all
from graylearn.data.options import ReadOptions
from graylearn.errors import DataError, Hint, SettingsError, are, first_few, warn
from graylearn.paths import default_cache_folder

_FORMAT = 1  # part of every key: raise it when the same files would give other pixels
_PIXELS, _META = "pixels.bin", "meta.json"


class NoImagesError(DataError):
    """None of some images can be read: of a block others may be, of a whole set none are left."""


@dataclass(frozen=True, eq=False)
class CachedImages:
    """Decoded images and which of the given files they are."""

    images: np.ndarray
    """(M, size, size, 3) uint8, memory-mapped and read-only."""
    kept: np.ndarray
    """(M,) int64: the index of each image among the given paths."""
    failed: tuple[tuple[Path, str], ...]
    """(path, reason) of each file that could not be read."""


def cache_images(
    paths: Sequence[str | Path],
    *,
    size: int,
    folder: str | Path | None = None,
    unreadable: Literal["stop", "skip"] = "stop",
    workers: int | None = None,
) -> CachedImages:
    """Decode image files to `size` pixels a side (see `decode_image`), or find them decoded.

    `folder` holds the caches (None: `default_cache_folder()`). `unreadable` "stop" raises a DataError that
    lists every unreadable file, "skip" leaves them out. `workers` is the number of decoding threads: 0
    decodes in this one, None takes one per core.
    """
    if unreadable not in ("stop", "skip"):
        raise SettingsError(f'unreadable is {unreadable!r}; it must be "stop" or "skip"')
    if size < 1:
        raise SettingsError(f"size is {size}; it must be at least 1 pixel")
    if workers is not None and workers < 0:
        raise SettingsError(f"workers is {workers}; it must be 0 or more")
    if not len(paths):
        raise DataError("there are no image files to decode")
    files = [Path(path).absolute() for path in paths]
    workers = _cores() if workers is None else workers
    home = default_cache_folder() if folder is None else Path(folder)
    home.mkdir(parents=True, exist_ok=True)

    entry = _find(home, files, size, workers)
    if entry is None:
        entry = _build(home, files, size, workers)
    return _open(entry, files, size, unreadable)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _find(home: Path, files: list[Path], size: int, workers: int) -> Path | None:
    """The finished entry of these files, by their times or, where those are new, by their content."""
    pointer = home / f"seen-{_look_key(files, size)}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        entry = home / str(json.loads(pointer.read_text())["entry"])
        if _is_whole(entry, size):
            return entry
    # Reading every byte pays only where an entry of as many images could turn out to be the one.
    if not any(home.glob(f"images-{size}-{len(files)}-*")):
        return None
    digests = [found.digest for found in decode_all(files, None, workers, "Hashing images")]
    entry = home / _entry_name(digests, size)
    if not _is_whole(entry, size):
        return None
    _remember(home, files, size, entry, digests)
    return entry


def _build(home: Path, files: list[Path], size: int, workers: int) -> Path:
    """Decode all files into a new entry."""
    _clear_abandoned(home)
    partial = home / f".partial-{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
    partial.mkdir()
    try:
        pixels, digests, failed = partial / _PIXELS, [], []
        with pixels.open("wb") as file:
            for index, found in enumerate(decode_all(files, size, workers, "Decoding images")):
                digests.append(found.digest)
                if found.reason is not None:
                    failed.append((index, found.reason))
                file.write(found.pixels)
        meta = {"format": _FORMAT, "size": size, "count": len(files), "failed": failed}
        (partial / _META).write_text(json.dumps(meta))
        for path in (pixels, partial / _META):
            flush(path)
        entry = home / _entry_name(digests, size)
        if entry.exists() and not _is_whole(entry, size):
            shutil.rmtree(entry)
        try:
            partial.rename(entry)
        except OSError:
            if not _is_whole(entry, size):  # else another process was first: its entry is as good
                raise
        _remember(home, files, size, entry, digests)
        return entry
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _open(entry: Path, files: list[Path], size: int, unreadable: str) -> CachedImages:
    failed_indices = json.loads((entry / _META).read_text())["failed"]
    failed = tuple((files[index], reason) for index, reason in failed_indices)
    if failed and unreadable == "stop":
        shown = first_few([f"{path} ({reason})" for path, reason in failed], 20, "; ")
        raise DataError(
            f"{len(failed)} of {len(files)} images cannot be read: {shown}. Mend or remove them",
            Hint("unreadable", "skip", "to leave them out"),
        )
    if len(failed) == len(files):
        raise NoImagesError(
            f"none of the {len(files)} images can be read; the first is {failed[0][0]} ({failed[0][1]})"
        )
    kept = np.setdiff1d(np.arange(len(files)), [index for index, _ in failed_indices]).astype(np.int64)
    shape = (len(kept), size, size, CHANNELS)
    return CachedImages(np.memmap(entry / _PIXELS, np.uint8, "r", shape=shape), kept, failed)


def _is_whole(entry: Path, size: int) -> bool:
    try:
        meta = json.loads((entry / _META).read_text())
        num_images: int = meta["count"] - len(meta["failed"])
        return (entry / _PIXELS).stat().st_size == num_images * size * size * CHANNELS
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _entry_name(digests: list[str], size: int) -> str:
    key = hashlib.sha256("|".join([str(_FORMAT), str(size), *digests]).encode()).hexdigest()[:40]
    return f"images-{size}-{len(digests)}-{key}"


def _look_key(files: list[Path], size: int) -> str:
    """A key of what can be seen without reading: paths, sizes and times.

    The change time is there because a tool that keeps modification times may put other bytes of the same
    length in place.
    """
    digest = hashlib.sha256(f"{_FORMAT}|{size}".encode())
    for path in files:
        try:
            status = os.stat(path)  # noqa: PTH116 - a third of the time of Path.stat, which counts at a million
            seen = f"{status.st_size}|{status.st_mtime_ns}|{status.st_ctime_ns}"
        except OSError:
            seen = "missing"
        digest.update(f"{path}|{seen}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:40]


def _remember(home: Path, files: list[Path], size: int, entry: Path, digests: list[str]) -> None:
    """Leave a pointer from what the files look like to their entry.

    Not where a file could not be read at all: that may pass (a network, a lock) without it looking different.
    """
    if any(digest.startswith(UNREAD) for digest in digests):
        return
    write_text(home / f"seen-{_look_key(files, size)}.json", json.dumps({"entry": entry.name}))


def _clear_abandoned(home: Path) -> None:
    """Remove what runs on this machine left behind when they were killed."""
    prefix = f".partial-{socket.gethostname()}-"
    for left in home.glob(f"{prefix}*"):
        pid = left.name.removeprefix(prefix).split("-")[0]
        if pid.isdigit() and not _is_alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    if os.name == "nt":  # os.kill would end the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def decode(paths: list[Path], options: ReadOptions) -> CachedImages:
    """The pixels of image files; a warning lists those that cannot be read and are left out."""
    cached = cache_images(
        paths, size=options.size, folder=options.cache, unreadable=options.unreadable, workers=options.workers
    )
    if cached.failed:
        shown = first_few([f"{path} ({reason})" for path, reason in cached.failed], 5, "; ")
        warn(
            f"{len(cached.failed)} of {len(paths)} images cannot be read and {are(len(cached.failed))} "
            f"left out: {shown}"
        )
    return cached
