"""Samples that belong to no class: made beside the features of a source, before these are changed.

Functions (random, x, y, n) -> (n, D) features of foreign samples; x (N, D) and y are those that belong.
Samples of classes held out of the source are not made but kept (`draw.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from judge.dirt import standardised

Random = np.random.Generator
Foreign = Callable[[Random, np.ndarray, np.ndarray, int], np.ndarray]


def noise(random: Random, x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Anywhere in the range of each column."""
    low, high = np.quantile(x, [0.01, 0.99], axis=0)
    return random.uniform(low, high + 1e-6, (n, x.shape[1]))


def far(random: Random, x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Far outside, in one direction or in any."""
    way = random.normal(size=(n if random.random() < 0.6 else 1, x.shape[1]))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    size = np.sqrt((x.std(axis=0) ** 2).sum()) * random.uniform(1.5, 8.0)
    return np.asarray(x[random.integers(0, len(x), n)] + size * random.uniform(0.7, 1.3, (n, 1)) * way)


def between(random: Random, x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Half one class and half another."""
    a = random.integers(0, len(x), n)
    b = random.integers(0, len(x), n)
    for _ in range(4):
        b = np.where(y[a] == y[b], random.integers(0, len(x), n), b)
    part = random.uniform(0.4, 0.6, (n, 1))
    return np.asarray(part * x[a] + (1 - part) * x[b])


def shuffled(random: Random, x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Each column from another sample."""
    return np.asarray(x[random.integers(0, len(x), (n, x.shape[1])), np.arange(x.shape[1])])


def empty(random: Random, x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Features of what could not be read: all nothing, or nearly one constant row."""
    row = np.zeros(x.shape[1]) if random.random() < 0.5 else x.mean(axis=0) + random.normal() * x.std(axis=0)
    grain = random.choice([0.0, 0.02, 0.1])
    return np.asarray(row + grain * x.std(axis=0) * random.normal(size=(n, x.shape[1])))


def turned(random: Random, x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Samples with some of their columns in another order, or of the other sign."""
    rows = x[random.integers(0, len(x), n)].copy()
    some = random.permutation(x.shape[1])[: max(2, x.shape[1] // 2)]
    if random.random() < 0.5:
        rows[:, some] = rows[:, random.permutation(some)]
    else:
        rows[:, some] = 2 * x.mean(axis=0)[some] - rows[:, some]
    return rows


FOREIGN: dict[str, Foreign] = {
    "noise": noise, "far": far, "between": between, "shuffled": shuffled, "empty": empty, "turned": turned
}  # fmt: skip
PLAIN = ("far", "empty")
"""What is foreign also to columns of words, where any combination may belong."""


def elsewhere(random: Random, x: np.ndarray, theirs: np.ndarray, n: int) -> np.ndarray:
    """Another source's samples, brought to as many columns and to a like scale."""
    z = standardised(theirs[random.integers(0, len(theirs), n)].astype(np.float64))
    if z.shape[1] != x.shape[1]:
        z = z @ random.normal(size=(z.shape[1], x.shape[1])) / np.sqrt(z.shape[1])
    size = x.std(axis=0) if random.random() < 0.7 else x.std()
    return np.asarray(x.mean(axis=0) + z * size * random.uniform(0.5, 1.5))
