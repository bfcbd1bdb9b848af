"""Slices: where suspects gather, such as one value of a column, one folder, one month or one annotator.

Every value is tested against the rest (hypergeometric, one-sided), and the probabilities are corrected for
looking at many (Holm): a slice that is told would be told by chance in one of a hundred sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import hypergeom

from graylearn.data.inputs import as_plain
from graylearn.errors import DataError, shortened

LEVEL, LEAST, MOST_VALUES = 0.01, 10, 200
"""The chance of telling one that is none; samples a slice must have; values a column may have."""


def slices(suspected: Any, columns: Any, ids: Any = None) -> pd.DataFrame:
    """One row per slice with more suspects than chance: column, value, samples, suspects, share, p; least p
    first.

    Args:
        suspected: (N,) bools, such as `audit.suspected`.
        columns: a frame of N rows; numbers are cut into quarters, dates into months.
        ids: names of samples, whose folders are slices too.
    """
    flagged = np.asarray(suspected, dtype=bool)
    frame = pd.DataFrame(as_plain(columns)).reset_index(drop=True)
    if len(frame) != len(flagged):
        raise DataError(f"there are {len(flagged)} verdicts for {len(frame)} rows: give one each")
    parts = [(str(name), _values(column)) for name, column in frame.items()]
    if ids is not None:
        folders = [str(name).rpartition("/")[0] for name in np.asarray(ids)]
        if any(folders):
            parts.append(("folder", pd.Series(folders, dtype=object)))
    rows = []
    total, bad = len(flagged), int(flagged.sum())
    for name, values in parts:
        if values is None or not 1 < values.nunique() <= MOST_VALUES:
            continue
        for value, members in values.groupby(values).groups.items():
            inside = np.asarray(members)
            count, hits = len(inside), int(flagged[inside].sum())
            if count >= LEAST:
                p = float(hypergeom.sf(hits - 1, total, bad, count))
                rows.append((name, str(value), count, hits, hits / count, p))
    found = pd.DataFrame(rows, columns=["column", "value", "samples", "suspects", "share", "p"])
    found = found.sort_values("p", kind="stable", ignore_index=True)
    found["p"] = _holm(found["p"].to_numpy(dtype=np.float64))
    return found[found["p"] < LEVEL].reset_index(drop=True)


def sentences(found: pd.DataFrame, share: float, most: int = 3) -> dict[str, tuple[str, str]]:
    """The first slices, for people, each with its column and value; `share`: of suspects in all."""
    return {
        f"suspects gather where {row['column']} is {shortened(row['value'])!r}: {row['suspects']:,} of "
        f"{row['samples']:,} samples, {row['share']:.1%} against {share:.1%} of all": (
            row["column"],
            row["value"],
        )
        for row in found.head(most).to_dict("records")
    }


def _values(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """The values of a column that slices are made of; None where there are too many to be any."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        months: pd.Series[Any] = column.dt.strftime("%Y-%m")
        return months
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(str)
    if pd.api.types.is_numeric_dtype(column.dtype):
        if column.nunique() <= 20:
            return column
        finite = column[column.abs() < np.inf]  # quarters cannot end at infinity
        cut = pd.qcut(column.clip(finite.min(), finite.max()), 4, duplicates="drop")
        return cut.map(lambda part: f"{part.left:.4g} to {part.right:.4g}").astype(object)
    try:
        return column.astype(object) if column.nunique() <= MOST_VALUES else None
    except TypeError:  # lists and the like, which are not alike
        return None


def _holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities in rising order, corrected for how many there are."""
    left = len(p) - np.arange(len(p))
    return np.minimum(np.maximum.accumulate(p * left), 1.0)
