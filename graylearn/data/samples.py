"""`Samples`: what every reader returns, and how raw labels become indices in a list of classes.

Labels are kept as Python values (text, whole numbers, numbers or bools) in one stable order, so that a
model saved today and its predictions next year speak of the same classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from graylearn.errors import DataError, are, first_few, first_line

Label: TypeAlias = str | int | float | bool
"""A class as the user wrote it."""
Kind: TypeAlias = Literal["array", "table", "image", "text"]
"""What one sample is: numbers of any shape, a row of a table, a picture, or a piece of text."""
RANGES = "ranges of the values (pandas.cut(y, 5).astype(str))"
"""What to make of labels that measure something."""
_EXPECTED = "labels are text, numbers or bools: make text of them, as y.astype(str) does"


@dataclass(frozen=True, eq=False, repr=False)
class Samples:
    """N samples with their given labels. Row i of `x`, `y` and `ids` is the same sample.

    ```python
    import numpy as np

    import graylearn as gl

    samples = gl.Samples(np.eye(4), np.array([0, 1, 0, 1]), ("cat", "dog"), np.arange(4), "array")
    samples.class_counts                                    # [2, 2]
    ```
    """

    x: Any
    """np.ndarray (N, ...), pandas.DataFrame of N rows, or a 1-d object array of N str."""
    y: np.ndarray
    """(N,) int64, indices in `classes`; -1 throughout where there are no labels and `classes` is empty."""
    classes: tuple[Label, ...]
    """The labels in stable order; may name classes that no sample has."""
    ids: np.ndarray
    """(N,) what the user calls each sample: row index, file path or line number. No two are equal."""
    kind: Kind
    """"array", "table", "image" (uint8, NHW or NHWC) or "text"."""
    groups: np.ndarray | None = field(default=None, kw_only=True)
    """(N,) int64: samples of one number belong together, such as frames of one video; None: each alone."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise DataError(f"kind is {self.kind!r}; it must be one of {', '.join(get_args(Kind))}")
        n = _checked_length(self.x, self.kind)
        # A frozen dataclass is filled once here with the exact types its fields promise.
        object.__setattr__(self, "classes", plain_classes(self.classes))
        object.__setattr__(self, "y", _checked_y(self.y, self.classes))
        object.__setattr__(self, "ids", np.asarray(self.ids))
        check_unique_ids(self.ids)
        if not n == len(self.y) == len(self.ids):
            raise DataError(f"x has {n} samples, y {len(self.y)} and ids {len(self.ids)}: make them equal")
        if self.groups is not None:
            object.__setattr__(self, "groups", _checked_groups(self.groups, n))

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        labels = f"{self.num_classes} classes ({first_few(self.classes, 5)})" if self.classes else "no labels"
        return f"<{len(self)} Samples of kind {self.kind!r}, shape {self.x.shape}, {labels}>"

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    @property
    def class_counts(self) -> np.ndarray:
        """(K,) how many samples bear each label."""
        return np.bincount(self.y[self.y >= 0], minlength=self.num_classes)

    def take(self, index: Any) -> Self:
        """The samples at `index` (indices, a mask of N bools, or a slice) in that order, with all classes."""
        if not isinstance(index, slice):  # a slice copies nothing
            index = _rows_at(index, len(self))
        return replace(self, **{name: take_rows(getattr(self, name), index) for name in self._per_sample()})

    def _per_sample(self) -> list[str]:
        """The fields that hold something of each sample."""
        names = (each.name for each in fields(self) if each.name not in ("classes", "kind"))
        return [name for name in names if getattr(self, name) is not None]


def take_rows(x: Any, index: Any) -> Any:
    """Rows of an array or a frame; `index` as for an array."""
    return x.iloc[index] if isinstance(x, pd.DataFrame) else x[index]


def joined(parts: Sequence[Samples]) -> Samples:
    """Samples of one kind and the same classes, one after the other."""
    if len(parts) == 1:
        return parts[0]
    names = parts[0]._per_sample()
    return replace(parts[0], **{name: joined_rows([getattr(part, name) for part in parts]) for name in names})


