"""Whether classes that are mixed up lie apart: ranks inside the other class, and gaps between two classes.

Where classes overlap, a sample that looks like another class lies between the two. Where people confuse what
looks alike, it lies inside the other class, and there is a gap between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Pair = tuple[int, int]

SPLITS, SHRINKAGE = 3, 0.3
_LEAST = 4
"""Samples of a class in each half below which no gap is seen."""


def inside_rank(probabilities: Floats, label: Ints, best: Ints) -> Floats:
    """(N,) of samples that look like another class: the rank of their label's probability among its members.

    Evenly spread over 0 to 1 where labels are confused, near 1 where samples lie between; NaN for the others.
    """
    rank = np.full(len(label), np.nan)
    member = best == label
    for k in np.unique(best):
        own = np.flatnonzero(member & (best == k))
        others = np.flatnonzero(~member & (best == k))
        if len(own) < 5:
            continue
        for given in np.unique(label[others]):
            rows = others[label[others] == given]
            reference = np.sort(probabilities[own, given])
            below = np.searchsorted(reference, probabilities[rows, given])
            rank[rows] = (below + 0.5) / (len(reference) + 1)
    return rank


def pairs_of(label: Ints, best: Ints) -> list[Pair]:
    """The label of each sample and the class it looks like, the smaller first."""
    low, high = np.minimum(label, best), np.maximum(label, best)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def gaps(
    features: NDArray[np.float32], label: Ints, best: Ints, pairs: set[Pair], num_classes: int
) -> dict[Pair, tuple[float, bool]]:
    """By pair: density half-way over that at the two means, and whether no third class lies between.

    Read along the direction of linear discriminant analysis, which is fitted on one half of the members and
    read on the other, in the mean over three such splits.
    """
    member = np.flatnonzero(best == label)
    random = np.random.default_rng(0)
    x = features.astype(np.float64)
    seen: dict[Pair, list[float]] = {pair: [] for pair in pairs}
    means = np.zeros((num_classes, x.shape[1]))
    for _ in range(SPLITS):
        order = member[random.permutation(len(member))]
        order = order[np.argsort(label[order], kind="stable")]
        fitted, read = order[0::2], order[1::2]
        count = np.bincount(label[fitted], minlength=num_classes)
        centre, white = _discriminant(x[fitted], label[fitted], num_classes)
        means += centre / SPLITS
        along = (x[read] @ white) @ centre.T  # (read, K)
        rows = [np.flatnonzero(label[read] == k) for k in range(num_classes)]
        for one, two in pairs:
            enough = min(count[one], count[two], len(rows[one]), len(rows[two])) >= _LEAST
            side = along[:, one] - along[:, two]
            seen[one, two].append(_half_way(side[rows[one]], side[rows[two]]) if enough else 1.0)
    away = ((means[:, None] - means[None]) ** 2).sum(axis=2)
    present = np.bincount(label, minlength=num_classes) > 0

    def adjacent(one: int, two: int) -> bool:
        between = present & (away[one] + away[two] < away[one, two])
        return not np.delete(between, [one, two]).any()

    return {pair: (float(np.mean(values)), adjacent(*pair)) for pair, values in seen.items()}


def _discriminant(x: Floats, label: Ints, num_classes: int) -> tuple[Floats, Floats]:
    """(K, D) class means in the space where classes are round, and the (D, D) way into it."""
    chosen = np.zeros((num_classes, len(x)))
    chosen[label, np.arange(len(x))] = 1.0
    mean = chosen @ x / np.maximum(chosen.sum(axis=1), 1.0)[:, None]
    offset = x - mean[label]
    spread = offset.T @ offset / max(len(x), 1)
    size = max(float(np.trace(spread)) / x.shape[1], 1e-12)
    spread = (1.0 - SHRINKAGE) * spread + SHRINKAGE * size * np.eye(x.shape[1])
    white = np.linalg.inv(np.linalg.cholesky(spread)).T
    return np.asarray(mean @ white), np.asarray(white)


def _half_way(one: Floats, two: Floats) -> float:
    """Density of both half-way between their means, over the smaller of those at the means."""
    width = 1.06 * max(float(one.std() + two.std()) / 2, 1e-9) * (len(one) + len(two)) ** -0.2
    at = np.array([(one.mean() + two.mean()) / 2, one.mean(), two.mean()])
    density = np.zeros(3)
    for side in (one, two):
        density += np.exp(-0.5 * ((side[:, None] - at) / width) ** 2).mean(axis=0)
    return float(density[0] / max(density[1:].min(), 1e-12))
