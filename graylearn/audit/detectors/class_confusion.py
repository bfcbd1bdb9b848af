"""Samples that look like another class: wrong labels that always go the same way, or classes that overlap.

Such labels, cats called dogs, are learnt like any other: held-out networks give each cat its chance of being
called a dog, as they do where cats and dogs overlap, and no label looks drawn at random. Where classes are
clouds the two can still be told apart: what overlaps lies between two classes, a wrong label lies in its own
class like any sample from elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graylearn.audit.centroids import centre_cosine
from graylearn.audit.detectors.foreign_clusters import (
    MIN_CLASSES,
    MIN_SAMPLES,
    NONE_APART,
    apart_among,
    foreign_rank,
)
from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding, nothing
from graylearn.data.samples import Label

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CLEARLY_ANOTHER = 0.5
"""How much surer of another class than of its label the views are of a sample that looks like that class."""
MIN_LOOK = 0.02
"""Share of such samples from which on they are told where none is flagged; clean digits have .003."""
FOREIGN_RANK = 0.5
"""Mean rank among the samples with other labels below which samples that look like another class do not look
like their own. On real clean sets such samples have .57 to .94, for they lie between the two; labels of the
next class .28 to .60."""
CLOUDS = 0.85
"""Share of the others to which centres give their own label; below, classes are not clouds round them, and
ranks say nothing: clean synthetic sets with .45 to .76 have ranks of .41 to .65. Digits have .89."""


def find(evidence: Evidence) -> Finding:
    """Flag what looks like another class, where it does not lie between the two; elsewhere tell how many.

    Where labels look drawn at random, that explains what looks like another class. Confused samples lie apart
    from the others of their label too, so that foreign clusters may have been found among them: overruled.
    """
    hints = _hints(evidence)
    if evidence.features is None or evidence.num_classes < MIN_CLASSES or evidence.found("random_labels"):
        return nothing(len(evidence), hints=hints)
    label, best = evidence.label, evidence.best
    rest = np.flatnonzero(evidence.checked)
    p = evidence.probabilities[rest]
    another = clearly_another(p, label[rest], best[rest])
    if another.mean() <= MIN_LOOK:
        return nothing(len(evidence), hints=hints)
    foreign = evidence.findings["foreign_clusters"]
    if not (
        lie_like_others(evidence.features[rest], label[rest], evidence.num_classes, another)
        # or only they lie apart, and not for being foreign
        or (foreign.found and apart_among(evidence, rest[~another]).reason == NONE_APART)
    ):
        return nothing(len(evidence), hints=hints)
    wrong = 1.0 - evidence.confidence[rest] / p[np.arange(len(rest)), best[rest]]
    posterior = np.zeros(len(evidence))
    posterior[rest] = np.where(another, np.maximum(foreign.posterior[rest], wrong), 0.0)
    note = (
        f"{int(another.sum())} samples lie apart from the others of their label and where another "
        f"class lies ({pairs_of(label[rest][another], best[rest][another], evidence.classes)})"
    )
    return Finding(
        posterior,
        posterior,
        np.zeros(len(evidence)),
        doubt=np.where(posterior > 0, 0.0, 1.0 - evidence.confidence),
        notes=(note,),
        overrules=("foreign_clusters",),
    )


def lie_like_others(features: NDArray[np.float32], label: Ints, num_classes: int, some: Bools) -> bool:
    """Whether `some` samples are no nearer to their label's centre, made without them, than others are.

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


def _hints(evidence: Evidence) -> tuple[str, ...]:
    """What to tell where many samples look like another class and the labels still do not look random."""
    label, best = evidence.label, evidence.best
    is_another = clearly_another(evidence.probabilities, label, best)
    another = np.flatnonzero(evidence.checked & is_another)
    if len(another) < max(5, MIN_LOOK * len(label)):
        return ()
    return (
        f"{len(another)} samples look like another class all the same "
        f"({pairs_of(label[another], best[another], evidence.classes)}), and lead the order: labels that "
        "always go wrong the same way cannot be told from classes that overlap",
    )


def pairs_of(label: Ints, best: Ints, classes: tuple[Label, ...]) -> str:
    """Which label looks like which class, the most frequent first."""
    pairs, count = np.unique(np.stack([label, best]), axis=1, return_counts=True)
    most = np.argsort(-count, kind="stable")[:3]
    told = ", ".join(f"{classes[pairs[0, i]]} like {classes[pairs[1, i]]}: {count[i]}" for i in most)
    return told + (", ..." if len(count) > len(most) else "")
