"""From samples and labels to verdicts: the one way that every audit goes.

Copies are set aside, the views are asked, evidence is gathered, the judge reads it; what follows is
arithmetic on its posterior. Nothing else decides.

Copies are asked about once, and do not vouch for one another's labels. Whether equal rows are copies of one
sample or several samples that happen to be alike is told by the columns: where either half of them takes few
values, rows are equal by chance, and each of them counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Bools, Floats, Ints
from graylearn.audit.evidence import Evidence, gather
from graylearn.audit.forest import hashed, uniform
from graylearn.audit.judge import Judge, shipped
from graylearn.audit.kinds import MISLABELLED, OK, OOD, REVIEW, SURE, chances_by_kind, ranges_of
from graylearn.audit.views import Rows
from graylearn.data.samples import Label
from graylearn.data.splits import in_order, label_of_groups, row_numbers
from graylearn.errors import first_few, shortened

Mode = Literal["held-out", "history", "predictions"]
"""Who says what a sample looks like: views, or a model, that did not see it; the epochs of a training run
that did; probabilities from elsewhere."""

_DIGITS = 3  # of features in spreads, beyond which two rows are equal
MIN_SAMPLES = 30
"""Below this many samples nothing is judged."""
SITTING = 50
"""Samples that a person looks at in one go."""
OVERLAP = {None: "auto", True: "none", False: "possible"}


@dataclass(frozen=True)
class Known:
    """What is known of N samples of K classes."""

    ids: NDArray[Any]
    """(N,) what the user calls each."""
    label: Ints
    """(N,) given labels, index in `classes`."""
    classes: tuple[Label, ...]
    mode: Mode
    content: NDArray[np.uint64]
    """(N,) a number of what each sample is, before any scaling."""
    features: NDArray[np.float32] | None = None
    """(N, D) scaled."""
    given: Floats | None = None
    """(N, K) class probabilities by a model."""
    group: Ints | None = None
    """(N,) what samples belong to that say nothing of one another."""
    one_class: bool | None = None
    """Whether each sample has one true class, if the user says."""


def verdict(known: Known, judge: Judge | None = None) -> dict[str, Any]:
    """The fields of an `Audit`; of a set that is not judged every sample belongs, for all that is known."""
    label, classes, n = known.label, known.classes, len(known.label)
    judge = shipped() if judge is None else judge
    every, why = np.arange(n), _unjudged(known)
    if why:
        even = np.full((n, len(classes)), 1.0 / max(len(classes), 1))
        probabilities = even if known.given is None else known.given
        beliefs, best = np.eye(len(classes))[label], label
        held, wrong, foreign = np.zeros(n), np.zeros(n), np.zeros(n)
    else:
        evidence, y, answers = _asked(known)
        chances = judge(evidence)[answers]
        held, wrong, foreign = 1.0 - chances[:, 0], chances[:, 1], chances[:, 2]
        probabilities, others = evidence.probabilities[answers], evidence.beliefs[answers]
        best, beliefs = others.argmax(axis=1), others * wrong[:, None]
        beliefs[every, label] = chances[:, 0]
    suspected = held > judge.settings["threshold"]
    kind = np.where(~suspected, OK, np.where(foreign > wrong, OOD, MISLABELLED))
    because, ranges, notes = np.full(n, "", dtype=object), {}, [why]
    if not why:
        near = held >= (DOUBTFUL if suspected.any() else np.sort(held)[-max(worth_a_look(held), 1)])
        because = _because(evidence, y, classes, answers, suspected | near, foreign > wrong)
        ranges = ranges_of(chances_by_kind(foreign, wrong, kind), judge.settings["reach"])
        notes = _doubts(classes, label, suspected) + _few_groups(known)
        if known.mode == "predictions" and known.features is None:
            notes += _learned(probabilities, label)
    return {
        "ids": known.ids,
        "label": label,
        "classes": classes,
        "confidence": probabilities[every, label],
        "probabilities": probabilities,
        "beliefs": beliefs,
        "score": held,
        "suspected": suspected,
        "level": np.where(suspected, np.where(held > judge.settings["sure"], SURE, REVIEW), 0),
        "kind": kind.astype(np.int64),
        "suggested": np.where(kind == OK, label, np.where(kind == OOD, -1, best)),
        "foreign": foreign,
        "mode": known.mode,
        "overlap": OVERLAP[known.one_class],
        "because": because,
        "ranges": ranges,
        "notes": tuple(notes),
        "judge": judge.id,
    }


def _asked(known: Known) -> tuple[Evidence, Ints, Ints]:
    """(evidence of the samples that differ, their labels, (N,) which of them answers for each sample)."""
    what = known.features if known.features is not None else known.given
    assert what is not None
    rows, chosen, answers = different(
        np.asarray(what, dtype=np.float32), known.content, known.label, len(known.classes), known.group
    )
    if known.features is None:
        rows = rows.without_features()
    given = None if known.given is None else known.given[chosen]
    evidence = gather(rows, given=given, saw_labels=known.mode == "history", one_class=known.one_class)
    return evidence, rows.y, answers


def views_say(
    content: NDArray[np.uint64], features: NDArray[np.float32], label: Ints, num_classes: int
) -> Floats:
    """(N, K) class probabilities of the views, which leave each sample out."""
    rows, _, answers = different(features, content, label, num_classes)
    return gather(rows).probabilities[answers]


def _unjudged(known: Known) -> str:
    """Why the set cannot be judged; nothing where it can."""
    label, features = known.label, known.features
    if len(label) < MIN_SAMPLES:
        return f"not judged: {len(label)} samples are too few (at least {MIN_SAMPLES})"
    if len(np.unique(label)) < 2:
        return "not judged: all samples have the same label"
    if known.given is None and (features is None or not np.ptp(features, axis=0).any()):
        return "not judged: every column has one value, so nothing tells the samples apart"
    return ""


def worth_a_look(posterior: Floats) -> int:
    """How many of the first by score to look at if none is flagged: as many as may be wrong, at most 50."""
    return int(min(np.ceil(posterior.sum()), SITTING, len(posterior)))


def _doubts(classes: tuple[Label, ...], label: Ints, suspected: Bools) -> list[str]:
    """Where the audit may be what is wrong: classes most of which it suspects."""
    count = np.bincount(label, minlength=len(classes))
    flagged = np.bincount(label[suspected], minlength=len(classes))
    doubted = np.flatnonzero(2 * flagged > count)
    worst = doubted[np.argsort(-flagged[doubted] / count[doubted], kind="stable")]
    told = [f"{shortened(str(classes[k]))!r}: {flagged[k]} of {count[k]}" for k in worst]
    if not told:
        return []
    many = "one class" if len(told) == 1 else f"{len(told)} classes"
    return [
        f"most samples of {many} are suspected ({first_few(told, 5)}): many of these labels are wrong, or "
        "the audit does not understand them; look before you drop anything"
    ]


FEW_GROUPS = 5
"""Groups of a class below which those that are left say little of one of them."""


def _few_groups(known: Known) -> list[str]:
    """A word where groups are so few that they hide the classes rather than what their samples share."""
    if known.group is None:
        return []
    of_class = np.bincount(label_of_groups(in_order(known.group), known.label))
    typical = int(np.median(of_class[of_class > 0]))
    if typical >= FEW_GROUPS:
        return []
    return [
        f"a typical class lies in {typical} of the {of_class.sum()} groups: a sample is judged by the other "
        "groups of its class alone, so little can be found; if classes are made of such groups, name finer "
        "ones, or none"
    ]


def _learned(probabilities: Floats, label: Ints) -> list[str]:
    """A word where the model of the probabilities agrees with nearly every label."""
    if (probabilities.argmax(axis=1) != label).mean() >= 0.01:
        return []
    return [
        "a model agrees with the wrong labels that it was trained on: if this one was trained on these "
        "samples, give out-of-fold probabilities, as cross_val_predict makes them"
    ]


DOUBTFUL = 0.25
"""Score from which on a sample that is not flagged is still worth a look."""
FAR_OUT = 0.9
"""Rank of a distance among a class's samples from which it is told as a reason."""
IN_TWO = 0.75
"""Share of the variance along the leading axis that one cut explains, from which on a class falls in two: in
a round one it is .64."""


