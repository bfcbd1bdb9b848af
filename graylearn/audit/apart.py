"""Samples that lie apart from the others of their label, as foreign samples that share one label do.

Two ways to see them. **Parts**: each label's samples are parted in two by direction, and where the smaller
part points as far away from the larger as another class would and there is a gap between them, it is foreign.
This sees foreign samples that are alike, up to nearly half of a label. **Ranks**: how many samples *with
other labels* are farther from a label's centre than its own sample is; this sees those that are scattered.
What both say together is then told to the neighbours and to a kernel, which are asked what they make of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from graylearn.array_types import Bools, Floats, Ints
from graylearn.audit.beliefs import AskedAgain
from graylearn.audit.blocks import LARGE, drawn, precision_for, row_blocks
from graylearn.audit.centroids import TRIM, centre_cosine, closest, round_classes
from graylearn.audit.evidence import Evidence
from graylearn.audit.label_parts import Parts, foreign_parts
from graylearn.audit.neighbours import unit_rows

MIN_SHARE, MIN_SHARE_WEAK, MAX_SHARE = 0.1, 0.15, 0.28
"""By ranks alone: fewer samples apart are what hard sets have of themselves (Tiny-ImageNet: 3 to 5 %, weak
features .14); with more, it is the classes that are not clouds."""
MIN_CLASSES = 4
"""With fewer classes there are too few kinds of foreign sample to compare with."""
MIN_SAMPLES = 250
"""Below this many samples the detector abstains: of 156 clean sets it flagged two of 150 and 200 samples."""
WEAK_DIFFER, WEAK_AGREEMENT = 0.3, 0.72
"""The model is weak where network and neighbours differ on more than the first, or the pooled views would
give fewer than the second of the members their label (photos with foreign ones .74 to .77, pixels .6)."""
EXPLAINED, EXPLAINED_PARTS = 0.85, 0.8
"""How well centres must predict the labels of members, as a share of how well the pooled views do; the second
where there are foreign parts."""
AS_SURE = 0.87
"""Mean probability of the label in what lies apart, as a share of that elsewhere, from which on it is held
for a kind of the class: foreign samples have .3 to .86, classes of two kinds .88 to 1."""
NEARER, NEARER_WEAK, FARTHER = 1.8, 1.35, 1.5
"""How uneven the ranks of foreign samples may be: by how much there may be more of them near than far (weak
features have many of their own members there: twice as many), and far out than near."""
PASSES = 2
MAX_VALUES = 1 << 26
"""Beliefs (60,000 samples of 500 labels) beyond which neighbours and kernel are not asked again."""
NONE_APART = "no sample lies apart"
"""The reason where it could have been told and none was found."""
KINDS_OF_ONE = "what lies apart fits its label as well as the others do: a class of several kinds"
_LEVELS = (0.1, 0.2, 0.3, 0.5)


def apart_among(evidence: Evidence, rows: Ints, *, parts: bool = True) -> Apart:
    """`lying_apart` among these samples; parts: whether their labels may be parted.

    Where labels are drawn at random, OOD samples are spread over all of them: what is left of a label after
    these falls in parts of its own (imbalanced digits: two ways to write a one), and is not parted. Nor are
    labels where classes may overlap: in a table, a class of two kinds is the same picture. Labels of a large
    set are not where some of it show no part that is believed.
    """
    assert evidence.features is not None
    label = evidence.label[rows]
    if parts and (some := parts_of_some(evidence, rows)) is not None:
        parts = len(some.labels) > 0
    return lying_apart(
        evidence.features[rows],
        label,
        evidence.num_classes,
        evidence.best[rows] == label,
        confidence=evidence.confidence[rows],
        parts=parts and evidence.overlap == "none",
        weak=evidence.views_differ > WEAK_DIFFER or evidence.overlap == "possible",
        device=evidence.device,
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


def standing(
    features: NDArray[np.float32],
    label: Ints,
    similarity: Floats,
    foreign: Bools,
    device: torch.device | str = "cpu",
) -> Floats:
    """(N, K) how near each sample is to each label's centre, by two measures that err on different samples.

    The cosine as it is and in the space where classes are round, each in units of its spread over the samples
    that do not bear the label.
    """
    num_classes = similarity.shape[1]
    own = similarity[np.arange(len(label)), label]
    kept = closest(own, label, TRIM) & ~foreign
    some = drawn(label, num_classes)
    learned = slice(None) if some is None else some
    whiten = round_classes(features[learned].astype(np.float64), label[learned], num_classes, kept[learned])[
        1
    ]
    rounded = np.empty_like(features)
    for part in row_blocks(*features.shape):
        rounded[part] = features[part] @ whiten.T
    white = centre_cosine(rounded, label, num_classes, foreign, device)
    return _among_others(similarity, label) + _among_others(white, label)


def _among_others(similarity: Floats, label: Ints) -> Floats:
    """Each column less its mean and over its spread, both of the samples that do not bear its label."""
    rows, k = np.arange(len(label)), similarity.shape[1]
    own = similarity[rows, label]
    count = np.maximum(len(label) - np.bincount(label, minlength=k), 1)
    mean = (similarity.sum(axis=0) - np.bincount(label, own, k)) / count
    square = ((similarity**2).sum(axis=0) - np.bincount(label, own**2, k)) / count
    return np.asarray((similarity - mean) / np.sqrt(np.maximum(square - mean**2, 1e-18)))


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
    weak: bool = False,
    device: torch.device | str = "cpu",
) -> Apart:
    """Tell samples from elsewhere from members, where the classes are clouds at all.

    They are held to be clouds where the centres, freed of foreign parts, predict the labels of members
    nearly as well as the pooled views: `agreement` (N,) says where their best class is the given label.
    confidence: (N,) pooled probability of the label; what has as much of it as others is not foreign.
    parts: whether labels may be parted; without it only ranks count. weak: whether the model is known to err
    often, or classes may overlap: ranks must then be clearer.
    """
    n = len(label)
    nothing = np.zeros(n)
    if n < MIN_SAMPLES:
        return Apart(nothing, 0.0, "too few samples")
    found = None
    if parts:
        found = _parted(features, label, num_classes)
    if found is not None and found.of_kinds:
        return Apart(nothing, 0.0, KINDS_OF_ONE)
    in_most = found is not None and found.of_one_source and 2 * len(found.labels) >= num_classes
    if found is not None and not in_most and _kinds_of_one(confidence, label, found):
        found = None
    evident = found is not None and len(found.labels) > 0
    foreign = found.foreign if found is not None else np.zeros(n, dtype=bool)
    similarity = centre_cosine(features, label, num_classes, foreign, device)
    member = foreign_rank(similarity, label) > 0.5
    agreed = float(agreement[member].mean())
    explained = (similarity.argmax(axis=1) == label)[member].mean() / max(agreed, 1e-12)
    if explained < (EXPLAINED_PARTS if evident else EXPLAINED):
        return Apart(nothing, 0.0, "classes are not clouds here: centres do not explain the labels")
    rank = foreign_rank(standing(features, label, similarity, foreign, device), label)
    by_rank = _by_rank(rank, weak=weak or agreed < WEAK_AGREEMENT)
    if found is None or not evident:
        if by_rank.share == 0:
            return by_rank
        if _as_sure(confidence, by_rank.posterior > 0.5):
            return Apart(nothing, 0.0, KINDS_OF_ONE, rank)
    elif float(foreign.mean()) > MAX_SHARE:
        return Apart(nothing, 0.0, "classes are not clouds here: too many samples lie apart")
    posterior = _local_share(rank, float(np.clip(_share(rank), MIN_SHARE, MAX_SHARE)))
    if found is not None:
        posterior = 0.5 * (posterior + _by_part(found, label, posterior))
    posterior = _asked_again(features, label, num_classes, posterior, device)
    return Apart(posterior, float(posterior.mean()), "", rank)


def _parted(features: NDArray[np.float32], label: Ints, num_classes: int) -> Parts:
    unit = unit_rows(features).numpy().astype(precision_for(features.size))
    return foreign_parts(features, unit, label, num_classes)


def parts_of_some(evidence: Evidence, rows: Ints) -> Parts | None:
    """The parts of labels as some of many samples show them; None of fewer, of which all are looked at."""
    some = drawn(evidence.label[rows], evidence.num_classes) if len(rows) > LARGE else None
    if some is None or evidence.features is None or evidence.overlap != "none":
        return None
    part = rows[some]
    return _parted(evidence.features[part], evidence.label[part], evidence.num_classes)


def _by_part(parts: Parts, label: Ints, by_rank: Floats) -> Floats:
    """(N,) chance of being foreign by the part of the label that the sample is in.

    Any cloud can be cut in two, so without a gap the part counts only where ranks say the same.
    """
    return np.where(np.isin(label, parts.labels), parts.chance, np.sqrt(parts.chance * by_rank))


def _asked_again(
    features: NDArray[np.float32],
    label: Ints,
    num_classes: int,
    posterior: Floats,
    device: torch.device | str,
) -> Floats:
    """(N,) the posterior, in the mean with what neighbours and a kernel make of it.

    They are asked to tell members of each label from what is foreign under it, as the posterior has them,
    each sample left out. Foreign sentences: AUROC .963 -> .972; photos: F1 .72 -> .77.
    """
    if 2 * num_classes * len(label) > MAX_VALUES:
        return posterior
    views = AskedAgain(features, device=device)
    rows = np.arange(len(label))
    believed = posterior
    for _ in range(PASSES):
        belief = np.zeros((len(label), 2 * num_classes))
        belief[rows, label], belief[rows, label + num_classes] = 1.0 - believed, believed
        said = views.by_vote(belief) + views.by_kernel(belief)
        member, foreign = said[rows, label], said[rows, label + num_classes]
        believed = 0.5 * (posterior + foreign / (member + foreign))
    return np.asarray(believed)


def _as_sure(confidence: Floats | None, apart: Bools) -> bool:
    """Whether samples that lie apart have as much probability of their label as the others."""
    if confidence is None or apart.all() or not apart.any():
        return False
    return float(confidence[apart].mean()) >= AS_SURE * float(confidence[~apart].mean())


def _kinds_of_one(confidence: Floats | None, label: Ints, parts: Parts) -> bool:
    """Whether that holds of all parts together, or of most labels' parts against the rest of their label."""
    if confidence is None:
        return False
    surer = [_as_sure(confidence[label == k], parts.foreign[label == k]) for k in parts.labels.tolist()]
    return _as_sure(confidence, parts.foreign) or 2 * sum(surer) > len(surer)


