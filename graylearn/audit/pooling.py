"""What several independent views say of each sample: opinions pooled in one, and evidence for "no class".

The views are the network's (held-out or history), the neighbours' votes, kernel ridge left one out, and
trimmed class centres. They fail on different samples and on different data, so their average, weighted by
how likely it makes the labels, ranks better than any of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from graylearn.array_types import Floats, Ints
from graylearn.audit.blocks import ENOUGH, precision_for, row_blocks, sampled_blocks
from graylearn.audit.centroids import centre_cosine, centre_distance
from graylearn.audit.kernel import FEW_LANDMARKS, LANDMARKS, kernel_probabilities
from graylearn.audit.neighbours import neighbours, smooth_vote, vote, within_few

MIN_CLASSES_FOR_CENTRES = 4
"""With two or three classes, which are wide, one centre each says little: pooled there it costs .03 of
average precision on the design cells; with four and more it gains .01 and .03 of F1."""
PRIOR = 0.02
"""What each view keeps of the pool even if the labels do not ask for it."""
SHARPNESS = (2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)
ROWS_PER_COLUMN = 10
"""Distances to class centres are evidence only where there are so many samples a feature; with fewer, a
centre lies closer to the samples it was made from than to others of its class."""

NO_CLASS = ("entropy", "vote_entropy", "neighbour_distance", "centre_cosine", "centre_distance")
"""The columns that speak for "no class fits", in their order."""


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
    nearest: Ints | None = None
    """(N, k) the neighbours of each sample; None without features."""


def entropy(probability: Floats) -> Floats:
    """Entropy of each row, in nats."""
    found = np.empty(len(probability))
    for part in row_blocks(*probability.shape):
        p = np.clip(probability[part], 1e-12, 1.0)
        found[part] = -(p * np.log(p)).sum(axis=1)
    return found


def standardised(columns: Floats) -> Floats:
    """Columns of mean 0 and spread 1, cut at 4 spreads; a constant column becomes zeros."""
    spread = columns.std(axis=0)
    centred = columns - columns.mean(axis=0)
    return np.asarray(np.clip(centred / np.where(spread > 1e-9, spread, np.inf), -4.0, 4.0))


def soft_centres(similarity: Floats, label: Ints) -> Floats:
    """Class probabilities from cosines to class centres, as sharp as makes the labels most likely.

    They are written over the cosines.
    """
    likelihood = np.zeros(len(SHARPNESS))
    for part in sampled_blocks(*similarity.shape):
        rows = similarity[part]
        own = np.take_along_axis(rows, label[part][:, None], axis=1)[:, 0]
        log_p = (s * own - logsumexp(s * rows, axis=1) for s in SHARPNESS)
        likelihood += [float(np.log(np.exp(each) + 1e-12).sum()) for each in log_p]
    sharpness = SHARPNESS[int(likelihood.argmax())]
    for part in row_blocks(*similarity.shape):
        similarity[part] = softmax(sharpness * similarity[part], axis=1)
    return similarity


def pool_weights(views: Sequence[Floats], label: Ints) -> Floats:
    """(M,) shares under which the mean of the views, (N, K) each, makes the labels most likely (EM).

    In large sets those of a part.
    """
    rows = np.arange(0, len(label), math.ceil(len(label) / ENOUGH) or 1)
    of_label = np.stack([view[rows, label[rows]] for view in views]).astype(np.float64) + 1e-12
    weight = np.full(len(views), 1.0 / len(views))
    for _ in range(100):
        part = weight[:, None] * of_label
        part /= part.sum(axis=0)
        weight = part.mean(axis=1) + PRIOR
        weight /= weight.sum()
    return weight


def pool(
    network: Floats,
    label: Ints,
    features: NDArray[np.float32] | None,
    *,
    held_out: bool = True,
    learned: bool = False,
    device: torch.device | str = "cpu",
) -> Pooled:
    """Pool the network's probabilities (N, K) with what the features (N, D), where given, say themselves.

    A network that has seen the labels (`held_out` false) would win every comparison by having learnt them;
    it gets an even share instead. Where the network `learned` a large set from a part of it, a part is enough
    for the other views too.
    """
    n, num_classes = network.shape
    scale = np.log(max(num_classes, 2))
    if features is None or features.shape[1] == 0 or n < 2:
        unsure = standardised(entropy(network)[:, None] / scale)[:, 0] if n else np.zeros(0)
        return Pooled(network, {"network": network}, {"network": 1.0}, {"entropy": unsure})
    # No more than one (N, K) a view at a time: with 5,000 classes they are all there is in memory.
    columns: dict[str, Floats] = {}
    if n >= ROWS_PER_COLUMN * features.shape[1]:
        nearest = centre_distance(features, label, num_classes, device).min(axis=1)
        columns["centre_distance"] = np.log(nearest + 1e-9)
    index, distance = neighbours(features, None, device, within_few(num_classes) if learned else None)
    share = vote(index, label, num_classes)
    landmarks = FEW_LANDMARKS if learned else LANDMARKS
    columns["vote_entropy"] = entropy(share)
    columns["neighbour_distance"] = np.log(distance.mean(axis=1) + 1e-9)
    opinions = {
        "network": network,
        "neighbours": smooth_vote(share),
        "kernel": kernel_probabilities(features, label, num_classes, device, landmarks),
    }
    cosine = centre_cosine(features, label, num_classes, device=device)
    if "centre_distance" in columns:
        columns["centre_cosine"] = -cosine.max(axis=1)
    if num_classes >= MIN_CLASSES_FOR_CENTRES:
        opinions["centre"] = soft_centres(cosine, label)
    views = list(opinions.values())
    if held_out:
        weights = pool_weights(views, label)
    else:
        even = 1.0 / len(views)
        weights = np.concatenate([[even], (1.0 - even) * pool_weights(views[1:], label)])
    pooled = np.zeros((n, num_classes), dtype=precision_for(n * num_classes))
    for part in row_blocks(n, num_classes):
        for weight, view in zip(weights, views, strict=True):
            pooled[part] += weight * view[part]
    columns["entropy"] = entropy(pooled) / scale
    names = [name for name in NO_CLASS if name in columns]
    evenly = standardised(np.stack([columns[name] for name in names], axis=1))
    return Pooled(
        pooled,
        opinions,
        {name: float(weight) for name, weight in zip(opinions, weights, strict=True)},
        dict(zip(names, evenly.T, strict=True)),
        index,
    )
