"""Samples in groups, such as frames of one video, are judged by samples of other groups.

Samples of one group resemble one another whatever they show, so that they vouch for one another's labels: of
recordings that bear a wrong label as a whole nothing is found by an audit that knows of no groups
(docs/lab/audit.md). Two things are done about it. Networks are asked that saw no sample of the group. And all
that is compared over the samples, neighbours and how often labels are contradicted, is compared in parts, in
each of which a group has one sample of a label at most; each sample is judged in a part that it is in. But
what stands alone in its group is nothing that the others vouch for, and is judged among all samples too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Bools, Floats, Ints
from graylearn.audit.evidence import Evidence
from graylearn.audit.joint import Fields, joined, joint_notes, mean_ranges, taken
from graylearn.audit.kinds import REVIEW, SURE
from graylearn.audit.verdict import judge, where_to_look, worth_a_look
from graylearn.data.groups import group_numbers, in_order
from graylearn.data.samples import Samples
from graylearn.errors import counted
from graylearn.training.devices import one_thread

TWICE, ENOUGH = 2, 20_000
"""Samples of all parts together, at most: so many times those of the set, or so many."""
MOST_PARTS = 100
"""Parts at most."""
WORTH_THREADS = 1000
"""Samples of a part from which several threads are taken: on two busy cores parts of 120 take two to six
times as long with two threads as with one, and on idle ones none of up to 4,000 gains by a second."""
SAW_ALL = "the network of a history saw the whole group of each sample: groups are audited held out;"
"""What is said of an audit that cannot heed groups."""

Rows = Ints | slice


def groups_of(groups: Any, x: Any, n: int) -> Ints | None:
    """(N,) the group of each sample: as given, else of Samples; None where each stands alone."""
    if groups is None and isinstance(x, Samples):
        groups = x.groups
    if groups is None:
        return None
    found = group_numbers(groups, n)
    return found if len(np.unique(found)) < n else None


@dataclass(frozen=True)
class Parts:
    """Which samples are judged together, and which of them answers for each sample."""

    rows: list[Ints]
    """The samples of each part."""
    own: Ints
    """(N,) the part that each is judged in; -1 where a sample like it is."""
    pair: Ints
    """(N,) numbers of group and label together."""
    outnumbered: Bools
    """(N,) whether the group has twice as many samples of another label."""


def deal(group: Ints, label: Ints, seed: int = 0) -> Parts:
    """Parts in which each group has one sample of a label at most.

    A group is cut in as many slices as it has samples of its most frequent label. Samples of a label lie in
    as many of the slices, so that a slice has as many wrong ones as the group has by share. Each part has a
    slice of each group; of groups that have fewer than there are parts, again from the first.
    """
    random, n = np.random.default_rng(seed), len(label)
    group = in_order(group)
    pair = np.unique(group * (int(label.max()) + 1) + label, return_inverse=True)[1]
    size = np.bincount(pair)
    of_group = np.zeros(int(group.max()) + 1, dtype=np.int64)
    np.maximum.at(of_group, group, size[pair])
    slices = of_group[group]
    in_part = float((1.0 / slices).sum())
    parts = min(max(2, int(max(TWICE * n, ENOUGH) / in_part)), MOST_PARTS, int(slices.max()))
    order = random.permutation(n)
    order = order[np.argsort(pair[order], kind="stable")]
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n) - np.repeat(np.cumsum(size) - size, size)
    first = random.integers(1 << 62, size=len(size))
    lies = (first[pair] + place) % slices
    unseen = np.bincount(pair[lies < parts], minlength=len(size)) == 0
    first[unseen] = random.integers(parts, size=int(unseen.sum()))  # where some of a pair is judged at least
    lies = np.where(unseen[pair], (first[pair] + place) % slices, lies)
    return Parts(
        [np.flatnonzero(lies == part % slices) for part in range(parts)],
        np.where(lies < parts, lies, -1),
        pair,
        TWICE * size[pair] <= slices,
    )


def verdicts(
    evidence_of: Callable[[Rows], Evidence],
    label: Ints,
    features: NDArray[np.float32] | None,
    ids: NDArray[Any],
    group: Ints | None = None,
    answers: Ints | None = None,
) -> Fields:
    """The fields of an `Audit`: as `judge` has them, or in parts where samples belong together.

    evidence_of: gathers what is known of the samples at some rows. label (N,), features (N, D) where there
    are any, ids (N,), group (N,) or None; answers: as of `judge`.
    """
    if group is None:
        return judge(evidence_of(slice(None)), ids, answers)
    parts = deal(group, label)
    sizes = [len(rows) for rows in parts.rows]
    with one_thread() if max(sizes) < WORTH_THREADS else nullcontext():
        found = _judged(evidence_of, parts.rows, ids, _called(group, parts))
    own = [np.flatnonzero(parts.own[rows] == number) for number, rows in enumerate(parts.rows)]
    joint = joined([taken(each, index) for each, index in zip(found, own, strict=True)])
    judged = np.concatenate([rows[index] for rows, index in zip(parts.rows, own, strict=True)])
    whole = taken(joint, _answering(judged, parts, features))
    whole["level"] = _level(whole["level"], parts.pair)
    whole["ranges"] = mean_ranges([each["ranges"] for each in found], sizes)
    whole = _with_all_at_once(whole, evidence_of, parts) | {"ids": ids}
    best, every = whole["probabilities"].argmax(axis=1), slice(None) if answers is None else answers
    look = [] if whole["suspected"].any() else where_to_look(worth_a_look(best[every], whole["label"][every]))
    return whole | {"notes": (_told(group, sizes, found), *_notes(whole, found), *look)}


def _called(group: Ints, parts: Parts) -> str:
    """What the samples of a part are, of which there are enough or too few."""
    several = len(np.unique(parts.pair)) > len(np.unique(group))
    return "pairs of group and label" if several else "groups"


def _told(group: Ints, sizes: Sequence[int], found: Sequence[Fields]) -> str:
    """What was done, in words."""
    some = sum(bool(each["found_by"]) for each in found)
    where = f", of which {some} found something" if 0 < some < len(found) else ""
    parts = f"{counted(len(sizes), 'part')} of about {counted(int(np.mean(sizes)), 'sample')}"
    return (
        f"{counted(len(np.unique(group)), 'group')}: samples of one are not asked about one another, "
        f"but judged in {parts}{where}"
    )


def _notes(whole: Fields, found: Sequence[Fields]) -> tuple[str, ...]:
    """What was said of the parts; where samples are flagged, not why some parts flag none."""
    telling = [each["notes"] for each in found if each["suspected"].any()]
    if whole["suspected"].any():
        return joint_notes(telling) if telling else ()
    return joint_notes([each["notes"] for each in found])


def _judged(
    evidence_of: Callable[[Rows], Evidence], parts: Sequence[Ints], ids: NDArray[Any], called: str
) -> list[Fields]:
    """The verdicts on each part."""
    unasked: set[str] = set()
    found = [judge(evidence_of(rows), ids[rows], called=called) for rows in parts]
    # What few parts find is chance: they are of one kind, and on clean sets now and then one finds something.
    while 0 < 2 * sum(bool(each["found_by"]) for each in found) < len(found):
        unasked |= {name for each in found for name in each["found_by"]}
        found = [
            judge(evidence_of(rows), ids[rows], called=called, unasked=unasked) if each["found_by"] else each
            for rows, each in zip(parts, found, strict=True)
        ]
    return found


def _level(level: Ints, pair: Ints) -> Ints:
    """(N,) the same, but sure only where half of what bears the label in the group is.

    They are judged in different parts: of recordings of appliances whose labels are right, single samples
    were sure in one part or another, .5 % of them all.
    """
    sure = level == SURE
    share = np.bincount(pair, weights=sure) / np.bincount(pair)
    return np.where(sure & (2 * share[pair] < 1), REVIEW, level)


def _with_all_at_once(whole: Fields, evidence_of: Callable[[Rows], Evidence], parts: Parts) -> Fields:
    """The same, but as it looks among all samples for what stands alone in its group.

    That is a label that few of a group bear, if other groups do not speak for it; and a suspect most of whose
    group bears its label and is none, for which the others would have to be wrong too.
    """
    suspected, pair = whole["suspected"], parts.pair
    against = whole["probabilities"].argmax(axis=1) != whole["label"]
    share = np.bincount(pair, weights=suspected) / np.bincount(pair)
    asked = np.where(suspected, 2 * share[pair] < 1, parts.outnumbered & against)
    if not asked.any():
        return whole
    at_once = judge(evidence_of(slice(None)), whole["ids"])
    chosen = np.flatnonzero(asked & (at_once["suspected"] != suspected))
    if not len(chosen):
        return whole
    both = joined([whole, taken(at_once, chosen)])
    index = np.arange(len(pair))
    index[chosen] = len(index) + np.arange(len(chosen))
    return {**taken(both, index), "notes": whole["notes"], "ranges": whole["ranges"]}


def _answering(judged: Ints, parts: Parts, features: Floats | NDArray[np.float32] | None) -> Ints:
    """(N,) which of the judged samples answers for each: itself, or the nearest of its group and label."""
    answering = np.full(len(parts.own), -1)
    answering[judged] = np.arange(len(judged))
    others = np.flatnonzero(answering < 0)
    if not len(others):
        return answering
    alike = judged[np.argsort(parts.pair[judged], kind="stable")]
    begins, ends = (
        np.searchsorted(parts.pair[alike], parts.pair[others], side) for side in ("left", "right")
    )
    for row, begin, end in zip(others.tolist(), begins.tolist(), ends.tolist(), strict=True):
        near = 0
        if features is not None:
            near = int(((features[alike[begin:end]] - features[row]) ** 2).sum(axis=1).argmin())
        answering[row] = answering[alike[begin + near]]
    return answering
