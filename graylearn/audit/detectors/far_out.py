"""Rows far from every class whose labels look drawn: sensor junk, rows of another population.

The noise mixture reads how odd a sample is and how unlikely its label together, and with two or three classes
a few dozen wrong labels do not pay for that: classes that overlap look the same. But what lies far out is
known without any label. As a group these samples are then asked one thing: whether their labels contradict
the views about as often as labels drawn at random would, where those of all others hardly ever do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy
from scipy.stats import binom

from graylearn.array_types import Bools, Floats
from graylearn.audit.centroids import centre_distance
from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding, nothing

AFTER = ("random_labels", "foreign_clusters", "class_confusion", "flipped_labels", "foreign_among_confused")
FAR = (4.0, 5.0, 6.0, 8.0, 12.0, 16.0)
"""How many times as far as half of the samples from the nearest class: each is tried."""
FEWEST, MOST = 4, 0.3
"""How many lie far out at least, and which share of all at most."""
NEARLY, BETWEEN = 1.5, 0.35
"""How many may lie nearly as far out, as a part of those that do: tails that thin out slowly have .6 and more
there, and nothing tells the class of what lies in them."""
BY_CHANCE = 1e-5
"""Chance that so many of them contradict, if they did as often as others that bear their labels."""
AS_RANDOM = 0.6
"""How often they contradict at least, as a part of how often labels drawn at random do."""
MAX_ERROR = 0.2
"""Share of all others that may, and that are no suspects: beyond, the views hardly know the classes."""


@dataclass(frozen=True, eq=False)
class Group:
    """Samples far out whose labels look drawn at random."""

    out: Bools
    """(N,) who they are."""
    rate: float
    """Share of them that contradict."""
    error: Floats
    """(N,) share of the others that contradict, among those that bear the sample's label."""
    likelihood: float
    """Log likelihood of who contradicts, where these do at one rate and all others at another."""


def find(evidence: Evidence) -> Finding:
    """Look where no foreign samples were found: what others explain is left to them."""
    some_foreign = any(each.ood_prior.any() for each in evidence.findings.values())
    distance = None if some_foreign else how_far(evidence)
    if distance is None:
        return nothing(len(evidence))
    groups = [group for far in FAR if (group := group_beyond(evidence, distance, far)) is not None]
    if not groups:
        return nothing(len(evidence))
    return drawn_far_out(evidence, max(groups, key=lambda group: group.likelihood))


def group_beyond(evidence: Evidence, distance: Floats, far: float) -> Group | None:
    """Those beyond a distance, where they are set apart from the others and their labels look drawn."""
    out = evidence.checked & (distance > far)
    rest = evidence.checked & ~out
    count, nearly = int(out.sum()), int((rest & (distance > far / NEARLY)).sum())
    if not FEWEST <= count <= MOST * len(evidence) or nearly > BETWEEN * count:
        return None
    wrong, error = evidence.contradicted, errors_by_label(evidence, rest)
    rate, usual, drawn = float(wrong[out].mean()), float(error[out].mean()), 1 - 1 / evidence.num_classes
    unexplained = int(wrong[evidence.unsuspected][rest[evidence.unsuspected]].sum())
    if unexplained >= MAX_ERROR * rest.sum() or usual >= drawn / 2 or rate < AS_RANDOM * drawn:
        return None
    if len(FAR) * binom.sf(wrong[out].sum() - 1, count, usual) >= BY_CHANCE:
        return None
    return Group(out, rate, error, _likelihood(wrong[out]) + _likelihood(wrong[rest]))


def errors_by_label(evidence: Evidence, rows: Bools) -> Floats:
    """(N,) how often those of these samples that bear the same label contradict it.

    A rare class is often taken for a frequent one, and may lie far out: heart beats are such.
    """
    k, label = evidence.num_classes, evidence.label
    count = np.bincount(label[rows], minlength=k)
    against = np.bincount(label[rows & evidence.contradicted], minlength=k)
    return np.asarray(((against + 1) / (count + 2))[label])


def _likelihood(wrong: Bools) -> float:
    """The log likelihood of who contradicts, where all are as likely to."""
    rate = wrong.mean()
    return float(len(wrong) * (xlogy(rate, rate) + xlogy(1 - rate, 1 - rate)))


def how_far(evidence: Evidence) -> Floats | None:
    """(N,) how far each sample lies from the nearest class, where half of them lie within 1.

    Read from the columns that measure something; None where fewer than two do.
    """
    features = evidence.measures
    if features is None or features.shape[1] < 2:
        return None
    square = centre_distance(features, evidence.label, evidence.num_classes, evidence.device)
    distance = np.sqrt(square.min(axis=1))
    middle = float(np.median(distance))
    return np.asarray(distance / middle) if middle > 0 else None


def drawn_far_out(evidence: Evidence, group: Group) -> Finding:
    """The finding that labels of these samples are drawn at random as often as their rate says."""
    n, k = len(evidence), evidence.num_classes
    out, error = group.out, group.error
    by_chance, usual = 1 - 1 / k, float(error[out].mean())
    prior = np.where(out, min((group.rate - usual) / (by_chance - usual), 0.99), 0.0)
    given_drawn = np.where(evidence.contradicted, by_chance, 1 / k)
    given_own = np.where(evidence.contradicted, error, 1 - error)
    posterior = prior * given_drawn / (prior * given_drawn + (1 - prior) * given_own)
    note = (
        f"{int(out.sum()):,} samples lie far from every class, and their labels contradict what the others "
        f"are called in {group.rate:.0%} of cases, as labels drawn at random do"
    )
    return Finding(
        posterior,
        prior,
        prior,
        np.zeros(n),
        sure=np.zeros(n, dtype=bool),
        notes=(note,),
        details={"far_out": float(out.mean())},
    )
