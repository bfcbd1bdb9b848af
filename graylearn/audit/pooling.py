"""What several independent views say of each sample: opinions pooled in one, and evidence for "no class".

The views are the network's (held-out or history), the neighbours' votes, kernel ridge left one out, and
trimmed class centres. They fail on different samples and on different data, so their average, weighted by
how likely it makes the labels, ranks better than any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from graylearn.audit.centroids import centre_cosine, centre_distance
from graylearn.audit.kernel import landmark_features, leave_one_out
from graylearn.audit.neighbours import neighbours, smooth_vote, vote

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIN_CLASSES_FOR_CENTRES = 4
"""With two or three classes, which are wide, one centre each says little: pooled there it costs .03 of
average precision on the design cells; with four and more it gains .01 and .03 of F1."""
PRIOR = 0.02
"""What each view keeps of the pool even if the labels do not ask for it."""
SHARPNESS = (2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)
ROWS_PER_COLUMN = 10
"""Distances to class centres are evidence only where there are so many samples a feature; with fewer, a
centre lies closer to the samples it was made from than to others of its class."""


@dataclass(frozen=True)
class Pooled:
    """What the views say of N samples."""

    probabilities: Floats
    """(N, K) class probabilities, the mean of the opinions by their weights."""
    opinions: dict[str, Floats]
    """(N, K) class probabilities of each view."""
    weights: dict[str, float]
    """Share of each view in the pool."""
    no_class: dict[str, Floats]
    """(N,) standardised columns by name, larger = less likely to belong to any class."""


def entropy(probability: Floats) -> Floats:
    """Entropy of each row, in nats."""
    p = np.clip(probability, 1e-12, 1.0)
    return np.asarray(-(p * np.log(p)).sum(axis=1))


def standardised(columns: Floats) -> Floats:
    """Columns of mean 0 and spread 1, cut at 4 spreads; a constant column becomes zeros."""
    spread = columns.std(axis=0)
    centred = columns - columns.mean(axis=0)
    return np.asarray(np.clip(centred / np.where(spread > 1e-9, spread, np.inf), -4.0, 4.0))


def soft_centres(similarity: Floats, label: Ints) -> Floats:
    """Class probabilities from cosines to class centres, as sharp as makes the labels most likely."""
    rows = np.arange(len(label))
    candidates = [softmax(s * similarity, axis=1) for s in SHARPNESS]
    return np.asarray(max(candidates, key=lambda p: float(np.log(p[rows, label] + 1e-12).sum())))


def pool_weights(views: Floats, label: Ints) -> Floats:
    """(M,) shares under which the mean of the views (M, N, K) makes the labels most likely (EM)."""
    of_label = views[:, np.arange(len(label)), label] + 1e-12
    weight = np.full(len(views), 1.0 / len(views))
    for _ in range(100):
        part = weight[:, None] * of_label
        part /= part.sum(axis=0)
        weight = part.mean(axis=1) + PRIOR
        weight /= weight.sum()
    return weight


def pool(
    network: Floats, label: Ints, features: NDArray[np.float32] | None, *, held_out: bool = True
) -> Pooled:
    """Pool the network's probabilities (N, K) with what the features (N, D), where given, say themselves.

    A network that has seen the labels (`held_out` false) would win every comparison by having learnt them;
    it gets an even share instead.
    """
    n, num_classes = network.shape
    scale = np.log(max(num_classes, 2))
    if features is None or features.shape[1] == 0 or n < 2:
        unsure = standardised(entropy(network)[:, None] / scale)[:, 0] if n else np.zeros(0)
        return Pooled(network, {"network": network}, {"network": 1.0}, {"entropy": unsure})
    index, distance = neighbours(features)
    share = vote(index, label, num_classes)
    cosine = centre_cosine(features, label, num_classes)
    opinions = {
        "network": network,
        "neighbours": smooth_vote(share),
        "kernel": leave_one_out(landmark_features(features), label, num_classes),
    }
    if num_classes >= MIN_CLASSES_FOR_CENTRES:
        opinions["centre"] = soft_centres(cosine, label)
    views = np.stack(list(opinions.values()))
    if held_out:
        weights = pool_weights(views, label)
    else:
        even = 1.0 / len(views)
        weights = np.concatenate([[even], (1.0 - even) * pool_weights(views[1:], label)])
    pooled = np.tensordot(weights, views, axes=1)
    columns = {
        "entropy": entropy(pooled) / scale,
        "vote_entropy": entropy(share),
        "neighbour_distance": np.log(distance.mean(axis=1) + 1e-9),
    }
    if n >= ROWS_PER_COLUMN * features.shape[1]:
        nearest = centre_distance(features, label, num_classes).min(axis=1)
        columns |= {"centre_cosine": -cosine.max(axis=1), "centre_distance": np.log(nearest + 1e-9)}
    evenly = standardised(np.stack(list(columns.values()), axis=1))
    return Pooled(
        pooled,
        opinions,
        {name: float(weight) for name, weight in zip(opinions, weights, strict=True)},
        dict(zip(columns, evenly.T, strict=True)),
    )
