"""An order of samples that depends on what they are, and not on where they stood."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_BYTES = 1 << 22


def canonical_order(
    x: NDArray[Any], y: NDArray[np.int64], also: NDArray[Any] | None = None
) -> NDArray[np.int64]:
    """(N,) the samples by a number made of x (N, ...), then by label y, then by one made of `also` (N, ...).

    Samples that are alike in all of it stay as they were given. Batches and folds are drawn from this order,
    so that the same set in any order gives the same model and the same verdicts.
    """
    keys = [y, row_numbers(x)]
    if also is not None:
        keys.insert(0, row_numbers(also))
    return np.lexsort(keys)


def text_numbers(texts: Iterable[Any]) -> NDArray[np.uint64]:
    """(N,) a number for each value, the same where they are the same text."""
    plain = [str(each).encode("utf-8", "surrogatepass").decode("latin-1") for each in texts]
    return np.asarray(pd.util.hash_array(np.array(plain, dtype=object), categorize=False), dtype=np.uint64)


def row_numbers(x: NDArray[Any]) -> NDArray[np.uint64]:
    """(N,) a number for each row, the same for the same values wherever the row stands."""
    values = x.reshape(len(x), int(np.prod(x.shape[1:])))
    draw = np.random.default_rng(0).integers(1, 1 << 63, size=values.shape[1], dtype=np.uint64)
    factors = draw | np.uint64(1)
    number = np.empty(len(values), dtype=np.uint64)
    step = max(1, _BYTES // (8 * values.shape[1] + 1))
    for start in range(0, len(values), step):
        part = np.ascontiguousarray(values[start : start + step])
        if part.dtype.kind == "f":
            part = part.astype(np.float64) if part.dtype.itemsize > 8 else part
            part = (part + part.dtype.type(0)).view(f"u{part.dtype.itemsize}")  # -0.0 is 0.0
        mixed = part.astype(np.uint64) * factors
        number[start : start + step] = (mixed ^ (mixed >> np.uint64(29))).sum(axis=1)
    return number
