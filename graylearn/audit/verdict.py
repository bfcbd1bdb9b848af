"""From evidence to verdicts: ask the detectors, bring their findings together, name the suspects."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Bools, Floats, Ints
from graylearn.audit.detectors import DETECTORS
from graylearn.audit.evidence import MIN_SAMPLES, Evidence
from graylearn.audit.finding import SURE_POSTERIOR, Chances, Finding, nothing, threshold_of, together
from graylearn.audit.kinds import MISLABELLED, OK, OOD, REVIEW, SURE
from graylearn.audit.progress import tell
from graylearn.audit.shares import MOST_TOLD, chances_by_kind, range_unfound, ranges_of, shares_of
from graylearn.data.samples import Label
from graylearn.errors import first_few, shortened
from graylearn.options import MIN_CLASS

WEAK = 0.3
"""What full doubt counts in the score of a sample beside its posterior."""

FEW = 3
"""Classes of which a random label is right so often that being random is nothing to hold against a sample."""

SITTING = 50
"""Samples that a person looks at in one go."""
NOTHING_SURE = (
    "nothing is sure: probabilities alone do not tell wrong labels from the errors of the model that gave "
    "them; given with `features` they do"
)
"""Of labels that were sure by four models of scikit-learn, .2 to 1 were wrong, and on clean sets none."""
UNEXPECTED = 0.01
"""Confidence below which a label is not expected at all."""
BY_HEART = 0.01
"""Share of labels that another class is likelier for, below which a model may have learned them by heart."""


def judge(
    evidence: Evidence,
    ids: NDArray[Any],
    answers: Ints | None = None,
    *,
    called: str = "",
    unasked: Collection[str] = (),
) -> dict[str, Any]:
    """Ask every detector in turn, each with what those before it found; gives the fields of an `Audit`.

    ids: (N,) what the samples are called. answers: (N,) which of the samples answers for each of the user's,
    where copies were asked about once; how many are wrong is told of the user's. called: what the samples are
    where they are no others' copies. unasked: detectors that are held to find nothing.
    """
    every: Ints | slice = slice(None) if answers is None else answers
    notes = _notes(evidence, called or ("samples" if answers is None else "different samples"))
    details = {f"weight_{name}": weight for name, weight in evidence.weights.items()}
    if evidence.can_be_judged:
        for number, (name, find) in enumerate(DETECTORS.items()):
            tell("judging", number, len(DETECTORS))
            found = nothing(len(evidence)) if name in unasked else find(evidence)
            evidence = evidence.after(name, found)
    findings = list(evidence.findings.values())
    for each in findings:
        notes += each.notes
        details |= each.details
    if findings and not evidence.found:
        notes += _why_silent(evidence, findings, evidence.contradicted[every])
    chances = together(findings, len(evidence))
    details["threshold"] = flag_at = threshold_of(chances.posterior)
    suspected = chances.posterior > flag_at
    suggested = _suggested(evidence, findings)
    is_foreign = chances.ood_prior > 0.5 * chances.prior
    if len(evidence.classes) <= FEW:
        # a random label of few is often right: nothing is wrong then with a sample that belongs
        suspected &= is_foreign | (suggested != evidence.label)
    notes += _doubts(evidence.classes, evidence.label[every], suspected[every])
    sure = _sure(findings, len(evidence))
    if evidence.only_probabilities:
        sure[:] = False
        notes += [NOTHING_SURE] if suspected.any() else []
    elif evidence.unlearned:
        sure[:] = False  # of hardly learned digits .19 to .58 of what was sure was right
        notes += [_unlearned(evidence.unlearned)] if suspected.any() else []
    if not suspected.any() and not called:  # else it is told of all parts at once
        notes += where_to_look(worth_a_look(evidence.best[every], evidence.label[every]))
    is_ood = suspected & is_foreign
    # A suspect whose best class is its own label is not another class's sample: it is nobody's.
    is_ood |= suspected & (suggested == evidence.label)
    kind = np.where(is_ood, OOD, np.where(suspected, MISLABELLED, OK)).astype(np.int64)
    return {
        "ids": ids,
        "label": evidence.label,
        "classes": evidence.classes,
        "confidence": evidence.confidence,
        "probabilities": evidence.probabilities,
        "mode": evidence.mode,
        "overlap": evidence.overlap,
        "score": np.clip(_score(evidence, findings, chances), 0.0, 1.0),
        "suspected": suspected,
        "level": np.where(suspected, np.where(sure, SURE, REVIEW), 0),
        "kind": kind,
        "suggested": np.where(kind == OK, evidence.label, np.where(kind == OOD, -1, suggested)),
        "posterior": chances.posterior,
        "prior": chances.prior,
        "ood_prior": chances.ood_prior,
        "wrong": chances.wrong,
        "ranges": _ranges(
            [each.take(every) for each in findings],
            chances.take(every),
            kind[every],
            evidence.contradicted[every],
        ),
        "temperature": next((each.temperature for each in findings if each.temperature), 1.0),
        "form": evidence.form,
        "found_by": tuple(name for name, each in evidence.findings.items() if each.found),
        "detector": np.where(suspected, _surest(findings, len(evidence)), -1),
        "notes": tuple(notes),
        "details": details,
    }


def _ranges(
    findings: list[Finding], chances: Chances, kind: Ints, contradicted: Bools
) -> dict[str, tuple[float, float]]:
    """The range of each share; where nothing is found, up to what may be wrong; {} where nobody was asked."""
    if not findings:
        return {}
    if not any(each.found for each in findings):
        return dict.fromkeys(("ood", "mislabelled", "total"), range_unfound(contradicted))
    share = shares_of(chances_by_kind(chances.ood, chances.wrong, kind))
    ranges = {
        name: (min(low, share[name]), max(high, share[name]))
        for name, (low, high) in ranges_of(findings, chances).items()
    }
    if not share["ood"]:  # that none was found does not say that none is there
        foreign = range_unfound(contradicted & (kind == OK))[1]
        del ranges["ood"]
        if foreign <= MOST_TOLD:
            low, high = ranges["total"]
            ranges |= {"ood": (0.0, foreign), "total": (low, max(high, min(1.0, share["total"] + foreign)))}
    return ranges


def _why_silent(evidence: Evidence, findings: list[Finding], contradicted: Bools) -> list[str]:
    """Why nothing was found, and how much may be wrong all the same: to find nothing is not to find none."""
    by_heart = []
    given = evidence.opinions["network"].argmax(axis=1)  # without what features say, which learned no label
    if evidence.mode == "predictions" and (given != evidence.label).mean() < BY_HEART:
        by_heart = [
            "a model that was trained on these samples agrees with wrong labels too: if this one was, "
            "give probabilities of samples that it did not see, as cross_val_predict makes them"
        ]
    if not contradicted.any():
        return ["nothing flagged: every sample looks like its label", *by_heart]
    told = [hint for each in findings for hint in each.hints] or _unexpected(evidence)
    most = range_unfound(contradicted)[1]
    why = "wrong labels cannot be told from hard samples"
    if most <= MOST_TOLD and not told and len(evidence.classes) > FEW:
        why = "the labels are explained without any of them being random"
    likelier = f"another class seems likelier for {int(contradicted.sum()):,} of {len(contradicted):,}"
    if most > MOST_TOLD:
        likelier += ", so samples do not tell their class, or many labels are wrong"
    return [
        f"nothing flagged: nothing stands out enough, for {why}",
        *told,
        f"none to {most:.1%} of the labels may be wrong: {likelier}",
        *by_heart,
    ]


def where_to_look(first: int) -> list[str]:
    """What is worth a look where nothing is flagged: so many of the largest scores."""
    if not first:
        return []
    if first == 1:
        return ["worth a look: the first by score, which looks least like its label; go on where it is wrong"]
    return [
        f"worth a look: the first {first} by score, which look least like their labels; go on where some "
        "are wrong"
    ]


def worth_a_look(best: Ints, label: Ints) -> int:
    """Samples at the head of the order to look at where none is flagged: as many as contradict the views, of
    classes that can be checked, or one sitting's."""
    checked = np.bincount(label)[label] >= MIN_CLASS
    return min(int((checked & (best != label)).sum()), SITTING)