def _by_rank(rank: Floats, *, weak: bool = False) -> Apart:
    """Samples apart by their ranks alone.

    If a share s of the samples lie apart, the ranks below any level l hold s * l of all samples, so
    their count tells s. That is right only where members rank near 1, and held to be so where the counts
    agree over the levels and s is not too large.
    """
    n = len(rank)
    nothing = np.zeros(n)
    density = {level: float((rank < level).mean()) / level for level in (*_LEVELS, 0.7)}
    noise = {level: 1.64 * np.sqrt((rank < level).sum() + 0.5) / (level * n) for level in _LEVELS}
    share = _share(rank)
    least, nearer = (MIN_SHARE_WEAK, NEARER_WEAK) if weak else (MIN_SHARE, NEARER)
    if min(density[level] - noise[level] for level in _LEVELS) < 0 or share < least:
        return Apart(nothing, 0.0, NONE_APART, rank)
    if share > MAX_SHARE:
        return Apart(nothing, 0.0, "classes are not clouds here: too many samples lie apart")
    if density[0.7] > nearer * density[0.3] + 0.03 or density[0.1] > FARTHER * density[0.5] + 0.03:
        return Apart(nothing, 0.0, "classes are not clouds here: uneven ranks", rank)
    return Apart(_local_share(rank, share), share, "", rank)


def _share(rank: Floats) -> float:
    """The share of samples apart that the ranks below each level stand for, the middle one of them."""
    return float(np.median([(rank < level).mean() / level for level in _LEVELS]))


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