def joined_rows(parts: Sequence[Any]) -> Any:
    """Arrays, or frames of the same columns, one after the other."""
    if not isinstance(parts[0], pd.DataFrame):
        return np.concatenate(parts)
    parts = [part.copy(deep=False) for part in parts if len(part)] or [parts[0]]
    for name in parts[0].columns:
        kinds = {each[name].dtype for each in parts}
        if len(kinds) > 1 and all(isinstance(kind, pd.CategoricalDtype) for kind in kinds):
            known = union_categoricals([each[name] for each in parts], ignore_order=True).categories
            for each in parts:
                each[name] = each[name].cat.set_categories(known)
    return pd.concat(parts, ignore_index=True)


def encode_labels(raw: Any, classes: Sequence[Label] | None = None) -> tuple[np.ndarray, tuple[Label, ...]]:
    """Turn N raw labels into (y, classes): int64 indices, and the labels in their natural order.

    Numbers are ordered by size, text by code point, bools False before True. With `classes` given (those
    of a saved model) their order is kept and a label outside them is an error. A missing label (None, NaN,
    blank text) is an error that names the rows, counted from 0.
    """
    values = _as_label_array(raw)
    _check_one_type(values)
    codes, uniques = numbered(values)
    if len(missing := np.flatnonzero(codes < 0)):
        raise DataError(
            f"{len(missing)} of {len(values)} labels {are(len(missing))} missing "
            f"(row{'s' * (len(missing) > 1)} {first_few(missing, 5)}, counted from 0); fill them in or "
            "leave those rows out"
        )
    labels = [_as_label(value) for value in uniques]
    known = tuple(sorted(labels)) if classes is None else plain_classes(classes)
    indices = {label: index for index, label in enumerate(known)}
    strange = [label for label in labels if label not in indices]
    if strange:
        raise DataError(
            f"labels {first_few(strange, 5)} are not among the {len(known)} known classes "
            f"({first_few(known, 5)}); correct them or leave those rows out"
        )
    index_of = np.array([indices[label] for label in labels], dtype=np.int64)
    return index_of[codes], known


def numbered(values: Any) -> tuple[np.ndarray, list[Any]]:
    """(N,) int64 which of the different values each is, -1 where missing or blank, and these values."""
    codes, found = pd.factorize(values)
    blank = [code for code, value in enumerate(found) if isinstance(value, str) and not value.strip()]
    return np.where(np.isin(codes, blank), -1, codes), list(found)


def _checked_length(x: Any, kind: str) -> int:
    """The number of samples in x, once x is known to be of a type this kind allows."""
    if isinstance(x, pd.DataFrame) and kind == "table":
        return len(x)
    if not isinstance(x, np.ndarray) or not x.ndim:
        raise DataError(f"x of kind {kind!r} is {type(x).__name__}; give a NumPy array, or a frame")
    shown = f"not {x.dtype} of shape {x.shape}"
    if kind == "text":
        if x.ndim != 1 or x.dtype != object:
            raise DataError(f"text must be a 1-d object array of str, {shown}")
        for index, text in enumerate(x):
            if not isinstance(text, str):
                raise DataError(f"text {index} is {type(text).__name__}, not str")
    elif kind == "table" and x.ndim != 2:
        raise DataError(f"a table must have two axes, rows and columns, {shown}")
    elif kind == "image" and (x.dtype != np.uint8 or x.ndim not in (3, 4)):
        raise DataError(f"images must be uint8 (N, height, width) or (N, height, width, channels), {shown}")
    return len(x)


def plain_classes(classes: Iterable[Any]) -> tuple[Label, ...]:
    """The classes as plain Python values, which JSON writes and gives back as they are; no two are equal."""
    labels = tuple(_as_label(label) for label in classes)
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise DataError(f"class {twice!r} is listed twice in classes")
    return labels


