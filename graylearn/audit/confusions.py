"""Which classes are confused: how labels are drawn by the true class, and a table of pairs of classes.

The fit: `p(y | x) = sum_z q(z | x) T(z, y)`. q are the views' probabilities to a power, for they have learned
wrong labels in part and are less sure of the true class than they should be. T is fitted by expectation and
maximisation, drawn towards right labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from graylearn.array_types import Floats, Ints
from graylearn.data.samples import Label

STEPS = 15
RIGHT, ANY = 4.0, 0.5
"""Samples by which T is drawn towards labels that are right, and towards any label."""
LEAST = 0.5
"""Expected samples below which a pair has no row of its own, unless one of them is flagged."""


@dataclass(frozen=True)
class Transitions:
    """What the fit says."""

    beliefs: Floats
    """(N, K) chance of each true class, given the sample and its label."""
    rates: Floats
    """(K, K) T: share of each true class (rows) that bears each label."""
    gain: float
    """Log-likelihood of the labels beyond that of the same q with the same share of wrong labels, even over
    all classes."""


def believed(probabilities: Floats, y: Ints, power: float) -> Transitions:
    """Fit T to labels y (N,) and class probabilities (N, K)."""
    n, num_classes = probabilities.shape
    q = np.clip(probabilities, 1e-6, 1.0).astype(np.float64) ** power
    q /= q.sum(axis=1, keepdims=True)
    order = np.argsort(y, kind="stable")
    size = np.bincount(y, minlength=num_classes)
    there = np.flatnonzero(size)
    first = (np.cumsum(size) - size)[there]
    prior = RIGHT * np.eye(num_classes) + ANY / num_classes
    rates = 0.9 * np.eye(num_classes) + 0.1 / num_classes
    ordered, label = q[order], y[order]
    own = np.empty_like(ordered)
    for _ in range(STEPS):
        np.multiply(ordered, rates.T[label], out=own)
        own /= own.sum(axis=1, keepdims=True)
        counts = np.zeros((num_classes, num_classes))
        counts[:, there] = np.add.reduceat(own, first, axis=0).T
        rates = counts + prior
        rates /= rates.sum(axis=1, keepdims=True)
    np.multiply(ordered, rates.T[label], out=own)
    likelihood = own.sum(axis=1)
    own /= likelihood[:, None]
    wrong = 1.0 - own[np.arange(n), label].mean()
    even = (1.0 - wrong) * np.eye(num_classes) + wrong / num_classes
    plain = (ordered * even.T[label]).sum(axis=1)
    beliefs = np.empty_like(own)
    beliefs[order] = own
    return Transitions(
        beliefs, rates, float(np.log(likelihood + 1e-300).sum() - np.log(plain + 1e-300).sum())
    )


def confusion_table(
    label: Ints, wrong: Floats, probabilities: Floats, mislabelled: Ints, classes: tuple[Label, ...]
) -> pd.DataFrame:
    """The pairs of classes that are confused, the most samples first; all samples add up to those expected.

    Pairs that are rarer than LEAST are one row a label, with None for the true class. label: (N,) as given.
    wrong: (N,) how far the sample counts as one of another class. mislabelled: (N,) the class
    that a flagged sample was found to be, -1 for all others: theirs is the likeliest one beside the label.
    """
    rows = np.flatnonzero((wrong > 0) | (mislabelled >= 0))
    others = probabilities[rows]
    others[np.arange(len(rows)), label[rows]] = -1.0
    likeliest = others.argmax(axis=1) if len(rows) else np.zeros(0, dtype=np.int64)
    other = np.where(mislabelled[rows] >= 0, mislabelled[rows], likeliest)
    k = len(classes)
    pair, of = np.unique(label[rows] * (k + 1) + other, return_inverse=True)
    samples = np.bincount(of, wrong[rows], minlength=len(pair))
    flagged = np.bincount(of, mislabelled[rows] >= 0, minlength=len(pair)).astype(np.int64)
    rare = (samples < LEAST) & (flagged == 0)
    if rare.any():  # k stands for the other classes together
        pair, of = np.unique(np.where(rare, pair // (k + 1) * (k + 1) + k, pair), return_inverse=True)
        samples, flagged = np.bincount(of, samples), np.bincount(of, flagged).astype(np.int64)
    kept = np.lexsort((pair % (k + 1) == k, -flagged, -samples))
    given, true = pair[kept] // (k + 1), pair[kept] % (k + 1)
    names = np.array([*classes, None], dtype=object)
    count = np.bincount(label, minlength=k)
    return pd.DataFrame(
        {
            "label": pd.Series(names[given], dtype=object),
            "true_class": pd.Series(names[true], dtype=object),
            "samples": samples[kept],
            "share": samples[kept] / np.maximum(count[given], 1),
            "suspected": flagged[kept],
        }
    )
