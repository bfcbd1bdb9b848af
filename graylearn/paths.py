"""Paths as people give them; nothing here imports torch, so that a wrong one is told at once."""

import os
import re
from pathlib import Path

from graylearn.errors import DataError


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
