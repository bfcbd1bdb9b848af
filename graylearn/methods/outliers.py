"""Which samples lie outside their own class: local outlier factors by class, and what follows from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import LocalOutlierFactor

LARGEST_FACTOR = 10.0
"""Repeated features have unbounded density, and a neighbour of them a factor of millions: ten times
thinner than the neighbours is as far outside as a sample can be."""


def class_outlier_factors(
    features: NDArray[np.float32], targets: NDArray[np.int64], neighbours: int, neighbour_share: float
) -> NDArray[np.float64]:
    """The local outlier factor (cosine) of each sample among those of its label, (N,); 1 is inside.

    `neighbours` are shrunk to `neighbour_share` of the class; a class of one or two has no outliers.
    """
    factors = np.ones(len(targets))
    for label in np.unique(targets):
        members = np.flatnonzero(targets == label)
        if len(members) < 3:
            continue
        count = min(neighbours, round(neighbour_share * (len(members) - 1)))
        lof = LocalOutlierFactor(n_neighbors=max(count, 1), metric="cosine").fit(features[members])
        factors[members] = np.minimum(-lof.negative_outlier_factor_, LARGEST_FACTOR)
    return factors


def suspect_worst(
    score: NDArray[np.float32], targets: NDArray[np.int64], share: float
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Suspect the `share` of each class with the largest scores, and weigh the suspects; both (N,).

    With b the largest score of a class that is not suspected and m its largest of all, a suspect of
    score s weighs (m - s) / (m - b): little outside costs little, and the worst counts nothing.
    """
    suspected = np.zeros(len(targets), dtype=bool)
    weight = np.ones(len(targets))
    for label in np.unique(targets):
        members = np.flatnonzero(targets == label)
        of_class = score[members].astype(np.float64)
        ranked = np.sort(of_class)
        inside = len(members) - int(share * len(members))
        border = ranked[inside - 1] if inside else ranked[0]
        outside = members[of_class > border]
        suspected[outside] = True
        weight[outside] = (ranked[-1] - score[outside]) / (ranked[-1] - border)
    return suspected, weight
