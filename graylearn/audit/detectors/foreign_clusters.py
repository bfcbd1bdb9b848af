"""Samples that lie apart from the others of their label, as foreign samples that share one label do.

Two ways to see them. **Split**: each label's samples are parted in two by direction, and where the smaller
part points as far away from the larger as another class would, it is foreign. This sees foreign samples
that are alike, up to nearly half of a label. **Ranks**: how many samples *with other labels* are farther
from a label's centre than its own sample is; this sees those that are scattered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graylearn.audit.centroids import centre_cosine
from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding, nothing
from graylearn.audit.neighbours import unit_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

AFTER = ("random_labels",)
APART = 0.15
"""Cosine between the two parts of a label below which the smaller is held to be foreign. Parts of one clean
class point the same way (.2 to .9 on image and text features), two classes do not (median -.1)."""
EVIDENT = 0.03
"""Nats a sample that two bell curves must gain over one for a part to be evident. Parts of clean classes and
of labels given at random have -.1 to .1, parts that are one foreign class .1 to 1."""
MIN_PART, MIN_PART_SHARE = 3, 0.03
"""A part is at least so many samples, and such a share of its label."""
MIN_SHARE, MAX_SHARE = 0.1, 0.28
"""Fewer samples apart are what hard sets have of themselves (Tiny-ImageNet: 3 to 5 %, with 80 samples a class
9 %); with more, it is the classes that are not clouds."""
MIN_CLASSES = 4
"""With fewer classes there are too few kinds of foreign sample to compare with."""
MIN_SAMPLES = 250
"""Below this many samples the detector abstains: of 156 clean sets it flagged two of 150 and 200 samples."""
MIN_EVIDENT, MIN_EVIDENT_FAR, FAR = 0.1, 0.05, 0.1
"""Share of evident foreign parts from which on the split is believed; the second where the parts point away
from each other by more than the third beyond what two classes do. Clean features have up to .08, with parts
as near as classes are."""
AS_SURE = 0.91
"""Mean probability of the label in foreign parts, as a share of that elsewhere, from which on the parts are
held for kinds of one class: foreign samples have .3 to .88, classes made of two clouds .92 to 1."""
MAX_DIFFER = 0.36
"""Share of samples on which network and neighbours differ above which the detector abstains: weak features
(random directions, .39 to .47) have parts and ranks as foreign samples do."""
MAX_COSINE = -0.02
"""Mean cosine between the parts up to which they are believed to be foreign. Two ways to write a one, or a
nine, have 0 to .1 (16 of 60 clean parts of digits had evident parts), foreign classes -.1 to -.4."""
EXPLAINED, EXPLAINED_SPLIT = 0.85, 0.8
"""How well centres must predict the labels of members, as a share of how well the pooled views do."""
OPPOSITE = 0.68
"""Half of a foreign part ranks in the lower half of samples from elsewhere, being such. Where more do, the
parts lie on opposite sides of the middle of all data, as they do in tables with one strong axis (.8 to 1)."""
MIN_COSINE = -0.35
"""The same, by the mean cosine between the parts: -.1 to -.3 for foreign classes, -.5 to -.8 in tables."""
NONE_APART = "no sample lies apart"
"""The reason where it could have been told and none was found."""
KINDS_OF_ONE = "what lies apart fits its label as well as the others do: a class of several kinds"
_LEVELS = (0.1, 0.2, 0.3, 0.5)
_ROUNDS = 15


def find(evidence: Evidence) -> Finding:
    """Look among the samples that no detector before has made a suspect."""
    if evidence.features is None or evidence.num_classes < MIN_CLASSES or evidence.views_differ > MAX_DIFFER:
        return nothing(len(evidence))
    rest = evidence.unsuspected
    apart = apart_among(evidence, rest)
    details = {"foreign_clusters": apart.share}
    doubt = 1.0 - evidence.confidence
    some_random = evidence.found()
    if apart.rank is not None:
        away = 1.0 - apart.rank
        if apart.share > 0 and not some_random:
            # Where no label looks drawn at random, probabilities have learnt the foreign samples' labels.
            doubt[rest] = away
        else:
            doubt[rest] = 0.5 * (doubt[rest] + away)
    if apart.share == 0:
        # Nothing is held against them, yet the order may serve a person where there is no other.
        return nothing(len(evidence), doubt=None if some_random else doubt, details=details)
    posterior = np.zeros(len(evidence))
    posterior[rest] = apart.posterior
    note = (
        f"{apart.share:.1%} of the samples that fit their label by probability lie apart from the "
        "others of that label: foreign samples that share one label, or a class of two kinds"
    )
    return Finding(
        posterior,
        posterior,
        posterior,
        np.zeros(len(evidence)),
        sure=np.zeros(len(evidence), dtype=bool),  # a class of two kinds looks the same
        doubt=doubt,
        notes=(note,),
        details=details,
    )


def apart_among(evidence: Evidence, rows: Ints) -> Apart:
    """`lying_apart` among these samples.

    Where labels are drawn at random, OOD samples are spread over all of them: what is left of a label after
    these falls in parts of its own (imbalanced digits: two ways to write a one), and is not parted. Nor are
    labels where classes may overlap: in a table, a class of two kinds is the same picture.
    """
    assert evidence.features is not None
    label = evidence.label[rows]
    return lying_apart(
        evidence.features[rows],
        label,
        evidence.num_classes,
        evidence.best[rows] == label,
        confidence=evidence.confidence[rows],
        parts=evidence.overlap == "none" and not evidence.found("random_labels"),
    )


@dataclass(frozen=True)
class Split:
    """Each label's samples parted in two."""

    foreign: Bools
    """(N,) in the smaller part of a label whose parts lie as far apart as classes."""
    posterior: Floats
    """(N,) chance of belonging to the foreign part; zero for labels without one."""
    labels: Ints
    """Labels that have a foreign part."""
    evident: float
    """Share of the samples in foreign parts that are clusters of their own, and not only what is far out."""
    cosine: float
    """Mean cosine between the two parts of those labels."""


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


