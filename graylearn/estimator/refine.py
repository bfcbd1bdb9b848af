"""The refined fit: train again on what the audit believes of each sample.

A sample that seems mislabelled is taught as what it looks like, one that belongs to no class counts less,
and the rest stay as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Floats
from graylearn.audit import Audit

LEAST_CLASSES = 4
"""With fewer classes labels that are wrong at random hardly move the border between them, and on four such
cells no way to refine was better than the labels as they are."""
LEAST_ERRORS = 1.5
"""By how many standard errors the views must say the given labels better than the own networks alone."""
CLASS_SHARE = 0.1
"""Of the samples that bear a label, the share whose weight the class keeps at least."""


def know_more(views: Floats, own: Floats, label: NDArray[np.int64]) -> bool:
    """Whether the pooled views (N, K) know more of the samples than networks of the own kind (N, K) do.

    Both were asked about labels that they had not seen. Wrong labels disagree with everyone alike, so that
    agreement with the given labels, the wrong ones included, tells who is nearer to the truth. A fit on what
    the views believe comes out about as good as they are: where they know no more than the network finds by
    itself in the labels as they are, there is nothing to gain and something to lose.
    """
    difference = (views.argmax(axis=1) == label).astype(np.float64) - (own.argmax(axis=1) == label)
    error = float(difference.std()) / np.sqrt(len(label))
    return bool(difference.mean() > LEAST_ERRORS * error)


def soft_targets(audit: Audit) -> tuple[Floats, Floats]:
    """(targets (N, K), weights (N,)) for the second fit.

    The target is what the audit believes of the class, the weight the chance that the sample has one.
    """
    weight = 1.0 - audit.foreign
    target = audit.beliefs / np.maximum(audit.beliefs.sum(axis=1, keepdims=True), 1e-12)
    return keep_classes_alive(audit, target, weight)


def keep_classes_alive(audit: Audit, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The same, but a class that would be left with next to nothing keeps its least suspected samples."""
    target, weight = target.copy(), weight.copy()
    for k in np.unique(audit.label):
        members = np.flatnonzero(audit.label == k)
        needed = max(1, int(np.ceil(CLASS_SHARE * len(members))))
        if (weight * target[:, k]).sum() < needed:
            kept = members[np.argsort(audit.posterior[members], kind="stable")[:needed]]
            target[kept], weight[kept] = np.eye(target.shape[1])[k], 1.0
    return target, weight