def _because(
    evidence: Evidence, y: Ints, classes: tuple[Label, ...], answers: Ints, wanted: Bools, alien: Bools
) -> NDArray[Any]:
    """(N,) one sentence per wanted sample, from its evidence; empty for the others."""
    said = np.full(len(answers), "", dtype=object)
    rows = np.unique(answers[wanted])
    if not len(rows):
        return said
    best, names = evidence.beliefs.argmax(axis=1), [shortened(str(name)) for name in classes]
    near_label, near_other = evidence.column("near: share of label"), evidence.column("near: share of other")
    models = {"a model of the other samples": "kernel: other", "the model": "given: other"}
    chances = {name: np.exp(evidence.column(column)) for name, column in models.items()}
    far_label = evidence.column("away, rank in label")
    far_other = evidence.column("away, rank in other")
    aside = (evidence.column("label: in the smaller part") > 0) & (near_label > 0.5)
    aside &= evidence.column("label: falls in two") > IN_TWO
    foreign = np.zeros(len(y), dtype=bool)
    foreign[answers[alien]] = True
    sentences = {}
    for row in rows:
        own, other = names[y[row]], names[best[row]]
        near = [(near_label[row], own), (near_other[row], other)]
        if foreign[row]:
            parts = [
                f"it lies farther out than {far:.0%} of {name}"
                for name, far in ((own, far_label[row]), (other, far_other[row]))
                if far > FAR_OUT
            ]
            if aside[row]:
                smaller = np.exp(evidence.column("label: smaller part")[row])
                parts.append(f"it lies in a part of {own} ({smaller:.0%} of it) apart from the rest")
            else:
                parts += _beside(near)
            why = f"no class explains it: {other} would be the likeliest"
        else:
            if near_other[row] > near_label[row]:
                parts = _beside(near[::-1])
            else:
                parts = _beside(near[:1]) if near_label[row] < 0.5 else []
            likely = {name: said[row] for name, said in chances.items() if said[row] > 0.3}
            parts += [f"{name} gives {said:.0%} to {other}" for name, said in likely.items()]
            why = f"the views together give {own} only {evidence.probabilities[row, y[row]]:.0%}"
        sentences[row] = "; ".join(parts or [why])
    for place in np.flatnonzero(wanted):
        said[place] = sentences[answers[place]]
    return said