def _checked_y(given: Any, classes: tuple[Label, ...]) -> np.ndarray:
    """y as (N,) int64 within the classes, or -1 throughout where there are none."""
    y: np.ndarray = np.asarray(given)
    if y.ndim != 1 or (y.dtype.kind not in "iu" and y.size):
        raise DataError(f"y must be (N,) whole numbers, indices in classes, not {y.dtype} of shape {y.shape}")
    y = y.astype(np.int64, copy=False)
    if not classes:
        if (y != -1).any():
            raise DataError("there are labels but classes is empty; name the classes (see encode_labels)")
        return y
    outside = np.flatnonzero((y < 0) | (y >= len(classes)))
    if len(outside):
        raise DataError(
            f"y has label {y[outside[0]]} at row {outside[0]} but there are {len(classes)} classes "
            f"(0..{len(classes) - 1})"
        )
    return y


def _checked_groups(given: Any, n: int) -> np.ndarray:
    """Groups as (N,) int64."""
    groups: np.ndarray = np.asarray(given)
    if groups.shape != (n,) or (groups.dtype.kind not in "iu" and n):
        raise DataError(
            f"groups must be ({n},) whole numbers, one per sample, not {groups.dtype} of shape {groups.shape}"
        )
    return groups.astype(np.int64, copy=False)


def check_unique_ids(ids: np.ndarray) -> None:
    """Refuse ids that several samples have: an audit must be able to point at one sample."""
    if ids.ndim != 1:
        raise DataError(f"ids must be one value per sample, not an array of shape {ids.shape}")
    twice = np.flatnonzero(pd.Index(ids, dtype=ids.dtype).duplicated())
    if len(twice):
        raise DataError(
            f"id {str(ids[twice[0]])!r} occurs more than once (again at row {twice[0]})"
            "; ids must be unique: use the row numbers if the data has no others"
        )


def _rows_at(index: Any, n: int) -> NDArray[np.int64]:
    """(M,) the rows of n samples that indices or a mask of bools name."""
    given = np.asarray(index)
    try:
        rows: NDArray[np.int64] = np.arange(n)[given if given.size else given.astype(np.int64)]
    except IndexError as error:
        raise DataError(f"the index does not fit {n} samples: {first_line(error)}") from error
    if rows.ndim != 1:
        raise DataError(f"index must be 1-d, not of shape {given.shape}")
    return rows


def _as_label_array(raw: Any) -> np.ndarray:
    """Raw labels as a 1-d array, numbers kept as numbers and everything else as objects."""
    if isinstance(raw, list | tuple):
        # np.asarray would turn [1, "a"] into text and [1, None] into objects: keep what was given.
        values = np.empty(len(raw), dtype=object)
        values[:] = raw
    elif isinstance(raw, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        plain = isinstance(raw.dtype, np.dtype)
        values = np.asarray(raw) if plain else np.asarray(raw, dtype=object)
    else:
        values = np.asarray(raw)
    if values.ndim != 1:
        raise DataError(f"labels must be one value per sample, not an array of shape {values.shape}")
    if values.dtype.kind in "mM":  # nanosecond dates would turn into whole numbers below
        raise DataError(f"labels are of type {values.dtype}; {_EXPECTED}")
    return values if values.dtype.kind in "biuf" else values.astype(object)


def _as_label(value: Any) -> Label:
    """A label as the plain Python value that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"label {value} is not a finite number; correct it or leave its rows out")
    if isinstance(value, str | bool | int | float):
        return value
    raise DataError(f"label {value!r} is {type(value).__name__}; {_EXPECTED}")


def _check_one_type(values: np.ndarray) -> None:
    """Refuse 1 beside "1" or True: which of them are the same class is not ours to guess."""
    if values.dtype != object:
        return
    examples: dict[str, Label] = {}
    for kind in dict.fromkeys(map(type, values)):
        value: Any = next(value for value in values if type(value) is kind)
        if pd.api.types.is_scalar(value) and pd.isna(value):
            continue  # told as missing
        label = _as_label(value)
        word = "text" if isinstance(label, str) else "bools" if isinstance(label, bool) else "numbers"
        examples.setdefault(word, label)
    if len(examples) > 1:
        (one, first), (other, second) = list(examples.items())[:2]
        told = f"{one} ({first!r}) and {other} ({second!r}); make them all text or all numbers"
        raise DataError(f"labels mix {told}")
