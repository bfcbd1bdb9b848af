"""Labels whose samples fall in two parts with a gap between them: the smaller part may be foreign.

Each label's samples are parted in two by direction. Any cloud can be cut in two, so a part counts only where
the cut goes through a gap: along the direction that tells the two best, fitted on one half of the samples and
read on the other, there are fewer samples half-way than at either end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Bools, Floats, Ints
from graylearn.audit.centroids import directions
from graylearn.audit.gaps import gaps

APART, APART_ONCE_EVIDENT = 0.15, 0.4
"""Cosine between the two parts of a label below which the smaller is held to be foreign; the second where
other labels have shown that there are foreign samples, and the gap is clear. Parts of one clean class point
the same way (.2 to .9 on image and text features), two classes do not (median -.1)."""
GAP, CLEAR_GAP = 0.6, 0.2
"""Density half-way between the parts, over that at their means, below which there is a gap. Foreign parts
have .0 to .5, parts of clean classes .9 to 1.6."""
MIN_PART, MIN_PART_SHARE, MIN_REST = 3, 0.03, 8
"""A part is at least so many samples, and such a share of its label; the rest of the label so many."""
MIN_EVIDENT, MIN_EVIDENT_ONE = 0.05, 0.08
"""Share of all samples in foreign parts from which on they are believed; the second where they are all on one
label."""
MAX_COSINE, MAX_COSINE_MANY, MANY = -0.05, -0.02, 0.1
"""Mean cosine between the parts up to which they are believed to be foreign; the second where they hold more
of all samples than the third. Two ways to write a one or a nine have 0 to .1, foreign classes -.03 to -.4."""
ALIKE, UNLIKE, MIN_ALIKE = 0.08, -0.08, 3
"""What foreign parts have in common tells them from kinds of a class, which are as unlike as classes are: by
how much more they are like one another than like the rest of other labels (cosine). Above the first, on as
many labels as the last, they are of one source; below the second they are kinds. Foreign photos and digits
have .09 to .59, foreign sentences of many intents 0, classes of two kinds -.2 to .07."""
_ROUNDS = 15


@dataclass(frozen=True)
class Parts:
    """The foreign parts of the labels of N samples."""

    foreign: Bools
    """(N,) in the smaller part of a label whose parts lie apart."""
    chance: Floats
    """(N,) chance of belonging to the smaller part of its label, foreign or not; zero where none was cut."""
    labels: Ints
    """Labels that have a foreign part; none where the parts are not believed to be foreign."""
    evident: float
    """Share of the samples in parts as far apart as classes, with a gap between."""
    cosine: float
    """Mean cosine between the two parts of those labels."""
    alike: float = 0.0
    """By how much the parts of labels are more like one another than like the rest of other labels."""

    @property
    def of_one_source(self) -> bool:
        """Whether so many labels have parts so much alike that they must have come from one place."""
        return self.alike > ALIKE and len(self.labels) >= MIN_ALIKE

    @property
    def of_kinds(self) -> bool:
        """Whether parts are so unlike one another that they must be kinds of their classes."""
        return self.alike < UNLIKE


def foreign_parts(features: NDArray[np.float32], unit: Floats, label: Ints, num_classes: int) -> Parts:
    """Part each label in two and keep the parts that are foreign; unit: (N, D) features of length 1."""
    n = len(label)
    none, nowhere = np.zeros(n, dtype=bool), np.zeros(0, dtype=np.int64)
    part, chance, cosine = split_labels(unit, label)
    count = np.bincount(label, minlength=num_classes)
    small = np.bincount(label[part], minlength=num_classes)
    cut = [k for k in cosine if count[k] - small[k] >= MIN_REST]
    if not cut:
        return Parts(none, chance, nowhere, 0.0, 0.0)
    parted = np.where(part, label + num_classes, label)
    read = gaps(features, parted, parted, {(k, k + num_classes) for k in cut}, 2 * num_classes)
    gap = {k: read[k, k + num_classes][0] for k in cut}
    apart = [k for k in cut if gap[k] < GAP and cosine[k] < APART]
    evident = float(small[apart].sum()) / n
    mean_cosine = float(np.mean([cosine[k] for k in apart])) if apart else 0.0
    least = MIN_EVIDENT if len(apart) > 1 else MIN_EVIDENT_ONE
    if evident < least or mean_cosine > (MAX_COSINE if evident < MANY else MAX_COSINE_MANY):
        return Parts(none, chance, nowhere, evident, mean_cosine)
    labels = np.array([k for k in cut if k in apart or gap[k] < CLEAR_GAP], dtype=np.int64)
    foreign, alike = part & np.isin(label, labels), _alike(unit, label, part, labels)
    return Parts(foreign, chance, labels, evident, mean_cosine, alike)


def _alike(unit: Floats, label: Ints, part: Bools, labels: Ints) -> float:
    """Mean cosine between the parts of two of the `labels`, less that between a part and another's rest."""
    if len(labels) < 2:
        return 0.0
    every = np.unique(label)
    parts = directions(np.stack([unit[(label == k) & part].sum(axis=0) for k in labels]))
    rests = directions(np.stack([unit[(label == k) & ~part].sum(axis=0) for k in every]))
    between = parts @ parts.T
    others = (parts @ rests.T)[labels[:, None] != every]
    return float(between[~np.eye(len(labels), dtype=bool)].mean() - others.mean())


