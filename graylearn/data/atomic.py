"""Files that are whole or not there, and locks that go with the process that holds them."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; on success it takes the place of `path`, on failure it is gone.

    The name is new each time, so two processes that write the same file do not write into each other's.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        with partial.open("rb+") as file:  # on the disk before the name points at it, also after a power cut
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


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
