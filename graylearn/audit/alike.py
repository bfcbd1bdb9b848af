"""Samples that look like another class: wrong labels that always go the same way, or classes that overlap.

Such labels, cats called dogs, are learnt like any other: held-out networks give each cat its chance of being
called a dog, as they do where cats and dogs overlap, and no label looks drawn at random. Where classes are
clouds the two can still be told apart: what overlaps lies between two classes, a wrong label lies in its own
class like any foreigner.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graylearn.audit.centroids import centre_cosine
from graylearn.audit.strangers import MIN_SAMPLES, foreign_rank
from graylearn.data.samples import Label

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CLEARLY_ANOTHER = 0.5
"""How much surer of another class than of its label the views are of a sample that looks like that class."""
MIN_LOOK = 0.02
"""Share of such samples from which on they are told where none is flagged; clean digits have .003."""
FOREIGN_RANK = 0.5
"""Mean rank among foreigners below which samples that look like another class do not look like their own. On
real clean sets such samples have .57 to .94, for they lie between the two; labels of the next class .28 to
.60."""
CLOUDS = 0.85
"""Share of the others to which centres give their own label; below, classes are not clouds round them, and
ranks say nothing: clean synthetic sets with .45 to .76 have ranks of .41 to .65. Digits have .89."""


def lie_like_foreigners(features: NDArray[np.float32], label: Ints, num_classes: int, some: Bools) -> bool:
    """Whether `some` samples are no nearer to their label's centre, made without them, than foreigners are.

    Only where classes are clouds round their centres can that be told.
    """
    if len(label) < MIN_SAMPLES or not some.any():
        return False
    similarity = centre_cosine(features, label, num_classes, some)
    explained = (similarity.argmax(axis=1) == label)[~some].mean()
    return bool(explained > CLOUDS and foreign_rank(similarity, label)[some].mean() < FOREIGN_RANK)


def clearly_another(p: Floats, label: Ints, best: Ints) -> Bools:
    """(N,) whether a sample looks like its best class and not like its label."""
    rows = np.arange(len(label))
    return np.asarray(p[rows, best] - p[rows, label] > CLEARLY_ANOTHER)


def note_of(p: Floats, label: Ints, best: Ints, checked: Bools, classes: tuple[Label, ...]) -> list[str]:
    """A note where many samples look like another class and the labels still do not look random."""
    another = np.flatnonzero(checked & clearly_another(p, label, best))
    if len(another) < max(5, MIN_LOOK * len(label)):
        return []
    return [
        f"{len(another)} samples look like another class all the same "
        f"({pairs_of(label[another], best[another], classes)}), and lead the order: labels that always go "
        "wrong the same way cannot be told from classes that overlap"
    ]


def pairs_of(label: Ints, best: Ints, classes: tuple[Label, ...]) -> str:
    """Which label looks like which class, the most frequent first."""
    pairs, count = np.unique(np.stack([label, best]), axis=1, return_counts=True)
    most = np.argsort(-count, kind="stable")[:3]
    told = ", ".join(f"{classes[pairs[0, i]]} like {classes[pairs[1, i]]}: {count[i]}" for i in most)
    return told + (", ..." if len(count) > len(most) else "")
