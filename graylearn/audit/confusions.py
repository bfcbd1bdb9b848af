"""Which labels are given to samples of which other class, and how often: one row per pair of classes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from graylearn.array_types import Floats, Ints
from graylearn.data.samples import Label

LEAST = 0.5
"""Expected samples below which a pair has no row of its own, unless one of them is flagged."""


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
