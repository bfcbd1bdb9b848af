"""Paths as people give them; nothing here imports torch, so that a wrong one is told at once."""

import os
import re
from pathlib import Path

from graylearn.errors import DataError

UNPACKED, RATIO = 1 << 30, 200
"""Bytes that a compressed file may always unpack to, and how many times its own size beyond that."""


def existing(given: str | os.PathLike[str]) -> Path:
    """The path of data that is there; standard input and addresses are refused, with what to do instead."""
    path, text = Path(given), str(given)
    is_address = re.match(r"[A-Za-z][A-Za-z\d+.-]+:/", text) is not None  # a drive has one letter
    if is_address or (text == "-" and not path.exists()):
        what = f"{text}, an address," if is_address else "standard input"
        raise DataError(f"{what} is not read: save the data to a file and give that")
    if not path.exists():
        raise DataError(f"{path} does not exist")
    return path


def most_unpacked(path: Path, always: int | None = None) -> int:
    """Bytes that a compressed file may unpack to: more is no data but meant to fill the memory.

    So many are `always` allowed, by default UNPACKED, which files of our own do not need. The environment
    variable GRAYLEARN_MAX_UNPACKED sets another limit. Text that is compressed well has a twentieth of its
    size.
    """
    told = os.environ.get("GRAYLEARN_MAX_UNPACKED", "")
    least = UNPACKED if always is None else always
    return int(told) if told.isdecimal() else max(least, RATIO * path.stat().st_size)


def too_large(limit: int) -> str:
    """What to say of a file that unpacks to more."""
    return f"it unpacks to more than {limit:,} bytes; set GRAYLEARN_MAX_UNPACKED to allow as many as it needs"
