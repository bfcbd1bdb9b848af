"""Made-up features for the tests of centres and strangers."""

import numpy as np


def clouds(seed, strangers=0.0, n=1500, k=8, d=40, spread=1.0):
    """Classes as clouds round random directions; strangers come from other clouds, one for each label."""
    random = np.random.default_rng(seed)
    centre = random.normal(size=(2 * k, d))
    label = random.integers(k, size=n)
    strange = random.random(n) < strangers
    x = centre[np.where(strange, label + k, label)] + spread * random.normal(size=(n, d))
    return x.astype(np.float32), label, strange
