"""Nearest neighbours of each sample: how far they are and which labels they bear."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BLOCK = 1 << 24
"""Similarities held at once: 64 MB of float32."""


def number_of_neighbours(num_samples: int) -> int:
    """k = 20, less in small sets (N / 20, at least 3), and never all of the other samples."""
    return max(1, min(20, max(3, num_samples // 20), num_samples - 1))


def unit_rows(features: NDArray[np.float32]) -> torch.Tensor:
    """Rows scaled to length one; a row of zeros stays zero and is at distance 1 from everything."""
    rows = torch.as_tensor(np.ascontiguousarray(features, dtype=np.float32))
    length: torch.Tensor = rows.norm(dim=1, keepdim=True)
    return rows / length.clamp_min(1e-12)


def neighbours(features: NDArray[np.float32], k: int | None = None) -> tuple[Ints, Floats]:
    """The k samples nearest to each by cosine, itself left out: index and distances, both (N, k).

    The similarities are made in blocks of rows, so memory grows with N and not with its square.
    """
    unit = unit_rows(features)
    n = len(unit)
    k = number_of_neighbours(n) if k is None else min(k, n - 1)
    if n < 2:
        return np.zeros((n, 0), dtype=np.int64), np.zeros((n, 0))
    index, distance = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    rows = max(1, _BLOCK // n)
    for start in range(0, n, rows):
        block = unit[start : start + rows] @ unit.T
        own = torch.arange(len(block))
        block[own, own + start] = -2.0
        near, found = block.topk(k, dim=1)
        index[start : start + rows] = found.numpy()
        distance[start : start + rows] = 1.0 - near.double().clamp(-1.0, 1.0).numpy()
    return index, distance


def vote(index: Ints, label: Ints, num_classes: int) -> Floats:
    """Share of the neighbours of each sample that bear each label, (N, K); even shares without any."""
    n, k = index.shape
    if k == 0:
        return np.full((n, num_classes), 1.0 / num_classes)
    cell = np.arange(n)[:, None] * num_classes + label[index]
    count = np.bincount(cell.ravel(), minlength=n * num_classes).reshape(n, num_classes)
    return count / float(k)


def smooth_vote(share: Floats) -> Floats:
    """Votes drawn towards even shares by half a vote in all: no class is ever ruled out.

    Without it one sample among twenty of other classes has probability zero, and the mixture reads every rare
    but honest label as drawn at random.
    """
    return np.asarray((share + 0.5 / share.shape[1]) / 1.5)
