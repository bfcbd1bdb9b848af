"""Cross-fitting: what models say of samples that they did not learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from graylearn.array_types import Floats, Ints
from graylearn.data.groups import in_order, label_of_groups

Model = TypeVar("Model")


def stratified_folds(label: Ints, folds: int, repeats: int, seed: int, group: Ints | None = None) -> Ints:
    """(repeats, N) the fold in which each sample is held out; every class is spread over the folds.

    group: (N,) the group of each sample. Those of one group are held out together, by their usual label.
    """
    if group is not None:
        group = in_order(group)
        return stratified_folds(label_of_groups(group, label), folds, repeats, seed)[:, group]
    random = np.random.default_rng(seed)
    fold = np.empty((repeats, len(label)), dtype=np.int64)
    for row in fold:
        dealt = 0  # goes on from class to class, so that folds stay even if classes are tiny
        for k in np.unique(label):
            members = random.permutation(np.flatnonzero(label == k))
            row[members] = (np.arange(len(members)) + dealt) % folds
            dealt += len(members)
    return fold


def held_out_rows(fold: Ints, folds: int) -> list[Ints]:
    """The samples held out from each of repeats x folds models; fold: (repeats, N)."""
    return [np.flatnonzero(row == f) for row in fold for f in range(folds)]


def cross_fit(
    learner: Callable[[Floats], Iterable[Model]], weights: Floats, held: Sequence[Ints]
) -> Iterator[tuple[Model, Ints]]:
    """(model, rows) for each of the parts `held`: a model that did not learn from these rows.

    learner: weights (models, M) to that many models, trained side by side or one after the other; it learns
    nothing from a row of weight 0. weights: (M,) of all rows.
    """
    left = np.tile(weights, (len(held), 1))
    for own, rows in zip(left, held, strict=True):
        own[rows] = 0.0
    return zip(learner(left), held, strict=True)


def sum_by_sample(said: Iterable[tuple[Ints, Floats]], num_samples: int, num_classes: int) -> Floats:
    """(N, K) the sums of what models say: pairs of rows (n,) and the class probabilities of them (n, K)."""
    total = np.zeros((num_samples, num_classes))
    for rows, probability in said:
        total[rows] += probability
    return total
