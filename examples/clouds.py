"""Data of the other examples: clouds of points, a fifth of them with a wrong label."""

import numpy as np


def clouds(n: int = 400, classes: int = 5, columns: int = 8, seed: int = 0):
    """(x (n, columns), given labels (n,), which labels are wrong (n,))."""
    random = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    x = 3 * random.normal(size=(classes, columns))[truth] + random.normal(size=(n, columns))
    wrong = random.random(n) < 0.2
    given = np.where(wrong, (truth + random.integers(1, classes, n)) % classes, truth)
    return x.astype(np.float32), given, wrong