def _beside(near: list[tuple[float, str]]) -> list[str]:
    """Of which classes neighbours are; nothing where there are none."""
    (share, name), *others = near
    rest = "".join(f", {share:.0%} {name}" for share, name in others)
    return [f"{share:.0%} of its neighbours are {name}{rest}"] if np.isfinite(share) else []


def different(
    x: NDArray[np.float32], content: NDArray[np.uint64], y: Ints, num_classes: int, group: Ints | None = None
) -> tuple[Rows, Ints, Ints]:
    """The samples to be asked about, in an order that hangs on their content alone.

    x: (N, D) scaled features, or any numbers that tell samples apart. content: (N,) a number of what each
    sample is, before any scaling. Gives the rows, (M,) which samples they are, and (N,) which row answers for
    each sample. Samples of equal features, label and group are one row.
    """
    rounded = row_numbers(np.round(x, _DIGITS))
    keys = [y, rounded] if group is None else [group, y, rounded]
    order = np.lexsort([content, *keys])
    new = np.ones(len(order), dtype=bool)
    for key in keys:
        new[1:] &= key[order][1:] == key[order][:-1]
    new[1:] = ~new[1:]
    new[:1] = True
    chosen = order[new]
    number = np.cumsum(new) - 1
    answers = np.empty(len(order), dtype=np.int64)
    answers[order] = number
    if group is not None:
        group = by_members(group, content)
    by_content = np.lexsort(
        [content[chosen], *([] if group is None else [group[chosen]]), y[chosen], rounded[chosen]]
    )
    place = np.empty_like(by_content)
    place[by_content] = np.arange(len(by_content))
    chosen, answers = chosen[by_content], place[answers]
    count = np.bincount(answers, minlength=len(chosen)).astype(np.float64)
    weight = (
        1.0 + (count - 1.0) * by_chance(x[chosen], rounded[chosen])
        if (count > 1).any()
        else np.ones(len(chosen))
    )
    rows = Rows(
        x[chosen], y[chosen], num_classes, uniform(hashed(rounded[chosen])), weight,
        None if group is None else group[chosen],
    )  # fmt: skip
    return rows, chosen, answers


def by_members(group: Ints, content: NDArray[np.uint64]) -> Ints:
    """(N,) a number of each group that hangs on what its members are, not on its name or place."""
    _, number = np.unique(group, return_inverse=True)
    total = np.zeros(number.max(initial=-1) + 1, dtype=np.uint64)
    np.add.at(total, number, hashed(content))  # sums wrap round, in any order to the same
    return np.asarray((hashed(total) >> np.uint64(1)).astype(np.int64)[number])


def by_chance(x: NDArray[np.float32], number: NDArray[np.uint64]) -> Floats:
    """(N,) how far another sample may equal this one by chance, from 0 to 1.

    By how many different rows share its first half of the columns, and how many its second.
    """
    _, first = np.unique(number, return_index=True)
    some = x[first][:: max(1, len(first) // 2000)]
    bits = np.cumsum([np.log2(len(np.unique(column))) for column in some.T])
    half = int(np.searchsorted(bits, bits[-1] / 2)) + 1
    if half >= x.shape[1]:
        return np.zeros(len(x))
    expected = np.full(len(x), 2.0 / len(first))
    for part in (x[:, :half], x[:, half:]):
        name = row_numbers(np.round(part, _DIGITS))
        kinds, of = np.unique(name, return_inverse=True)
        different_ = np.bincount(of[first], minlength=len(kinds))
        expected *= different_[of] - 1.0
    return np.asarray(np.minimum(expected, 1.0))
