"""Reading pickles that hold plain values and NumPy arrays, and nothing that could run code.

Arrays are read by stand-ins: NumPy's own believe what a damaged pickle says of its memory, and crash.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from graylearn.errors import DataError


class _Dtype:
    """What a pickle says of the type of an array."""

    def __init__(self, kind: str, align: Any = False, copy: Any = False) -> None:
        if not re.fullmatch(r"[biufSU]\d{1,4}", kind):
            raise ValueError(f"an array of type {kind!r}")
        self.kind, self.order = kind, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1] if state[1] in ("<", ">", "|", "=") else "="


class _Array:
    """An array that comes to be from its bytes alone."""

    value: np.ndarray

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, by_columns, raw = state
        content = raw.encode("latin-1") if isinstance(raw, str) else raw  # Python 2 wrote text
        flat = np.frombuffer(content, np.dtype(dtype.order.strip("|") + dtype.kind))
        self.value = flat.reshape(shape, order="F" if by_columns else "C").copy()


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _encode(text: str, codec: str) -> bytes:
    """Text as bytes, which is how Python 3 writes bytes in the old protocols."""
    if codec not in ("latin1", "latin-1"):
        raise ValueError(f"text in {codec!r}")
    return text.encode("latin-1")


_ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
}


def _plain(value: Any) -> Any:
    """With arrays in place of their stand-ins."""
    if isinstance(value, _Array):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


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
            content = _plain(_PlainUnpickler(file, encoding="latin1").load())
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except Exception as error:  # a damaged pickle can raise anything
        raise DataError(f"{path} is damaged or not a dataset: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} holds {type(content).__name__}; expected a dictionary of arrays")
    # Python 3 copies keep their keys as bytes.
    return {
        key.decode(errors="replace") if isinstance(key, bytes) else key: value
        for key, value in content.items()
    }
