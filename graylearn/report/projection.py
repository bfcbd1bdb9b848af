"""The map: samples in the two dimensions that tell the classes apart best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from graylearn.array_types import Floats, Ints
from graylearn.report.data import ReportData

MAX_POINTS = 5_000
"""Samples on the map: half of them suspects where there are so many, the others drawn evenly."""
LEAST_POINTS = 20
"""Below this many samples a map tells less than the list."""
EXTENT = 1_000
"""Positions are whole numbers from 0 to this."""


def positions(
    data: ReportData, wanted: Ints, label: Ints, suspected: NDArray[np.bool_]
) -> dict[str, Any] | None:
    """Which samples are on the map and where; `wanted` are the listed samples, suspects first."""
    if data.features is None or len(wanted) < LEAST_POINTS:
        return None
    suspects = int(suspected[wanted].sum())
    first = wanted[: min(suspects, MAX_POINTS // 2)]
    others = wanted[suspects:]
    step = max(1, -(-len(others) // (MAX_POINTS - len(first))))
    index = np.concatenate([others[::step], first])  # suspects last: they are drawn over the others
    x = np.asarray(data.features, dtype=np.float64)[index].reshape(len(index), -1)
    x = x / np.maximum(np.abs(x).max(initial=0.0), 1e-12)  # squares of large values would overflow
    if np.ptp(x, axis=0).max(initial=0.0) <= 0:
        return None
    with config_context(transform_output="default"):  # arrays, whatever the user has set for pipelines
        found = _two_dimensions(x, label[index], ~suspected[index])
    low, high = np.quantile(found, (0.002, 0.998), axis=0)  # one sample far out would crowd all others
    placed = np.clip((found - low) / np.maximum(high - low, 1e-12), 0.0, 1.0) * EXTENT
    x_at, y_at = np.rint(placed).astype(np.int64).T
    return {"index": index.tolist(), "x": x_at.tolist(), "y": y_at.tolist(), "extent": EXTENT}


def _two_dimensions(x: Floats, label: Ints, trusted: NDArray[np.bool_]) -> Floats:
    """(N, 2): the directions that part the classes of trusted samples, else those of the largest spread."""
    if x.shape[1] > 50 and len(x) > 50:
        x = PCA(50, random_state=0).fit_transform(x)
    spread = PCA(min(2, *x.shape), random_state=0).fit_transform(x)
    parted = np.empty((len(x), 0))
    count = np.bincount(label[trusted], minlength=label.max() + 1)
    used = trusted & (count[label] > 1)  # one sample has no spread
    if (count > 1).sum() > 1:
        parting = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1)
        try:
            parted = parting.fit(x[used], label[used]).transform(x)[:, :2]
        except np.linalg.LinAlgError:  # columns that depend on each other to the last bit
            parted = np.empty((len(x), 0))
    both = np.concatenate([parted, spread, np.zeros((len(x), 2))], axis=1)
    return np.asarray(both[:, :2], dtype=np.float64)
