"""numpy's files, whoever wrote them: plain arrays, or an error that says the file is at fault."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.errors import DataError
from graylearn.paths import Limit

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