def _two_bells(pull: Floats, part: Bools) -> tuple[Floats, float]:
    """(N,) chance of belonging to the part by two bell curves along the pull, and what they gain over one.

    The gain is in nats a sample, with each sample counted to its own curve; one cloud cut in two has about 0.
    """
    share = float(part.mean())
    mean = np.array([pull[~part].mean(), pull[part].mean()])
    spread = np.maximum([pull[~part].std(), pull[part].std()], 1e-3)
    inside = share * np.log(share / spread[1]) + (1 - share) * np.log((1 - share) / spread[0])
    gain = float(inside + np.log(max(pull.std(), 1e-3)))
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
    return np.where(pull > mean[1], 1.0, np.where(pull < mean[0], 0.0, chance)), gain


def split_labels(unit: Floats, label: Ints) -> Split:
    """Part each label's unit rows in two and keep the parts that lie apart."""
    n = len(label)
    foreign, posterior = np.zeros(n, dtype=bool), np.zeros(n)
    found: list[int] = []
    angles: list[float] = []
    evident = 0
    for k in np.unique(label):
        members = np.flatnonzero(label == k)
        if len(members) < 4 * MIN_PART:
            continue
        rows = unit[members]
        part, pull = _halves(rows)
        if part.sum() < max(MIN_PART, MIN_PART_SHARE * len(members)):
            continue
        one, other = rows[part].sum(axis=0), rows[~part].sum(axis=0)
        cosine = float(one @ other / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-12))
        if cosine > APART:
            continue
        angles.append(cosine)
        chance, gain = _two_bells(pull, part)
        posterior[members] = chance + 1e-6 * pull
        foreign[members] = chance > 0.5
        evident += int(part.sum()) if gain > EVIDENT else 0
        found.append(int(k))
    return Split(
        foreign,
        np.clip(posterior, 0.0, 1.0),
        np.array(found, dtype=np.int64),
        evident / max(n, 1),
        float(np.mean(angles)) if angles else 0.0,
    )


def foreign_rank(similarity: Floats, label: Ints) -> Floats:
    """(N,) share of the samples with other labels that are farther from the sample's own centre than it is.

    Members come out near 1. What belongs elsewhere is as near as any other: evenly spread over 0 to 1.
    """
    rank = np.ones(len(label))
    for k in np.unique(label):
        own = label == k
        foreign = np.sort(similarity[~own, k])
        rank[own] = (np.searchsorted(foreign, similarity[own, k], side="right") + 0.5) / (len(foreign) + 1)
    return rank


@dataclass(frozen=True)
class Apart:
    """Samples that sit among their label's samples as one from elsewhere would."""

    posterior: Floats
    """(N,) chance that the sample does not belong to its label's cloud; zero where nothing is told."""
    share: float
    """Estimated share of samples apart; 0 where nothing is told."""
    reason: str
    """Why nothing is told, "" where something is."""
    rank: Floats | None = None
    """(N,) rank among the samples with other labels, where the centres explain the labels; None elsewhere."""


