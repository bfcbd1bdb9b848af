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


def parted_clouds(*, alike):
    """Eight clouds, a fifth of four of them elsewhere: in one place, or each in another one."""
    random = np.random.default_rng(8)
    x, label, _ = clouds(8, n=1600)
    parted = np.zeros(len(label), dtype=bool)
    own = np.stack([x[label == k].mean(axis=0) for k in range(4)])
    for k in range(4):
        members = np.flatnonzero(label == k)[::5]
        parted[members] = True
        place = -2 * own.mean(axis=0) if alike else own.mean(axis=0) - own[k]
        x[members] = place + 0.3 * random.normal(size=(len(members), x.shape[1]))
    return x, label, parted
