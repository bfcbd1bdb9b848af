"""Arrays into `Samples`: numbers of any shape, images or texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graylearn.data.inputs import as_plain
from graylearn.data.samples import Kind, Label, Samples, encode_labels
from graylearn.errors import DataError, Hint


def samples_from_arrays(
    x: Any,
    y: Any = None,
    *,
    name: str = "the array",
    ids: Any = None,
    classes: Sequence[Label] | None = None,
    labelled: bool = True,
) -> Samples:
    """Samples of an array whose first axis counts them; ids are row numbers from 0 unless given.

    uint8 of shape (N, H, W), (N, H, W, C) or, as torch keeps it, (N, C, H, W) with C of 1 or 3 is kind
    "image"; text is kind "text"; all else is kind "array".
    """
    try:
        values = np.asarray(as_plain(x))
    except ValueError as error:
        raise DataError(f"{name} has rows of different lengths; expected a regular array") from error
    if values.ndim == 0 or values.shape[0] == 0:
        raise DataError(f"{name} holds no samples (shape {values.shape})")
    values, kind = _of_kind(values, name)
    ids = np.arange(len(values)) if ids is None else np.asarray(as_plain(ids))
    if not labelled:
        return Samples(values, np.full(len(values), -1), (), ids, kind)
    if y is None:
        raise DataError(
            f"{name} came without labels;",
            Hint("label", None, "with them"),
            Hint("labelled", False, "for data that has none"),
        )
    raw = as_plain(y)
    if np.ndim(raw) == 0:
        raise DataError(
            f"label is {raw!r}; expected the labels of {name}, or in a file the name of their array"
        )
    if np.ndim(raw) == 2 and np.shape(raw)[1] == 1:
        raw = np.asarray(raw)[:, 0]
    if len(raw) != len(values):
        raise DataError(f"{name} holds {len(values)} samples but there are {len(raw)} labels")
    codes, known = encode_labels(raw, classes)
    return Samples(values, codes, known, ids, kind)


def _of_kind(values: np.ndarray, name: str) -> tuple[np.ndarray, Kind]:
    """The values, rearranged where they must be, and what kind of samples they are."""
    if values.dtype.kind in "UT" or (
        values.dtype == object and values.ndim == 1 and isinstance(values[0], str)
    ):
        if values.ndim != 1:
            raise DataError(f"{name} is text of shape {values.shape}; expected one text a sample")
        texts = np.empty(len(values), dtype=object)
        texts[:] = [str(value) if isinstance(value, np.str_) else value for value in values]
        return texts, "text"
    if values.dtype.kind not in "biuf":
        raise DataError(f"{name} is of type {values.dtype}; expected numbers, uint8 images or texts")
    if values.dtype == np.uint8 and values.ndim == 4:
        if values.shape[3] in (1, 3):
            return values, "image"
        if values.shape[1] in (1, 3):
            return np.ascontiguousarray(np.moveaxis(values, 1, 3)), "image"
    elif values.dtype == np.uint8 and values.ndim == 3:
        return values, "image"
    return values, "array"
