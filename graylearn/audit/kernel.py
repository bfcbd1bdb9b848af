"""Leave-one-out class probabilities from kernel ridge regression, in closed form.

A second opinion beside the network: it needs no folds, as the prediction for a sample left out follows
from the fit with it. A few hundred landmarks (Nystroem) keep the cost linear in the number of samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
SHARPNESS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)


def landmark_features(
    features: NDArray[np.float32], landmarks: int = 400, seed: int = 0
) -> NDArray[np.float32]:
    """(N, at most `landmarks`) columns whose inner products approximate a Gaussian kernel.

    The kernel's width is the median squared distance between landmarks.
    """
    x = np.asarray(features, dtype=np.float32)
    chosen = x[np.random.default_rng(seed).permutation(len(x))[:landmarks]]

    def squared_distance(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
        square = (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * (a @ b.T)
        return np.asarray(np.maximum(square, 0.0))

    between = squared_distance(chosen, chosen).astype(np.float64)
    off_diagonal = between[np.triu_indices(len(chosen), 1)]
    width = float(np.median(off_diagonal)) if len(off_diagonal) else 1.0
    width = width if width > 0 else 1.0
    value, vector = eigh(np.exp(-between / width))
    kept = value > value.max() * 1e-6
    similarity = np.exp(squared_distance(x, chosen) * np.float32(-1.0 / width))
    # The large products are in single precision, which is enough for votes; what is inverted is not.
    return np.asarray(similarity @ (vector[:, kept] / np.sqrt(value[kept])).astype(np.float32))


def leave_one_out(columns: NDArray[np.float32] | Floats, label: Ints, num_classes: int) -> Floats:
    """(N, K) class probabilities of each sample from a ridge regression on all the others.

    The ridge is the one with the least squared error on the samples left out, and the sharpness of the
    softmax the one under which their labels are most likely.
    """
    n = len(label)
    target = np.full((n, num_classes), -1.0 / num_classes)
    target[np.arange(n), label] += 1.0
    value, vector = eigh((columns.T @ columns).astype(np.float64))
    value = np.maximum(value, 0.0).astype(columns.dtype)
    rotated = columns @ vector.astype(columns.dtype)
    target = target.astype(columns.dtype)
    moment = rotated.T @ target
    squared = rotated**2
    best_error, outside = np.inf, np.zeros_like(target)
    for ridge in RIDGES:
        inverse = 1.0 / (value + ridge)
        leverage = np.minimum(squared @ inverse, 0.999)[:, None]
        predicted = (rotated @ (moment * inverse[:, None]) - leverage * target) / (1.0 - leverage)
        error = float(((target - predicted) ** 2).sum())
        if error < best_error:
            best_error, outside = error, predicted
    outside = outside.astype(np.float64)
    outside -= outside.max(axis=1, keepdims=True)

    def probabilities(sharpness: float) -> Floats:
        weight = np.exp(sharpness * outside)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    likelihood = [np.log(probabilities(s)[np.arange(n), label] + 1e-12).sum() for s in SHARPNESS]
    return probabilities(SHARPNESS[int(np.argmax(likelihood))])
