"""Samples dealt to folds, each of which models are asked about that did not see it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graylearn.array_types import Floats, Ints
from graylearn.data.groups import in_order, label_of_groups


def stratified_folds(label: Ints, folds: int, repeats: int, seed: int, group: Ints | None = None) -> Ints:
    """(repeats, N) which fold each sample is held out in; every class is dealt round the folds.

    group: (N,) where samples belong together; those of one are held out together, by their usual label.
    """
    if group is not None:
        group = in_order(group)
        return stratified_folds(label_of_groups(group, label), folds, repeats, seed)[:, group]
    random = np.random.default_rng(seed)
    fold = np.empty((repeats, len(label)), dtype=np.int64)
    for row in fold:
        dealt = 0  # goes on from class to class, so that folds stay even where classes are tiny
        for k in np.unique(label):
            members = random.permutation(np.flatnonzero(label == k))
            row[members] = (np.arange(len(members)) + dealt) % folds
            dealt += len(members)
    return fold


def held_out_rows(fold: Ints, folds: int) -> list[Ints]:
    """The samples that each of repeats x folds networks must not learn from; fold: (repeats, N)."""
    return [np.flatnonzero(row == f) for row in fold for f in range(folds)]


def sum_by_sample(held: Sequence[Ints], said: Sequence[Floats], n: int) -> Floats:
    """(N, K) what the networks said of the samples held out from them, (n, K) each, summed over repeats."""
    total = np.zeros((n, said[0].shape[1]))
    for rows, probability in zip(held, said, strict=True):
        total[rows] += probability[: len(rows)]
    return total
