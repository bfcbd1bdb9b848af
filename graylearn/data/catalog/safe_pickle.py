"""Reading pickles that hold plain values and NumPy arrays, and nothing that could run code."""

from __future__ import annotations

import codecs
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from graylearn.errors import DataError

_RECONSTRUCT = np.zeros(0).__reduce__()[0]  # what an array's pickle calls, wherever this NumPy keeps it


def _dtype(kind: Any, align: Any = False, copy: Any = False) -> np.dtype[Any]:
    """np.dtype as old pickles call it, with 0 and 1 for the bools that NumPy now insists on."""
    made: np.dtype[Any] = np.dtype(kind, align=bool(align), copy=bool(copy))
    return made


_ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("_codecs", "encode"): codecs.encode,  # how Python 3 writes bytes in the old protocols
}


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler for which only arrays exist."""

    def find_class(self, module: str, name: str) -> Any:
        """The few names an array needs; everything else is refused."""
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which data has no use for") from None


def load_plain_pickle(path: Path) -> dict[str, Any]:
    """The dictionary in a pickle of plain values and arrays; Python 2's text is read as Latin-1."""
    try:
        with path.open("rb") as file:
            content = _PlainUnpickler(file, encoding="latin1").load()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except Exception as error:  # a damaged pickle can raise anything
        raise DataError(f"{path} is damaged or not a dataset: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} holds {type(content).__name__}; expected a dictionary of arrays")
    # Python 3 copies keep their keys as bytes.
    return {key.decode() if isinstance(key, bytes) else key: value for key, value in content.items()}
