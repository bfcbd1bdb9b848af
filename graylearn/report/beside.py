"""What stands beside a sample so that a person can judge it: likely classes, nearest and typical samples.

Everything here is computed when the page is written and reaches it as whole numbers: the page only looks up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints
from graylearn.audit.duplicates import joined_groups
from graylearn.errors import DataError
from graylearn.report.data import ReportData

COMPARED = 3
"""Likely classes, nearest samples and typical samples of a class that are shown."""
MAX_NEIGHBOURED = 5_000
"""Samples whose nearest samples are looked for, suspects first."""
MAX_LIKELY = 50_000
"""Samples whose likely classes are kept."""
DIRECTIONS = 16
"""Columns from which on features are compared by direction, as embeddings are; fewer by distance."""
NEAR_DUPLICATE = 0.05
"""Share of the usual distance to the nearest sample below which two samples are near duplicates."""

_BLOCK = 1 << 24  # distances held at once: 64 MB


def beside(data: ReportData, wanted: Ints, label: Ints, suspected: NDArray[np.bool_]) -> dict[str, Any]:
    """The payload's part; `wanted` are the listed samples, suspects first, and `label` index in classes."""
    found: dict[str, Any] = {"compared": COMPARED, "likely": None, "nearest": None, "typical": None}
    if data.probabilities is not None:
        found["likely"] = _likely(data, wanted[:MAX_LIKELY])
    if data.features is not None and len(data) > COMPARED:
        rows = _rows(data)
        of = wanted[: min(int(suspected.sum()), MAX_NEIGHBOURED)]
        index, distance = nearest(rows, of, COMPARED)
        found["nearest"] = {"of": of.tolist(), "index": index.reshape(-1).tolist()}
        found["alike"] = _near_duplicates(of, index, distance, len(data))
        found["typical"] = typical(rows, label, suspected, len(data.classes), COMPARED)
    return found


def needed(found: dict[str, Any], first: Ints) -> list[int]:
    """Samples that are shown beside those of `first`, and so need a preview too."""
    beside_them = [index for members in found["typical"] or () for index in members]
    if found["nearest"]:
        near = np.array(found["nearest"]["index"], dtype=np.int64).reshape(-1, COMPARED)
        beside_them += near[np.isin(found["nearest"]["of"], first)].reshape(-1).tolist()
    return list(dict.fromkeys(beside_them))


def nearest(rows: torch.Tensor, of: Ints, count: int) -> tuple[Ints, Floats]:
    """The `count` rows nearest to each of `of`, itself left out: index and distances, (len(of), count)."""
    index, distance = np.empty((len(of), count), dtype=np.int64), np.empty((len(of), count))
    square = (rows * rows).sum(dim=1)
    size = max(1, _BLOCK // len(rows))
    for start in range(0, len(of), size):
        part = torch.from_numpy(of[start : start + size])
        apart = square[part, None] + square[None, :] - 2.0 * (rows[part] @ rows.T)
        apart[torch.arange(len(part)), part] = torch.inf
        near, which = apart.topk(count, dim=1, largest=False)
        index[start : start + size] = which.numpy()
        distance[start : start + size] = near.double().clamp_min(0.0).sqrt().numpy()
    return index, distance


def typical(
    rows: torch.Tensor, label: Ints, suspected: NDArray[np.bool_], num_classes: int, count: int
) -> list[list[int]]:
    """Of each class the `count` samples nearest to its middle, among those that are not suspected."""
    found = []
    for k in range(num_classes):
        members = np.flatnonzero((label == k) & ~suspected)
        own = rows[torch.from_numpy(members)]
        apart = ((own - own.mean(dim=0)) ** 2).sum(dim=1).numpy() if len(members) else np.zeros(0)
        found.append(members[np.argsort(apart, kind="stable")[:count]].tolist())
    return found


def _rows(data: ReportData) -> torch.Tensor:
    """(N, D) features as they are compared."""
    rows = np.asarray(data.features, dtype=np.float32).reshape(len(data), -1)
    if not np.isfinite(rows).all():
        raise DataError("features hold values that are not finite: fill or drop them")
    if rows.shape[1] >= DIRECTIONS:
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return torch.from_numpy(np.ascontiguousarray(rows))


def _likely(data: ReportData, of: Ints) -> dict[str, Any]:
    """The most probable classes of each sample with their probabilities in thousandths, best first."""
    chance = np.asarray(data.probabilities, dtype=np.float64)[of]
    count = min(COMPARED, chance.shape[1])
    best = np.argsort(-chance, axis=1, kind="stable")[:, :count]
    thousandths = np.rint(1000 * np.take_along_axis(chance, best, axis=1)).astype(np.int64)
    return {
        "of": of.tolist(),
        "count": count,
        "classes": best.reshape(-1).tolist(),
        "chance": thousandths.reshape(-1).tolist(),
    }


def _near_duplicates(of: Ints, index: Ints, distance: Floats, total: int) -> list[list[int]]:
    """Groups of two samples or more that are almost the same, as far as suspects are among them."""
    usual = float(np.median(distance[:, 0])) if len(of) else 0.0
    row, column = np.nonzero(distance <= NEAR_DUPLICATE * usual)
    pairs = np.stack([of[row], index[row, column]], axis=1)
    return [group.tolist() for group in joined_groups(pairs, total)]
