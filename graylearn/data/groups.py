"""Samples that belong together: frames of one video, images of one patient, windows of one recording.

They resemble one another whatever they show, so that one vouches for the label of the other. Groups are kept
as numbers, one per sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

from graylearn.data.inputs import as_plain
from graylearn.errors import DataError, counted


def group_numbers(groups: Any, n: int) -> np.ndarray:
    """(n,) int64 from what the user calls the group of each sample, of any kind.

    A sample whose group is missing stands alone.
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
        numbers, known = pd.factorize(names)
    except TypeError as error:  # lists, which pandas cannot look up
        raise DataError(f"groups cannot be compared ({error}): give one name or number per sample") from error
    blank = [number for number, name in enumerate(known) if isinstance(name, str) and not name.strip()]
    alone = np.flatnonzero((numbers < 0) | np.isin(numbers, blank))
    numbers = numbers.astype(np.int64)
    numbers[alone] = n + np.arange(len(alone))
    return numbers


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


def lasting_numbers(names: pd.Series, rows: np.ndarray) -> np.ndarray:
    """(n,) int64 by the names alone, so that a group has one number in whatever block of the data it is met.

    rows: where each sample stands in the data, by which one whose group is missing stands alone.
    """
    codes, known = pd.factorize(names)
    texts = [_as_text(name) for name in known]
    of_names = np.array([*(_hashed(text, b"group") for text in texts), 0])
    numbers = of_names[codes]
    blank = [code for code, text in enumerate(texts) if not text.strip()]
    alone = np.flatnonzero((codes < 0) | np.isin(codes, blank))
    numbers[alone] = [_hashed(str(row), b"row") for row in rows[alone]]
    return numbers


def _as_text(name: Any) -> str:
    """A name as text; beside missing ones whole numbers are read as 7.0."""
    whole = isinstance(name, float | np.floating) and float(name).is_integer()
    return str(int(name)) if whole else str(name)


def _hashed(text: str, of: bytes) -> int:
    """63 bits: two of a billion texts are one number by chance in one of twenty sets."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=of).digest()
    return int.from_bytes(digest, "little") >> 1