def split_labels(unit: Floats, label: Ints) -> tuple[Bools, Floats, dict[int, float]]:
    """Part each label's unit rows in two by direction.

    Returns (N,) whether in the smaller part, (N,) the chance of it, and by label the cosine between the
    parts, for labels whose parts point apart.
    """
    n = len(label)
    foreign, posterior = np.zeros(n, dtype=bool), np.zeros(n)
    angles: dict[int, float] = {}
    order = np.argsort(label, kind="stable")
    known, first = np.unique(label[order], return_index=True)
    for k, members in zip(known.tolist(), np.split(order, first[1:]), strict=True):
        if len(members) < 4 * MIN_PART:
            continue
        rows = unit[members]
        part, pull = _halves(rows)
        if part.sum() < max(MIN_PART, MIN_PART_SHARE * len(members)):
            continue
        if _cosine(rows, part) > APART_ONCE_EVIDENT:
            continue
        chance = _two_bells(pull, part)
        if (chance > 0.5).sum() < MIN_PART:
            continue
        angles[k] = _cosine(rows, chance > 0.5)
        posterior[members] = np.clip(chance + 1e-6 * pull, 0.0, 1.0)
        foreign[members] = chance > 0.5
    return foreign, posterior, angles


def _cosine(rows: Floats, part: Bools) -> float:
    """Cosine between the sum of the part and that of the other rows."""
    one, other = rows[part].sum(axis=0), rows[~part].sum(axis=0)
    return float(one @ other / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-12))


def _leave_one_out(rows: Floats, part: Bools) -> Floats:
    """(N,) cosine to the mean of the part less cosine to the mean of the others, each row itself left out."""

    def cosine(inside: Bools) -> Floats:
        total = rows[inside].sum(axis=0) - rows * inside[:, None]
        length = np.maximum(np.linalg.norm(total, axis=1), 1e-12)
        return np.asarray(np.einsum("nd,nd->n", rows, total) / length)

    return cosine(part) - cosine(~part)


def _halves(rows: Floats) -> tuple[Bools, Floats]:
    """Two spherical means, begun from the fifth of the samples that are farthest from the others."""
    everyone = np.ones(len(rows), dtype=bool)
    away = -_leave_one_out(rows, everyone)
    part = away > np.quantile(away, 0.8)
    pull = np.zeros(len(rows))
    for _ in range(_ROUNDS):
        pull = _leave_one_out(rows, part)
        moved = pull > 0
        if moved.all() or not moved.any() or np.array_equal(moved, part):
            break
        part = moved
    return (part, pull) if part.mean() <= 0.5 else (~part, -pull)


def _two_bells(pull: Floats, part: Bools) -> Floats:
    """(N,) chance of belonging to the part by two bell curves along the pull."""
    share = float(part.mean())
    mean = np.array([pull[~part].mean(), pull[part].mean()])
    spread = np.maximum([pull[~part].std(), pull[part].std()], 1e-3)
    weight = np.array([1 - share, share])
    chance = part.astype(np.float64)
    for _ in range(20):
        density = weight / spread * np.exp(-0.5 * ((pull[:, None] - mean) / spread) ** 2) + 1e-300
        chance = density[:, 1] / density.sum(axis=1)
        weight = np.clip([1 - chance.mean(), chance.mean()], 0.02, 0.98)
        each = np.stack([1 - chance, chance])
        total = each.sum(axis=1) + 1e-9
        mean = each @ pull / total
        spread = np.sqrt((each * (pull - mean[:, None]) ** 2).sum(axis=1) / total)
        spread = np.maximum(spread, 0.5 * spread.max() + 1e-3)  # no curve shrinks to a few samples
    # Far out, where both curves vanish, the nearer end decides.
    return np.where(pull > mean[1], 1.0, np.where(pull < mean[0], 0.0, chance))
