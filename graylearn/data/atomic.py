"""Files that are whole or not there, their checksums and locks; arrays of an .npz, without pickles."""

import errno
import glob
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from graylearn.errors import DataError
from graylearn.paths import Limit

DAY = 86_400.0
"""Seconds from which on nobody writes to what was begun any more."""
_SHORT = re.compile(r"\d+ requested and \d+ written")
"""What numpy says where there is no room for all of an array."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; on success it takes the place of `path`, on failure it is gone.

    Its name is new each time, so two processes that write the same file do not write into each other's, and
    ends as that of `path` does, which tells formats what to write. The permissions of a file that is replaced
    stay.
    """
    partial = _partial(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_left(path, DAY)
        partial.touch(exist_ok=False)
        restrict(partial, before=path)
        yield partial
        flush(partial)  # on the disk before the name points at it, also after a power cut
        partial.replace(path)
    except OSError as error:  # a full disk does not say what did not fit, or names a file that nobody knows
        if error.errno is None and _SHORT.fullmatch(str(error)):
            raise OSError(errno.ENOSPC, f"no room for all of it: {error}", str(path)) from error
        if error.errno is not None and error.filename in (None, str(partial)):
            error.filename = str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


def check_place(path: Path) -> None:
    """Raise now what `replacing` would raise where a file cannot be made; nothing is left there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        partial.touch(exist_ok=False)
    except OSError as error:
        error.filename = str(path)  # the other is a file that nobody knows
        raise
    partial.unlink()


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Give a folder beside `path` to fill; `replacing` for folders, of one process at a time.

    The old one is renamed before the new one is: what a kill between them left is put right by `settle`, with
    which the next one begins. So the old or the new one is there, whole.
    """
    settle(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        partial.mkdir()
        restrict(partial, before=path)
        yield partial
        if path.is_dir():
            path.rename(_old(path))
        elif path.is_file():
            path.unlink()
        partial.rename(path)
    except OSError as error:
        if error.filename == str(partial):
            error.filename = str(path)
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        settle(path)


def settle(path: Path) -> None:
    """Put right what a process left that was killed while it replaced this folder."""
    old = _old(path)
    if old.is_dir() and not old.is_symlink():
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(path)
    remove_left(path)


def remove_left(path: Path, seconds: float = 0.0) -> None:
    """Remove what killed processes began beside a file or folder: all of it where no other is writing it, as
    whoever holds its lock knows, else what is so old."""
    for left in path.parent.glob(f".graylearn-*{glob.escape(path.name)}"):
        if not re.fullmatch(rf"\.graylearn-[0-9a-f]{{8}}-{re.escape(path.name)}", left.name):
            continue
        with suppress(OSError):
            if time.time() - left.stat().st_mtime < seconds:
                continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def standing(path: Path) -> Path:
    """The folder to read: itself, or the one before it where a process was killed between their names."""
    return path if path.exists() or not _old(path).is_dir() else _old(path)


def _old(path: Path) -> Path:
    return path.with_name(f".graylearn-old-{path.name}")


def _partial(path: Path) -> Path:
    return path.with_name(f".graylearn-{secrets.token_hex(4)}-{path.name}")


def restrict(path: Path, like: int = -1, before: Path | None = None) -> None:
    """Take from a file or folder the permissions that `like` does not have, or that what it replaces has not.

    What is replaced may be of the other kind.
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    if before is not None and before.exists():
        there = stat.S_IMODE(before.stat().st_mode)
        mode = there if before.is_dir() == path.is_dir() else mode & there
    mode = mode & like | stat.S_IRUSR | stat.S_IWUSR
    if path.is_dir():
        mode = mode & ~0o111 | (mode & 0o444) >> 2  # what may be listed may be entered
    if mode != stat.S_IMODE(path.stat().st_mode):
        path.chmod(mode)


def write_text(path: Path, text: str) -> None:
    """A text file in UTF-8, whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """A JSON file for people too."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def flush(path: Path) -> None:
    """Have what was written to a file on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def signature(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file, which tell whether its bytes are still those that were written."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def checksum(content: dict[str, Any]) -> str:
    """SHA-256 of what a JSON file holds."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@contextmanager
def alone(lock: Path, taken: Exception) -> Iterator[None]:
    """Hold a lock file, or raise `taken` where somebody else does; it goes with the process that holds it."""
    held = FileLock(lock, timeout=0)
    try:
        held.acquire()
    except Timeout:
        raise taken from None
    try:
        yield
    finally:
        with suppress(OSError):  # Windows keeps a file that is open, as this one is while it is held
            lock.unlink(missing_ok=True)
        held.release()


OWN = 1 << 26
"""Bytes that a file written by this package may always unpack to; see `Limit`."""


def read_arrays(
    path: Path, names: Iterable[str] | None = None, *, bare: str | None = None, always: int | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name, those in `names` or all; of an .npy file its one, called `bare`.

    Nothing in the file is executed; `always` is that of `Limit`. OSError where it cannot be opened,
    ValueError where it is damaged, holds Python objects, lacks a name, unpacks to too much, or is an .npy
    file and `bare` is None.
    """
    with path.open("rb") as file:  # numpy leaves a damaged archive that it opened itself open
        try:
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                Limit(path, always=always).take(sum(each.file_size for each in loaded.zip.infolist()))
                return {name: loaded[name] for name in (loaded.files if names is None else names)}
        except (OSError, DataError):
            raise
        except Exception as error:  # zip, its compressions and numpy's header each fail in ways of their own
            if "allow_pickle" in str(error):  # advice that runs whatever a stranger's file says
                raise ValueError(
                    "it is no file of numpy's, or holds Python objects: save texts as .astype(str) makes them"
                ) from error
            raise ValueError(str(error)) from error
    if bare is None:
        raise ValueError("it holds one array without a name")
    return {bare: loaded}