def lying_apart(
    features: NDArray[np.float32],
    label: Ints,
    num_classes: int,
    agreement: Bools,
    *,
    confidence: Floats | None = None,
    parts: bool = True,
) -> Apart:
    """Tell samples from elsewhere from members, where the classes are clouds at all.

    They are held to be clouds where the centres, freed of foreign parts, predict the labels of members
    nearly as well as the pooled views: `agreement` (N,) says where their best class is the given label.
    confidence: (N,) pooled probability of the label; parts that have as much of it as others are not foreign.
    parts: whether labels may be parted; without it only ranks count.
    """
    n = len(label)
    nothing = np.zeros(n)
    if n < MIN_SAMPLES:
        return Apart(nothing, 0.0, "too few samples")
    unit = unit_rows(features).double().numpy()
    split = split_labels(unit, label)
    evident = parts and _is_evident(split, unit, label)
    evident = evident and not _as_sure(confidence, split.foreign)
    similarity = centre_cosine(features, label, num_classes, split.foreign if evident else None)
    rank = foreign_rank(similarity, label)
    member = rank > 0.5
    predicted = similarity.argmax(axis=1) == label
    explained = predicted[member].mean() / max(float(agreement[member].mean()), 1e-12)
    if explained < (EXPLAINED_SPLIT if evident else EXPLAINED):
        return Apart(nothing, 0.0, "classes are not clouds here: centres do not explain the labels")
    by_rank = _by_rank(rank)
    if not evident:
        if by_rank.share > 0 and _as_sure(confidence, by_rank.posterior > 0.5):
            return Apart(nothing, 0.0, KINDS_OF_ONE, rank)
        return by_rank
    share = float(split.foreign.mean())
    if share > MAX_SHARE:
        return Apart(nothing, 0.0, "classes are not clouds here: too many samples lie apart")
    if (rank[split.foreign] < 0.5).mean() > OPPOSITE or split.cosine < MIN_COSINE:
        return Apart(nothing, 0.0, "classes are not clouds here: parts of a class lie opposite each other")
    posterior = split.posterior
    if by_rank.share > 0:
        apart = np.isin(label, split.labels)
        posterior = np.where(apart, 0.5 * (posterior + by_rank.posterior), by_rank.posterior)
    return Apart(posterior, float(posterior.mean()), "", rank)


def _as_sure(confidence: Floats | None, apart: Bools) -> bool:
    """Whether samples that lie apart have as much probability of their label as the others."""
    if confidence is None or apart.all() or not apart.any():
        return False
    return float(confidence[apart].mean()) >= AS_SURE * float(confidence[~apart].mean())


def _is_evident(split: Split, unit: Floats, label: Ints) -> bool:
    """Whether the parts are clusters of their own that point away from the rest of their label."""
    if split.evident < MIN_EVIDENT_FAR or split.cosine >= MAX_COSINE:
        return False
    centre = np.stack([unit[label == k].sum(axis=0) for k in np.unique(label)])
    centre /= np.maximum(np.linalg.norm(centre, axis=1, keepdims=True), 1e-12)
    between_classes = float(np.median((centre @ centre.T)[np.triu_indices(len(centre), 1)]))
    return split.evident >= MIN_EVIDENT or split.cosine < between_classes - FAR


def _by_rank(rank: Floats) -> Apart:
    """Samples apart by their ranks alone.

    If a share s of the samples lie apart, the ranks below any level l hold s * l of all samples, so
    their count tells s. That is right only where members rank near 1, and held to be so where the counts
    agree over the levels and s is not too large.
    """
    n = len(rank)
    nothing = np.zeros(n)
    density = {level: float((rank < level).mean()) / level for level in (*_LEVELS, 0.7)}
    noise = {level: 1.64 * np.sqrt((rank < level).sum() + 0.5) / (level * n) for level in _LEVELS}
    share = float(np.median([density[level] for level in _LEVELS]))
    if min(density[level] - noise[level] for level in _LEVELS) < 0 or share < MIN_SHARE:
        return Apart(nothing, 0.0, NONE_APART, rank)
    if share > MAX_SHARE:
        return Apart(nothing, 0.0, "classes are not clouds here: too many samples lie apart")
    if density[0.7] > 1.35 * density[0.3] + 0.03 or density[0.1] > 1.5 * density[0.5] + 0.03:
        return Apart(nothing, 0.0, "classes are not clouds here: uneven ranks", rank)
    return Apart(_local_share(rank, share), share, "", rank)


def _local_share(rank: Floats, share: float) -> Floats:
    """Chance of lying apart at each rank: share over the density of ranks, which rises towards 1."""
    bins = int(np.clip(len(rank) // 25, 20, 200))
    index = np.minimum((rank * bins).astype(np.int64), bins - 1)
    density = np.bincount(index, minlength=bins) * bins / len(rank)
    rising = np.maximum.accumulate(np.convolve(np.pad(density, 1, mode="edge"), np.ones(3) / 3, mode="valid"))
    chance = np.minimum(share / np.maximum(rising, 1e-12), 1.0)
    smooth = np.interp(rank, (np.arange(bins) + 0.5) / bins, chance)
    # Ranks that share a chance still differ: the lower, the farther apart.
    return np.asarray(np.clip(smooth * (1.0 - 1e-3 * rank), 0.0, 1.0))
