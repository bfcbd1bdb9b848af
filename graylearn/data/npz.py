"""numpy's files, whoever wrote them: plain arrays, or an error that says the file is at fault."""

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.paths import most_unpacked, too_large

UNCHECKED = 1 << 26
"""Bytes that an archive may unpack to whatever its size."""
MOST_TIMES = 100
"""How many times its size a larger one may unpack to, unless GRAYLEARN_UNPACK_TIMES says more."""


def read_arrays(
    path: Path, names: Iterable[str] | None = None, *, bare: str | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name, those in `names` or all; of an .npy file its one, called `bare`.

    Nothing in the file is executed. OSError where it cannot be opened, ValueError where it is damaged, holds
    Python objects, lacks a name, unpacks to too much, or is an .npy file and `bare` is None.
    """
    with path.open("rb") as file:  # numpy leaves a damaged archive that it opened itself open
        try:
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                limit = most_unpacked(path)
                if sum(member.file_size for member in loaded.zip.infolist()) > limit:
                    raise ValueError(too_large(limit))
                _check_sizes(loaded, path)
                return {name: loaded[name] for name in (loaded.files if names is None else names)}
        except (OSError, MemoryError):
            raise
        except Exception as error:  # zip, its compressions and numpy's header each fail in ways of their own
            raise ValueError(str(error)) from error
    if bare is None:
        raise ValueError("it holds one array without a name")
    return {bare: loaded}


def _check_sizes(archive: Any, path: Path) -> None:
    """Refuse, before any of it is unpacked, what would fill the memory from a small file."""
    members = archive.zip.infolist()
    total, times = sum(member.file_size for member in members), os.environ.get("GRAYLEARN_UNPACK_TIMES")
    if total > UNCHECKED and total > float(times or MOST_TIMES) * path.stat().st_size:
        raise ValueError(
            f"it would unpack to {total / 1e6:,.0f} MB, {total / path.stat().st_size:,.0f} times its size; "
            "if you trust it, set GRAYLEARN_UNPACK_TIMES to more than that"
        )
    for member in members:
        with archive.zip.open(member) as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else _read_later_header
            shape, _, kind = read(file)
        if math.prod(shape) * kind.itemsize > member.file_size:
            raise ValueError(f"{member.filename} says it holds {shape} numbers, more than there are")


def _read_later_header(file: Any) -> Any:
    return np.lib.format.read_array_header_2_0(file)
