"""How often views contradict labels, from where they are least sure to where they are surest.

Where classes overlap, the surest views are hardly ever contradicted. Where labels are flipped by chance, they
are contradicted there as often as elsewhere:

    p(label contradicts | u) = r + (1 - r K / (K - 1)) h(u)

u is the rank of the views' confidence, r the share of flipped labels, and h(u) how often views err on what
the sample is: the curve of two round clouds that lie d deviations apart. Both r and d are read by likelihood
on a grid. The views need not be right about their own confidence, only about its order.

Of two classes each is as hard to tell as the other. Of three, two may overlap while the third is plain, so
each has its own d; r is one for all, so what hits only the classes that overlap is overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata

from graylearn.array_types import Bools, Floats, Ints

BINS = 100
RATES = np.concatenate([[0.0], np.linspace(0.003, 0.45, 150)])
DISTANCES = np.geomspace(0.05, 7.0, 48)
NINETY = 1.353
"""Log-likelihood below its maximum within which nine true rates of ten lie."""
MORE_ERRORS = 0.02
"""How much oftener than the curve has it the views may err even where they are surest, read cautiously."""


@dataclass(frozen=True)
class Contradictions:
    """What the contradictions of N labels tell."""

    rate: float
    """r, the share of labels flipped by chance."""
    gain: float
    """Twice the log-likelihood over that of no label being flipped."""
    posterior: Floats
    """(N,) chance that the label is wrong."""
    low: Floats
    """(N,) the same with the smallest rate that the contradictions allow nine times of ten."""
    high: Floats
    """(N,) with the largest."""
    views_err: float
    """How often the views err on what the samples are."""


def confidence_rank(probabilities: Floats, best: Ints) -> Floats:
    """(N,) in 0 to 1: rank of the likeliest class's probability among the samples of which it is that."""
    rank = np.empty(len(best))
    for k in np.unique(best):
        rows = np.flatnonzero(best == k)
        rank[rows] = (rankdata(probabilities[rows, k]) - 0.5) / len(rows)
    return rank


def overlap_errors(num_classes: int) -> Floats:
    """(len(DISTANCES), BINS) how often views of clouds so far apart err, least sure ones first."""
    middle = (np.arange(BINS) + 0.5) / BINS
    away = np.linspace(0.0, 9.0, 2001)
    curves = []
    for distance in DISTANCES:
        below = norm.cdf(away - distance / 2) - norm.cdf(-away - distance / 2)  # share nearer the boundary
        odds = np.exp(distance * np.interp(middle, below, away))
        curves.append((num_classes - 1) / (num_classes - 1 + odds))
    return np.array(curves)


def read_contradictions(rank: Floats, contradicted: Bools, best: Ints, num_classes: int) -> Contradictions:
    """Fit both curves to N labels; rank as of `confidence_rank`, best is what the samples look like."""
    index = np.minimum((rank * BINS).astype(np.int64), BINS - 1)
    cloud = best if num_classes > 2 else np.zeros_like(best)
    errors = overlap_errors(num_classes)
    kept = 1.0 - RATES * num_classes / (num_classes - 1)
    chance = np.clip(RATES[:, None] + kept[:, None] * errors[:, None, :], 1e-6, 1.0 - 1e-6)
    against_it, for_it = np.log(chance), np.log(1.0 - chance)
    fits = np.zeros((num_classes, len(DISTANCES), len(RATES)))
    for k in np.unique(cloud):
        every = np.bincount(index[cloud == k], minlength=BINS)
        against = np.bincount(index[cloud == k], contradicted[cloud == k], minlength=BINS)
        fits[k] = against_it @ against + for_it @ (every - against)
    profile = fits.max(axis=1).sum(axis=0)
    allowed = np.flatnonzero(profile > profile.max() - NINETY)

    others = num_classes - 1

    def errors_at(rate: int) -> Floats:
        return np.asarray(errors[fits[:, :, rate].argmax(axis=1)[cloud], index])

    def wrong_at(rate: int, more: float = 0.0) -> Floats:
        r, err = RATES[rate], np.minimum(errors_at(rate) + more, others / num_classes)
        p = r + kept[rate] * err + 1e-12
        where_against = r * ((1.0 - err) + err * (others - 1) / others) / p
        return np.asarray(np.where(contradicted, where_against, r * err / others / (1.0 - p)))

    chosen = int(profile.argmax())
    return Contradictions(
        rate=float(RATES[chosen]),
        gain=2.0 * float(profile[chosen] - profile[0]),
        posterior=wrong_at(chosen),
        low=wrong_at(int(allowed[0]), MORE_ERRORS),
        high=wrong_at(int(allowed[-1])),
        views_err=float(errors_at(chosen).mean()),
    )
