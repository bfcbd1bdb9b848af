"""Sets whose truth is known, to audit."""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from graylearn.audit.views import Rows
from graylearn.data import contaminate


@dataclass
class Planted:
    """Samples (N, D), the labels that they bear, and those that are right."""

    x: np.ndarray
    y: np.ndarray
    true: np.ndarray

    @property
    def wrong(self):
        """(N,) whose label is not the right one."""
        return self.y != self.true


def clusters(n=600, k=4, d=8, wrong=0.1, seed=0, apart=6.0):
    """Round clusters whose centres are `apart` * sqrt(2) spreads apart, and a share of uniform flips."""
    random = np.random.default_rng(seed)
    true = random.permutation(np.arange(n) % k)
    turn = np.linalg.qr(random.normal(size=(max(d, k), max(d, k))))[0][:k, :d]
    x = apart * turn[true] + random.normal(size=(n, d))
    bad = random.permutation(n) < round(wrong * n)
    return Planted(x, np.where(bad, (true + random.integers(1, k, n)) % k, true), true)


def believable(planted, seed=0, sharp=3.0):
    """(N, K) probabilities as a model that never saw the labels would give them."""
    random = np.random.default_rng(seed)
    k = int(planted.true.max()) + 1
    z = np.exp(sharp * np.eye(k)[planted.true] + 0.7 * random.normal(size=(len(planted.true), k)))
    return z / z.sum(axis=1, keepdims=True)


def digits(alpha, flip=0.0, seed=0):
    """Digits 0..7 as classes, 8 and 9 as samples of no class."""
    x, y = load_digits(return_X_y=True)
    inside = y < 8
    return contaminate(x[inside][:1000], y[inside][:1000], x[~inside], alpha=alpha, flip=flip, seed=seed)


def as_rows(x, y, k=None, weight=None, group=None, seed=0):
    """What the views are asked about."""
    n = len(y)
    return Rows(
        np.asarray(x, dtype=np.float32), np.asarray(y), int(y.max()) + 1 if k is None else k,
        np.random.default_rng(seed).random(n), np.ones(n) if weight is None else weight, group,
    )  # fmt: skip
