"""numpy's files, whoever wrote them: plain arrays, or an error that says the file is at fault."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_arrays(
    path: Path, names: Iterable[str] | None = None, *, bare: str | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name, those in `names` or all; of an .npy file its one, called `bare`.

    Nothing in the file is executed. OSError where it cannot be opened, ValueError where it is damaged, holds
    Python objects, lacks a name, or is an .npy file and `bare` is None.
    """
    with path.open("rb") as file:  # numpy leaves a damaged archive that it opened itself open
        try:
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                return {name: loaded[name] for name in (loaded.files if names is None else names)}
        except (OSError, MemoryError):
            raise
        except Exception as error:  # zip, its compressions and numpy's header each fail in ways of their own
            raise ValueError(str(error)) from error
    if bare is None:
        raise ValueError("it holds one array without a name")
    return {bare: loaded}
