"""Image files decoded once into a memory-mapped uint8 array, so that a second run starts at once.

A cache entry is named by the paths, sizes and times of its files, in order, and by the size of the pixels. An
entry takes its place when it is whole: a killed run leaves nothing that could be taken for one, and the next
run clears away what it left.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock

from graylearn.data.atomic import flush, replacing_folder
from graylearn.data.images.decode import CHANNELS, decode_all
from graylearn.errors import DataError, SettingsError, are, first_few, warn
from graylearn.paths import default_cache_folder

_FORMAT = 1  # part of every key: raise it when the same files would give other pixels
_PIXELS, _META = "pixels.bin", "meta.json"


class NoImagesError(DataError):
    """None of some images can be read: of a block others may be, of a whole set none are left."""


class CachedImages(NamedTuple):
    """Decoded images and which of the given files they are."""

    images: np.ndarray
    """(M, size, size, 3) uint8, memory-mapped and read-only."""
    kept: np.ndarray
    """(M,) int64: the index of each image among the given paths."""


def cache_images(
    paths: Sequence[str | Path],
    *,
    size: int,
    folder: str | Path | None = None,
    workers: int | None = None,
) -> CachedImages:
    """Decode image files to `size` pixels a side (see `decode_image`), or find them decoded.

    `folder` holds the caches (None: `default_cache_folder()`). A warning lists the files that cannot be read,
    which are left out. `workers` is the number of decoding threads: 0 decodes in this one, None takes one per
    core.
    """
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

    entry = home / _entry_name(files, size)
    if not _is_whole(entry, size):
        with FileLock(home / "decoding.lock"):  # whoever waited finds what the other has made
            if not _is_whole(entry, size):
                _build(entry, files, size, workers)
    return _open(entry, files, size)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _build(entry: Path, files: list[Path], size: int, workers: int) -> None:
    """Decode all files into a new entry; one process at a time."""
    for left in entry.parent.glob(".graylearn-*-images-*"):
        shutil.rmtree(left, ignore_errors=True)
    with replacing_folder(entry) as partial:
        failed, unread = [], False
        with (partial / _PIXELS).open("wb") as file:
            for index, found in enumerate(decode_all(files, size, workers)):
                if found.reason is not None:
                    failed.append((index, found.reason))
                    unread |= found.unread
                file.write(found.pixels)
        meta = {"count": len(files), "failed": failed, "unread": unread}
        (partial / _META).write_text(json.dumps(meta))
        flush(partial / _PIXELS)
        flush(partial / _META)


def _open(entry: Path, files: list[Path], size: int) -> CachedImages:
    failed = dict(json.loads((entry / _META).read_text())["failed"])
    tell_unreadable([f"{files[index]} ({reason})" for index, reason in failed.items()], len(files))
    kept = np.setdiff1d(np.arange(len(files)), list(failed)).astype(np.int64)
    shape = (len(kept), size, size, CHANNELS)
    return CachedImages(np.memmap(entry / _PIXELS, np.uint8, "r", shape=shape), kept)


def tell_unreadable(failed: Sequence[str], count: int, of: str = "") -> None:
    """Warn of images that cannot be read, and refuse if there are no others."""
    if len(failed) == count:
        raise NoImagesError(f"none of the {count} images{of} can be read; the first is {failed[0]}")
    if failed:
        left_out = f"cannot be read and {are(len(failed))} left out"
        warn(f"{len(failed)} of {count} images{of} {left_out}: {first_few(failed, 20, '; ')}")


def _is_whole(entry: Path, size: int) -> bool:
    """Whether the entry can be used; one with a file that could not be opened is made anew, for that may pass
    (a network, a lock) without the file looking different."""
    try:
        meta = json.loads((entry / _META).read_text())
        num_images: int = meta["count"] - len(meta["failed"])
        return not meta["unread"] and (entry / _PIXELS).stat().st_size == num_images * size * size * CHANNELS
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _entry_name(files: list[Path], size: int) -> str:
    """By what can be seen without reading: paths, sizes and times.

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
    return f"images-{size}-{len(files)}-{digest.hexdigest()[:40]}"
