"""Files that are whole or not there; their checksums; locks that go with their process."""

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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
        flush(partial)  # on the disk before the name points at it, also after a power cut
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


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
