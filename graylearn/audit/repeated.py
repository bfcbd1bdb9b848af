"""Copies of samples are asked about once, because they vouch for one another's labels.

A network that is asked about a sample has learned the label of its copy, and so have neighbours: of wrong
labels on digits .98 were found, .82 where 30 % of the digits stood there twice (benchmarks/copies.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Ints
from graylearn.data.order import row_numbers

DISTINCT = 0.5
"""Share of different rows that either half of what the columns tell must tell apart: then about one pair is
equal by chance, and fewer the larger the share. Where columns have few values many are, and how many bear
which label is what is known of them (four columns of six words: precision .60, and .30 with equal rows as
one)."""
_ASKED = 2_000  # rows whose values are counted
_SAME = 1e-4  # spreads: a projection gives the same row another last digit


def asked_once(features: NDArray[np.float32], label: Ints) -> tuple[Ints, Ints]:
    """(M,) the samples to ask about, and (N,) which of these answers for each sample.

    features (N, D) and label (N,) are in the canonical order, in which copies are neighbours. Copies that
    bear different labels are all asked about: they contradict one another.
    """
    begins = np.ones(len(label), dtype=bool)
    if features.shape[1]:
        maybe = 1 + np.flatnonzero(np.abs(np.diff(features[:, 0])) <= _SAME)  # few: the rest costs memory
        begins[maybe] = (np.abs(features[maybe] - features[maybe - 1]) > _SAME).any(axis=1)
    if begins.all() or not _told_apart_by_halves(features[begins]):
        return np.arange(len(label)), np.arange(len(label))
    group = np.cumsum(begins) - 1
    contradicts = np.zeros(group[-1] + 1, dtype=bool)
    contradicts[group[label != label[begins][group]]] = True
    asked = begins | contradicts[group]
    return np.flatnonzero(asked), np.cumsum(asked) - 1


def _told_apart_by_halves(rows: NDArray[np.float32]) -> bool:
    """Whether different rows differ both in the first columns and in the last, with half of the bits each."""
    some = rows[:: max(1, len(rows) // _ASKED)]
    bits = np.cumsum([np.log2(len(np.unique(column))) for column in some.T])
    half = int(np.searchsorted(bits, bits[-1] / 2)) + 1
    return all(
        len(np.unique(row_numbers(part))) >= DISTINCT * len(rows) for part in (rows[:, :half], rows[:, half:])
    )
