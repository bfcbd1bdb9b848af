"""What makes a row of a table odd: the columns in which it lies farthest from the middle of its class."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints
from graylearn.data.encoding.column_kinds import as_numbers, kind_of, split_kind
from graylearn.errors import DataError

ODDEST = 6
"""Columns that are shown first."""
VALUE_LENGTH = 120
"""Characters of one value of a row that are embedded."""
MAX_COLUMNS = 500
"""Columns that are looked at."""
MAX_MIDDLES = 50_000
"""Middles, of a class in a column, up to which they are embedded."""
Classes: TypeAlias = list[tuple[Ints, Ints]]
"""The rows of each class, and those that its middles are made of."""


@dataclass(frozen=True, eq=False)
class OddColumns:
    """How far each row lies from the middle of its class, column by column."""

    names: tuple[str, ...]
    """(C,) the columns."""
    middle: list[list[str]]
    """(K, C) median of the numbers, or commonest value, of each class; empty where it has no samples."""
    oddness: Floats
    """(N, C) distance from the middle of the class in spreads of the class; 0 where nothing can be said."""

    values: list[Any]
    """(C,) the cells of each."""

    def of(self, index: int) -> list[list[Any]]:
        """[column, cell as text] of the oddest columns of a row, the oddest first."""
        row = self.oddness[index]
        order = np.argsort(-row, kind="stable")[:ODDEST]
        return [[int(at), cell_text(self.values[at][index])] for at in order if row[at] > 0]


def odd_columns(
    table: pd.DataFrame, label: Ints, suspected: NDArray[np.bool_], num_classes: int
) -> OddColumns | None:
    """The same for a whole table; middles are of the rows that are not suspected. None for a huge table."""
    table = table.iloc[:, :MAX_COLUMNS]
    if not table.shape[1] or num_classes * table.shape[1] > MAX_MIDDLES:
        return None
    ends = np.cumsum(np.bincount(label, minlength=num_classes))
    members = np.split(np.argsort(label, kind="stable"), ends[:-1])  # not anew in each column
    trusted = [own[~suspected[own]] for own in members]
    classes = [(own, rows if len(rows) else own) for own, rows in zip(members, trusted, strict=True)]
    middles, oddness = [], np.zeros(table.shape, dtype=np.float64)
    for column in range(table.shape[1]):
        values = table.iloc[:, column]
        x = _measured(values)
        middle, oddness[:, column] = _words(values, classes) if x is None else _numbers(x, classes)
        middles.append(middle)
    return OddColumns(
        tuple(map(str, table.columns)),
        [list(row) for row in zip(*middles, strict=True)],
        oddness,
        [table.iloc[:, column].array for column in range(table.shape[1])],
    )


def _measured(values: pd.Series[Any]) -> Floats | None:
    """(N,) the numbers that networks learn of a column, text such as `12,5 %` too; None of any other."""
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        return None  # seconds, which would not stand beside what the rows show
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how text is read was told where it was learned
            kind, writing = split_kind(kind_of(values, str(values.name)))
            return as_numbers(values, str(values.name), writing) if kind == "number" else None
    except (DataError, UnicodeError):
        return None  # lists, halves of characters and the like, of which nothing is learned


def _numbers(x: Floats, classes: Classes) -> tuple[list[str], Floats]:
    x = np.where(np.isfinite(x), np.clip(x, -1e150, 1e150), np.nan)
    known = x[np.isfinite(x)]
    overall = _spread(known) if len(known) else 0.0
    middle, oddness = [], np.zeros(len(x))
    for members, trusted in classes:
        own = x[trusted][np.isfinite(x[trusted])]
        if not len(own):
            middle.append("")
            continue
        centre = float(np.median(own))
        # A class of equal values has no spread of its own: a tenth of the column's keeps the scale sane.
        spread = max(_spread(own), 0.1 * overall)
        middle.append(cell_text(centre))
        oddness[members] = np.abs(x[members] - centre) / spread if spread > 0 else 0.0
    return middle, np.nan_to_num(oddness)


def _spread(x: Floats) -> float:
    """Median distance from the median, as a standard deviation; the standard deviation where that is zero."""
    usual = 1.4826 * float(np.median(np.abs(x - np.median(x))))
    return usual or float(np.std(x))


def _words(values: pd.Series[Any], classes: Classes) -> tuple[list[str], Floats]:
    text = np.array([cell_text(value) for value in values], dtype=object)
    names, codes = np.unique(text, return_inverse=True)
    middle, oddness = [], np.zeros(len(text))
    for members, trusted in classes:
        if not len(trusted):
            middle.append("")
            continue
        share = np.bincount(codes[trusted], minlength=len(names)) / len(trusted)
        middle.append(str(names[share.argmax()]))
        if 2 * len(names) <= len(text):  # else nearly every row has a value of its own, which tells nothing
            oddness[members] = np.log2(share.max() / np.maximum(share[codes[members]], 0.5 / len(trusted)))
    return middle, oddness


def cell_text(value: Any) -> str:
    """A cell as a person would write it."""
    if value is None or value is pd.NA or value is pd.NaT:
        return ""
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{float(value):.6g}"
    if isinstance(value, pd.Timestamp) and value == value.normalize():
        value = value.date()  # a column of dates is read as midnights
    text = str(value)
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"
