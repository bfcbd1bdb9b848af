"""Samples that are equal: copies are asked about once, and equal rows tell whether columns decide the label.

Copies vouch for one another's labels. A network that is asked about a sample has learned the label of its
copy, and so have neighbours: of wrong labels on digits .98 were found, .82 where 30 % of the digits stood
there twice (benchmarks/copies.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from graylearn.array_types import Ints
from graylearn.data.order import row_numbers

DISTINCT = 0.5
"""Share of different rows that either half of what the columns tell must tell apart: then about one pair is
equal by chance, and fewer the larger the share. Where columns have few values many are, and how many bear
which label is what is known of them (four columns of six words: precision .60, and .30 with equal rows as
one)."""
_OFTEN, _MOST, _CHANCE = 10, 0.5, 1e-3
"""How often a row stands there to be counted, the share of samples in such rows from which on these speak for
all, and the chance below which they are not labelled alike."""
_DIGITS = 3  # of features in spreads, beyond which two rows are equal
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


def decide_labels(features: NDArray[np.float32], label: Ints, num_classes: int) -> bool:
    """Whether the features may decide the label; no where equal rows show that they do not.

    Of passengers of one class, age and sex some survived and some did not. That is no wrong label: were it,
    every kind of passenger that mostly died would count about the same share of survivors. What few columns
    leave open differs from row to row, what annotators get wrong of a class hardly does.
    """
    _, row, often = np.unique(
        row_numbers(np.round(features, _DIGITS)), return_inverse=True, return_counts=True
    )
    kept = often[row] >= _OFTEN
    if kept.sum() <= _MOST * len(label):
        return True
    _, row = np.unique(row[kept], return_inverse=True)
    pairs = np.bincount(row * num_classes + label[kept], minlength=(int(row.max()) + 1) * num_classes)
    count = pairs.reshape(-1, num_classes)
    size, mostly = count.sum(axis=1), count.argmax(axis=1)
    others = size - count.max(axis=1)
    total = np.bincount(mostly, weights=size, minlength=num_classes)
    share = np.bincount(mostly, weights=others, minlength=num_classes) / np.maximum(total, 1)
    mixed = share[mostly] > 0
    expected = (size * share[mostly])[mixed]
    statistic = float(((others[mixed] - expected) ** 2 / (expected * (1.0 - share[mostly][mixed]))).sum())
    free = int(mixed.sum()) - len(np.unique(mostly[mixed]))
    return free < 1 or bool(chi2.sf(statistic, free) >= _CHANCE)
