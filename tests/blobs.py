"""The smallest data worth a run: three groups that anything can tell apart."""

import numpy as np


def blobs(n=90, seed=0):
    """(x (n, 3), y (n,)): three well separated groups."""
    y = np.arange(n) % 3
    return np.eye(3)[y] * 6 + np.random.default_rng(seed).normal(size=(n, 3)), y
