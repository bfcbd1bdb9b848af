"""Samples that belong together: frames of one video, images of one patient, windows of one recording.

They resemble one another whatever they show, so that one vouches for the label of the other. Groups are kept
as numbers, one per sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from graylearn.data.inputs import as_plain
from graylearn.data.order import text_numbers
from graylearn.data.samples import Samples, numbered
from graylearn.errors import DataError, counted


def group_numbers(groups: Any, n: int, ids: np.ndarray | None = None) -> np.ndarray:
    """(n,) int64 from what the user calls the group of each sample, of any kind.

    By the names alone, so that a group has one number in whatever block of the data it is met. A sample whose
    group is missing stands alone, by its id.
    """
    if isinstance(groups, str):
        raise DataError(f"groups is the text {groups!r}: where it names a column, give the column itself")
    plain = as_plain(groups)
    if isinstance(plain, np.ndarray | pd.DataFrame) and plain.shape[1:] == (1,):  # one column of a table
        plain = plain.iloc[:, 0] if isinstance(plain, pd.DataFrame) else plain[:, 0]
    if isinstance(plain, pd.DataFrame) or not isinstance(plain, Iterable):
        raise DataError(f"groups is {type(groups).__name__}: give one column, a list or an array of names")
    # of a list NumPy would make text of None
    names = plain if isinstance(plain, np.ndarray | pd.Series) else pd.Series(list(plain), dtype=object)
    if names.shape != (n,):
        told = f"groups have shape {tuple(names.shape)} for {counted(n, 'sample')}"
        raise DataError(f"{told}: give one name or number per sample, the same for all that belong together")
    try:
        codes, known = numbered(names)
    except TypeError as error:  # lists, which pandas cannot look up
        raise DataError(f"groups cannot be compared ({error}): give one name or number per sample") from error
    numbers: np.ndarray = np.append(_hashed([f"group {_as_text(name)}" for name in known]), 0)[codes]
    alone = np.flatnonzero(codes < 0)
    numbers[alone] = _hashed([f"sample {row if ids is None else ids[row]}" for row in alone])
    return numbers


def groups_of(groups: Any, x: Any, n: int) -> np.ndarray | None:
    """(N,) the group of each sample: as given, else of Samples; None where each stands alone."""
    if groups is None and isinstance(x, Samples):
        groups = x.groups
    if groups is None:
        return None
    found = group_numbers(groups, n)
    return found if len(np.unique(found)) < n else None


def in_order(groups: np.ndarray) -> np.ndarray:
    """(n,) the same groups, numbered as they come: whatever they were called, the same numbers."""
    return np.asarray(pd.factorize(groups)[0], dtype=np.int64)


def label_of_groups(groups: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(G,) the most frequent label of each group 0..G-1, the first of several."""
    width = int(label.max()) + 1
    pairs, count = np.unique(groups * width + label, return_counts=True)
    by_count = np.lexsort((pairs, -count))
    first = np.unique(pairs[by_count] // width, return_index=True)[1]
    return np.asarray(pairs[by_count][first] % width)


def _as_text(name: Any) -> str:
    """A name as text; beside missing ones whole numbers are read as 7.0."""
    whole = isinstance(name, float | np.floating) and float(name).is_integer()
    return str(int(name)) if whole else str(name)


def _hashed(texts: list[str]) -> np.ndarray:
    """63 bits each: two of a billion texts are one number by chance in one of twenty sets."""
    return (text_numbers(texts) >> np.uint64(1)).astype(np.int64)
