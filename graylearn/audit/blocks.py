"""Large sets in parts: how many rows at once, and in which precision what is kept of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 24
"""Values worked on at once: 128 MB in double precision."""
DOUBLE = 1 << 25
"""Values of one array up to which it is in double precision: 256 MB. Beyond, what is kept of all samples is
in single precision: 30,000 samples of 5,000 classes are 600 MB an opinion instead of 1,200."""

LARGE = 200_000
"""Samples beyond which a part is looked at first, and all of them only where it shows something."""
ENOUGH, ENOUGH_OF_CLASS = 50_000, 500
"""Samples that a few numbers a class (its centre, a gap, slopes of a kernel) are found from, and of each
class at least: of larger sets a part drawn at random, by which all are then judged."""


def precision_for(values: int) -> np.dtype[Any]:
    """The type of an array of so many values."""
    return np.dtype(np.float64 if values <= DOUBLE else np.float32)


def row_blocks(rows: int, values_a_row: int) -> Iterator[slice]:
    """All rows, as many at once as hold `BLOCK` values."""
    step = max(1, BLOCK // max(values_a_row, 1))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def sampled_blocks(rows: int, values_a_row: int) -> Iterator[slice]:
    """Blocks of every so many rows, where a number or two is to be chosen: `BLOCK` values or 4,000 rows, and
    no more than are `ENOUGH`."""
    step = math.ceil(rows / min(ENOUGH, max(4_000, BLOCK // max(values_a_row, 1))))
    for part in row_blocks(math.ceil(rows / max(step, 1)), values_a_row):
        yield slice(part.start * step, part.stop * step, step)


def drawn(label: NDArray[np.int64], num_classes: int) -> NDArray[np.int64] | None:
    """Rows enough of each label, and in its share, to say what it is like; None where that is all of them."""
    if len(label) <= ENOUGH:
        return None
    order = np.random.default_rng(0).permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    count = np.bincount(label, minlength=num_classes)
    most = np.maximum(ENOUGH_OF_CLASS, count * ENOUGH // len(label))
    rank = np.arange(len(label)) - np.repeat(np.cumsum(count) - count, count)
    kept = np.sort(order[rank < np.repeat(most, count)])
    return None if len(kept) == len(label) else kept
