"""Whether classes that are mixed up lie apart: ranks inside the other class, and gaps between two classes.

Where classes overlap, a sample that looks like another class lies between the two. Where people confuse what
looks alike, it lies inside the other class, and there is a gap between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints
from graylearn.audit.blocks import drawn
from graylearn.audit.centroids import round_classes

Pair = tuple[int, int]

SPLITS = 3
CLEAR_GAP, SEPARATED, NO_GAP = 0.3, 0.6, 0.9
"""Density half-way between two classes, over that at their means, up to which a gap counts in full, below
which they are apart, and from which on there is no gap."""
_LEAST, _KNOWN = 4, 0.25
"""Samples of a class in each half below which no gap is seen, and share of a label's samples that look like
it below which none is: views that do not know a class cannot say what is wrong with it."""
_MOST = 5000
"""Further pairs beyond which a class that lies between is held to bridge the two without a look."""


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
) -> dict[Pair, tuple[float, float]]:
    """By pair: density half-way over that at the two means, and the same where a class between bridges them.

    Read along the direction of linear discriminant analysis, which is fitted on one half of the members and
    read on the other, in the mean over three such splits. The second is the largest of the pair's own and of
    those between either and a third class that lies between the two.
    """
    width, between = _read(features, label, best, pairs, num_classes)
    sides = {
        pair: [pair, *((min(end, k), max(end, k)) for k in third for end in pair)]
        for pair, third in between.items()
    }
    asked = {side for pair, each in sides.items() if width[pair] < NO_GAP for side in each} - width.keys()
    if 0 < len(asked) <= _MOST:
        width |= _read(features, label, best, asked, num_classes)[0]
    return {pair: (width[pair], max(width.get(side, 1.0) for side in sides[pair])) for pair in pairs}


def _read(
    features: NDArray[np.float32], label: Ints, best: Ints, pairs: set[Pair], num_classes: int
) -> tuple[dict[Pair, float], dict[Pair, list[int]]]:
    """By pair: density half-way over that at the two means, and the classes whose means lie between."""
    member = np.flatnonzero(best == label)
    every = np.bincount(label, minlength=num_classes)
    present = every > 0
    known = np.bincount(label[member], minlength=num_classes) >= _KNOWN * every
    some = drawn(label[member], num_classes)
    if some is not None:
        features, label = features[member[some]], label[member[some]]
        member = np.arange(len(some))
    random = np.random.default_rng(0)
    x = features.astype(np.float64)
    seen: dict[Pair, list[float]] = {pair: [] for pair in pairs}
    means = np.zeros((num_classes, x.shape[1]))
    for _ in range(SPLITS):
        order = member[random.permutation(len(member))]
        order = order[np.argsort(label[order], kind="stable")]
        fitted, read = order[0::2], order[1::2]
        count = np.bincount(label[fitted], minlength=num_classes)
        centre, whiten = round_classes(x[fitted], label[fitted], num_classes)
        direction = centre @ whiten.T
        means += direction / SPLITS
        first = np.searchsorted(label[read], np.arange(num_classes + 1))  # read is in the order of labels
        for one, two in pairs:
            sizes = (count[one], count[two], *(first[[one + 1, two + 1]] - first[[one, two]]))
            if min(sizes) < _LEAST or not (known[one] and known[two]):
                seen[one, two].append(1.0)
                continue
            along = whiten.T @ (direction[one] - direction[two])
            sides = (x[read[first[k] : first[k + 1]]] @ along for k in (one, two))
            seen[one, two].append(_half_way(*sides))

    def third(one: int, two: int) -> list[int]:
        away = (((means - means[end]) ** 2).sum(axis=1) for end in (one, two))
        inside = present & (sum(away) < ((means[one] - means[two]) ** 2).sum())
        inside[[one, two]] = False
        return np.flatnonzero(inside).tolist()

    return {pair: float(np.mean(values)) for pair, values in seen.items()}, {
        pair: third(*pair) for pair in pairs
    }


def _half_way(one: Floats, two: Floats) -> float:
    """Density of both half-way between their means, over the smaller of those at the means."""
    width = 1.06 * max(float(one.std() + two.std()) / 2, 1e-9) * (len(one) + len(two)) ** -0.2
    at = np.array([(one.mean() + two.mean()) / 2, one.mean(), two.mean()])
    density = np.zeros(3)
    for side in (one, two):
        density += np.exp(-0.5 * ((side[:, None] - at) / width) ** 2).mean(axis=0)
    return float(density[0] / max(density[1:].min(), 1e-12))
