"""Made-up features for the tests of centres and foreign clusters."""

import numpy as np


def clouds(seed, foreign=0.0, n=1500, k=8, d=40, spread=1.0):
    """Classes as clouds round random directions; foreign samples come from others, one for each label."""
    random = np.random.default_rng(seed)
    centre = random.normal(size=(2 * k, d))
    label = random.integers(k, size=n)
    is_foreign = random.random(n) < foreign
    x = centre[np.where(is_foreign, label + k, label)] + spread * random.normal(size=(n, d))
    return x.astype(np.float32), label, is_foreign
