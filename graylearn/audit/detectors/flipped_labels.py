"""Labels of two or three classes that are flipped by chance, in sets too small for the noise mixture.

With so few classes, views that learnt from flipped labels say .9 and .1 where they would say 1 and 0: that
explains the labels, and no label looks random. But among the samples of which the views are surest labels are
then wrong as often as elsewhere, which classes that overlap never show (`contradictions.py`).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import binom, rankdata

from graylearn.audit.contradictions import confidence_rank, read_contradictions
from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding, nothing
from graylearn.audit.transitions import sharpness_for

AFTER = ("random_labels", "foreign_clusters", "class_confusion")
MOST_CLASSES = 3
"""With more classes a flipped label is one of many, and the noise mixture sees it."""
MIN_GAIN = 10.0
"""Twice the log-likelihood that flipped labels must gain over clouds that overlap. Clean sets whose classes
overlap unevenly gain up to 39, and are kept clean by the next two."""
MIN_PART = 0.4
"""Flipped labels as a part of all that contradict the views: clean sets .00 to .46."""
SURER_HALF, CHANCE, CHANCE_OVERLAP = 0.12, 0.01, 0.001
"""Of the labels that contradict, no more than the first lie in the surer half of the samples where classes
overlap, or than the share that contradicts where that is larger, as of two round clouds; the second is the
chance above which more may still be that, the third where classes may overlap: of 101 tables as they are, of
which most are believed right, three have .006 to .012."""
MIN_CONTRADICTED = 5
SURE, SURER, MAX_ERROR = 0.9, 0.6, 0.08
"""A label is surely wrong where the cautious chance of it is above the first, the views are surer of the
sample than of the second of all, and of those that look like the same class, and err on fewer than the third.
"""


def find(evidence: Evidence) -> Finding:
    """Look where no detector before found anything, and views other than one network's can be asked."""
    n, num_classes = len(evidence), evidence.num_classes
    alone = "neighbours" not in evidence.opinions and evidence.overlap == "possible"
    if num_classes > MOST_CLASSES or evidence.found or alone:
        return nothing(n)
    rows = np.flatnonzero(evidence.checked)
    label, best, probabilities = evidence.label[rows], evidence.best[rows], evidence.probabilities[rows]
    contradicted = best != label
    count = int(contradicted.sum())
    if count < MIN_CONTRADICTED:
        return nothing(n)
    rank = confidence_rank(probabilities, best)
    read = read_contradictions(rank, contradicted, best, num_classes)
    surer = int((contradicted & (rank > 0.5)).sum())
    # each label counts the same: where one is rare and nothing tells it, all of it contradicts
    by_label = float(np.mean([contradicted[label == k].mean() for k in np.unique(label)]))
    by_overlap = float(binom.sf(surer - 1, count, max(SURER_HALF, by_label)))
    details = {"flipped_rate": read.rate, "flipped_gain": read.gain, "flipped_by_overlap": by_overlap}
    chance = CHANCE if evidence.overlap == "none" else CHANCE_OVERLAP
    if read.gain < MIN_GAIN or read.rate < MIN_PART * count / len(rows) or by_overlap >= chance:
        return nothing(n, details=details)
    posterior, low, high = (np.zeros(n) for _ in range(3))
    posterior[rows], low[rows], high[rows] = read.posterior, read.low, read.high
    sure = np.zeros(n, dtype=bool)
    of_all = rankdata(probabilities.max(axis=1)) / len(rows)
    sure[rows] = (read.low > SURE) & (np.minimum(rank, of_all) > SURER) & (read.views_err < MAX_ERROR)
    sure[sure] = evidence.set_apart(np.flatnonzero(sure), evidence.best[sure])
    return Finding(
        posterior,
        np.where(evidence.checked, read.rate, 0.0),
        np.zeros(n),
        posterior,
        suggested=evidence.best,
        sure=sure,
        low=np.minimum(low, posterior),
        high=np.maximum(high, posterior),
        notes=(
            f"about {read.rate:.1%} of the labels are flipped by chance: they contradict what samples look "
            "like as often where the class is plain as elsewhere",
        ),
        overrules=("random_labels",),
        details=details,
        form="constant",
        temperature=1.0 / sharpness_for(probabilities, max(read.views_err, 2.0 / len(rows))),
    )
