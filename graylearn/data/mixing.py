"""Rows and ids of two sets, in-distribution and OOD, laid into one in a given order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from graylearn.errors import DataError

CHUNK = 4096
"""Samples copied at a time."""


def mix_rows(x: Any, ood_x: Any, is_ood: np.ndarray, source: np.ndarray) -> Any:
    """Rows of both sides in the order of the mixture, with the type of x."""
    if isinstance(x, pd.DataFrame):
        return _mix_frames(x, ood_x, is_ood, source)
    mixed = np.empty((len(source), *x.shape[1:]), dtype=x.dtype)
    for start in range(0, len(source), CHUNK):  # by and by, so that a memory map is not held twice
        part = slice(start, start + CHUNK)
        ood, rows = is_ood[part], source[part]
        mixed[part][~ood] = x[rows[~ood]]
        mixed[part][ood] = _converted(ood_x[rows[ood]], x.dtype)
    return mixed


def _mix_frames(x: pd.DataFrame, ood_x: pd.DataFrame, is_ood: np.ndarray, source: np.ndarray) -> pd.DataFrame:
    inside, ood = _shared_categories(x.iloc[source[~is_ood]], ood_x.iloc[source[is_ood]])
    rows = pd.concat([inside, ood] if len(ood) else [inside], ignore_index=True)
    row = np.empty(len(source), dtype=np.int64)
    row[~is_ood] = np.arange(len(inside))
    row[is_ood] = np.arange(len(inside), len(source))
    return rows.iloc[row].reset_index(drop=True)


def _converted(ood_x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """OOD rows in the type of x; whole numbers must survive it."""
    rows = ood_x.astype(dtype, casting="same_kind")
    if dtype.kind in "iu" and not np.array_equal(rows, ood_x):
        raise DataError(
            f"ood_x holds numbers that the type of x, {dtype}, cannot; convert x to {ood_x.dtype}"
        )
    return rows


def _shared_categories(x: pd.DataFrame, ood_x: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both frames with the same categories, else pandas would turn the joined column into objects."""
    x, ood_x = x.copy(deep=False), ood_x.copy(deep=False)
    for column, *dtypes in zip(x.columns, x.dtypes, ood_x.dtypes, strict=True):
        if all(isinstance(dtype, pd.CategoricalDtype) for dtype in dtypes):
            extra = ood_x[column].cat.categories.difference(x[column].cat.categories)
            x[column] = x[column].cat.add_categories(extra)
            ood_x[column] = ood_x[column].astype(x[column].dtype)
    return x, ood_x


def mix_ids(
    ids: np.ndarray | None, ood_ids: np.ndarray | None, is_ood: np.ndarray, source: np.ndarray
) -> np.ndarray:
    """The ids of both sides where both have some of one type and no two are equal, else 0..N-1."""
    rows = np.arange(len(source))
    if ids is None or ood_ids is None or ids.dtype.kind != ood_ids.dtype.kind:
        return rows
    both = np.concatenate([ids[source[~is_ood]], ood_ids[source[is_ood]]])
    if pd.Index(both).has_duplicates:
        return rows
    mixed = np.empty(len(source), dtype=both.dtype)
    mixed[~is_ood], mixed[is_ood] = both[: (~is_ood).sum()], both[(~is_ood).sum() :]
    return mixed