def _suggested(evidence: Evidence, findings: list[Finding]) -> Ints:
    """(N,) the class offered by the finding that is surest of the sample, else the most probable one."""
    suggested, surest = evidence.best, np.zeros(len(evidence))
    for each in findings:
        if each.suggested is not None:
            taken = (each.suggested >= 0) & (each.posterior > surest)
            suggested = np.where(taken, each.suggested, suggested)
            surest = np.where(taken, each.posterior, surest)
    return suggested


def _surest(findings: list[Finding], n: int) -> Ints:
    """(N,) which of the findings that hold anything at all holds the most against the sample."""
    found = [each.posterior for each in findings if each.found]
    return np.argmax(found, axis=0) if found else np.full(n, -1)


def _sure(findings: list[Finding], n: int) -> NDArray[np.bool_]:
    """(N,) whether any detector is sure of what it holds against the sample."""
    sure = np.zeros(n, dtype=bool)
    for each in findings:
        sure |= each.posterior > SURE_POSTERIOR if each.sure is None else each.sure
    return sure


def _score(evidence: Evidence, findings: list[Finding], chances: Chances) -> Floats:
    """(N,) the posterior; below it, what detectors doubt still orders the rest, and where nothing was found
    their doubt, or how little the label was expected, is the order. Classes too small to be checked come
    last: no view expects them, and of 77 subjects, 60 of two samples, they were all of the first 50."""
    doubt = next((each.doubt for each in reversed(findings) if each.doubt is not None), None)
    if not evidence.found:
        return np.where(evidence.checked, 1.0 - evidence.confidence if doubt is None else doubt, 0.0)
    if doubt is None:
        return chances.posterior
    doubt = np.where(evidence.checked, doubt, 0.0)
    return np.asarray(1.0 - (1.0 - chances.posterior) * (1.0 - WEAK * doubt))


