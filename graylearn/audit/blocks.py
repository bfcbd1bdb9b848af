"""Large sets in parts: how many rows at once, and in which precision what is kept of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

BLOCK = 1 << 24
"""Values worked on at once: 128 MB in double precision."""
DOUBLE = 1 << 25
"""Values of one array up to which it is in double precision: 256 MB. Beyond, what is kept of all samples is
in single precision: 30,000 samples of 5,000 classes are 600 MB an opinion instead of 1,200."""


def precision_for(values: int) -> np.dtype[Any]:
    """The type of an array of so many values."""
    return np.dtype(np.float64 if values <= DOUBLE else np.float32)


def row_blocks(rows: int, values_a_row: int) -> Iterator[slice]:
    """All rows, as many at once as hold `BLOCK` values."""
    step = max(1, BLOCK // max(values_a_row, 1))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def sampled_blocks(rows: int, values_a_row: int) -> Iterator[slice]:
    """Blocks of every so many rows, where a number or two is to be chosen: `BLOCK` values or 4,000 rows."""
    step = math.ceil(rows / max(4_000, BLOCK // max(values_a_row, 1)))
    for part in row_blocks(math.ceil(rows / max(step, 1)), values_a_row):
        yield slice(part.start * step, part.stop * step, step)
