"""Files that are either whole or not there: written under another name, flushed, then moved into place."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