def _doubts(classes: tuple[Label, ...], label: Ints, suspected: Bools) -> list[str]:
    """Where the audit may be what is wrong: classes most of which it suspects."""
    count = np.bincount(label, minlength=len(classes))
    flagged = np.bincount(label[suspected], minlength=len(classes))
    doubted = np.flatnonzero(2 * flagged > count)
    worst = doubted[np.argsort(-flagged[doubted] / count[doubted], kind="stable")]
    told = [f"{shortened(str(classes[k]))!r}: {flagged[k]} of {count[k]}" for k in worst]
    if not told:
        return []
    one, it = ("one class", "it") if len(told) == 1 else (f"{len(told)} classes", "them")
    return [
        f"most of {one} is suspect ({first_few(told, 5)}): many labels there are wrong, or the audit does "
        f"not understand {it}; look before anything is dropped"
    ]


def _unlearned(classes: tuple[Label, ...]) -> str:
    names = first_few([shortened(name) for name in classes], 5)
    return (
        f"nothing is sure: the network contradicts most labels of {names}, which it may not have learned yet:"
        " train it for longer, or give features"
    )


def _unexpected(evidence: Evidence) -> list[str]:
    """A word where nothing is flagged although far more labels than the views say were not expected."""
    count = int((evidence.checked & (evidence.confidence < UNEXPECTED)).sum())
    by_chance = float(evidence.probabilities[evidence.probabilities < UNEXPECTED].sum())
    if count < max(MIN_CLASS, 0.01 * len(evidence), 3 * by_chance):
        return []
    return [
        f"{count} labels have a confidence below {UNEXPECTED:.0%} all the same, where {by_chance:.0f} would "
        "by chance: hard samples, or wrong ones that no pattern tells from them; they are first by score"
    ]


def _notes(evidence: Evidence, samples: str) -> list[str]:
    """What the reader should know before anything was looked for; samples: what they are called."""
    notes = []
    n, classes = len(evidence), evidence.classes
    count = np.bincount(evidence.label, minlength=len(classes))
    if n < MIN_SAMPLES:
        notes.append(f"nothing flagged: {n} {samples} are too few to tell (at least {MIN_SAMPLES})")
    elif (count > 0).sum() < 2:
        notes.append("nothing flagged: all samples bear one label")
    elif evidence.is_unsettled:
        often = f"called {evidence.epochs_differ:.0%} of the samples otherwise from one epoch to the next"
        why = often if evidence.epochs_differ < 1 else "was asked in one epoch alone"
        notes.append(f"nothing flagged: the network {why}, too little to contradict labels: train for longer")
    elif evidence.is_undecided:
        notes.append(
            "nothing flagged: the columns do not decide the label: rows that are equal in all of them bear "
            "different labels, some of them far oftener than others"
        )
    tiny = [shortened(classes[k]) for k in np.flatnonzero((count > 0) & (count < MIN_CLASS))]
    if tiny and n >= MIN_SAMPLES:
        notes.append(f"not judged: classes with fewer than {MIN_CLASS} {samples} ({first_few(tiny, 5)})")
    if len(classes) == 2:
        notes.append(
            "two classes: a random label is right half of the time, so much of the noise stays hidden"
        )
    return notes
