"""Files that are whole or not there; their checksums; locks that go with their process."""

import errno
import glob
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

if sys.platform != "win32":
    import fcntl  # on Windows nobody can be asked whether he still writes, so leftovers stay there


_SHORT = re.compile(r"\d+ requested and \d+ written")
"""What numpy says where there is no room for all of an array."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; on success it takes the place of `path`, on failure it is gone.

    The name is new each time, so two processes that write the same file do not write into each other's. What
    a process that was killed left of the same file is removed.
    """
    _make_place(path)
    for left in path.parent.glob(f".{glob.escape(path.name)}.????????.partial"):
        _remove_if_left(left)
    partial, handle = _begun(path)
    if sys.platform == "win32":
        os.close(handle)  # it moves no file that is open
    try:
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
        if sys.platform != "win32":
            os.close(handle)
        partial.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raise now what `replacing` would raise once there is something to write; nothing is written."""
    _make_place(path)
    partial, handle = _begun(path)
    os.close(handle)
    partial.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Give a folder beside `path` to make and fill; `replacing` for folders, of one process at a time."""
    partial = path.with_name(f".{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        yield partial
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.rename(path)
    except OSError as error:
        if error.filename == str(partial):
            error.filename = str(path)
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """A text file in UTF-8, whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_array(path: Path, values: np.ndarray) -> None:
    """A .npy file, whole or not at all."""
    with replacing(path) as partial, partial.open("wb") as file:
        np.save(file, values)


def _make_place(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)


def _begun(path: Path) -> tuple[Path, int]:
    """(an empty file beside `path`, its handle), locked as long as the handle is open."""
    while True:
        partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
        try:
            handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        except OSError as error:
            error.filename = str(path)  # the other is a file that nobody knows
            raise
        if _locked(handle) is not False and os.fstat(handle).st_nlink:
            return partial, handle
        os.close(handle)  # somebody took it for left, in the moment before it was locked
        partial.unlink(missing_ok=True)


def _remove_if_left(partial: Path) -> None:
    """Remove a file that no living process writes."""
    with suppress(OSError):
        handle = os.open(partial, os.O_RDWR)
        try:
            if _locked(handle):
                partial.unlink(missing_ok=True)
        finally:
            os.close(handle)


def _locked(handle: int) -> bool | None:
    """Whether the file could be locked; None where the system, or its disk, has no locks."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


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
