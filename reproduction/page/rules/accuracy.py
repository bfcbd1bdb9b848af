"""Is GL the most accurate, on images and on tables, and do OOD samples cost accuracy at all?"""

from __future__ import annotations

from statistics import fmean

from reproduction import paper
from reproduction.page.evidence import Evidence, by_schedule, where, with_all
from reproduction.page.judgement import (
    IN_TITLE,
    Judgement,
    Part,
    State,
    against_others,
    gain_headline,
    gains_of,
    group_title,
    pairwise,
    relative_headline,
)
from reproduction.records import Group
from reproduction.statistics import compare


def ood_hurts(evidence: Evidence) -> Judgement:
    """Do OOD samples cost accuracy at all?"""
    every = [g for g in evidence.every_group if g.get("protocol") != "released"]
    found, others = by_schedule(every, lambda g: compare(g.values("oracle"), g.values("standard")))
    parts, beside = (pairwise(some, "oracle", "standard", *IN_TITLE) for some in (found, others))
    shown = sum(part.state == "yes" for part in parts)
    headline = f"a cost is shown in {shown} of {len(parts)} settings" if parts else ""
    rule = "An oracle trained without the OOD samples is shown to be more accurate than standard training."
    methods = ("oracle", "standard")
    return Judgement(rule, tuple(parts), tuple(found), "regimes", headline, methods, tuple(beside))


def images_best(evidence: Evidence) -> Judgement:
    """Is GL the best of all methods on images?"""
    every = where(evidence.groups("table1"), net="resnet18")
    judged, others = by_schedule(every, lambda g: g.values("gl") and _methods(g) > 3)
    parts, beside = (against_others(some, "gl", "labels", "epochs") for some in (judged, others))
    # one gain over several sets needs the same methods on all of them: the sets with the most
    fullest = [g for g in judged if _methods(g) == max(map(_methods, judged))]
    headline = relative_headline(fullest) or gain_headline(judged)
    if 0 < len(fullest) < len(judged):
        one = group_title(fullest[0], "labels")
        headline += f" ({one if len(fullest) == 1 else f'{len(fullest)} of {len(judged)} settings'})"
    rule = (
        "GL is shown to be above the best of the other methods measured there (three or more). A best that "
        "is picked on one run of each is favoured: beside it stands how far the best of as many equal "
        "methods would be ahead by luck alone."
    )
    return Judgement(rule, tuple(parts), tuple(judged), "table1", headline, paper.METHODS, tuple(beside))


def _methods(group: Group) -> int:
    """How many of the paper's methods were measured."""
    return sum(bool(group.values(method)) for method in paper.METHODS)


def images_standard(evidence: Evidence) -> Judgement:
    """Is GL above standard training on images?"""
    every = where(evidence.groups("table1"), net="resnet18")
    found, others = by_schedule(every, with_all("gl", "standard"))
    parts, beside = (pairwise(some, "gl", "standard", "labels", "epochs") for some in (found, others))
    rule = "GL is shown to be more accurate than standard training."
    headline = gain_headline(found)
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline, beside=tuple(beside))


def spl_worst(evidence: Evidence) -> Judgement:
    """Is self-paced learning the worst on images?"""
    every = where(evidence.groups("table1"), net="resnet18")
    found, others = by_schedule(every, lambda g: g.values("spl") and _methods(g) > 3)
    parts, beside = (
        against_others(some, "spl", "labels", "epochs", wanted="lower") for some in (found, others)
    )
    rule = "SPL is shown to be below the lowest of the other methods measured there."
    headline = gain_headline(found, "spl", "standard")
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline, paper.METHODS, tuple(beside))


def bt_il(evidence: Evidence) -> Judgement:
    """Are BT and IL above self-paced learning?"""
    every = where(evidence.groups("table1"), net="resnet18", dataset=("cifar10", "svhn"))
    found, others = by_schedule(every, lambda g: g.values("spl") and (g.values("bt") or g.values("il")))
    parts, beside = (
        [part for m in ("bt", "il") for part in pairwise(some, m, "spl", "labels", "epochs")]
        for some in (found, others)
    )
    gains = [fmean(own) for m in ("bt", "il") if (own := gains_of(found, m, "spl"))]
    headline = f"{fmean(gains):+.1f} points over SPL in the mean" if gains else ""
    rule = "BT, and IL, is shown to be above SPL."
    methods = ("spl", "bt", "il")
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline, methods, tuple(beside))


def nl_mae(evidence: Evidence) -> Judgement:
    """Is NL a little above MAE?"""
    every = where(evidence.groups("table1"), net="resnet18")
    found, _ = by_schedule(every, lambda g: compare(g.values("nl"), g.values("mae")))
    gains = gains_of(found, "nl", "mae")
    parts = []
    if gains:
        gain = fmean(gains)
        state: State = "yes" if 0 < gain <= 2 else "no"
        pairs = max(len(g.values("nl").keys() & g.values("mae").keys()) for g in found)
        parts.append(Part("mean over the image sets", state, f"NL - MAE: {gain:+.1f} points", pairs))
    rule = "The mean of NL - MAE over the image sets lies between 0 and 2 points."
    headline = gain_headline(found, "nl", "mae")
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline, ("nl", "mae"))


def tables_of(evidence: Evidence, protocol: str = "paper") -> list[Group]:
    """The tabular groups of one protocol."""
    return where(evidence.groups("table2"), kind="table", protocol=protocol)


def tables_best(evidence: Evidence) -> Judgement:
    """Is GL the best of all methods on tables?"""
    found = tables_of(evidence)
    rule = "GL is shown to be above the best of the other methods measured there (protocol `paper`)."
    headline = relative_headline(found) or gain_headline(found)
    parts = tuple(against_others(found, "gl"))
    return Judgement(rule, parts, tuple(found), "table2", headline, paper.METHODS)


def tables_standard(evidence: Evidence) -> Judgement:
    """Is GL above standard training on tables?"""
    found = tables_of(evidence)
    rule = "GL is shown to be more accurate than standard training (protocol `paper`)."
    parts = pairwise(found, "gl", "standard")
    return Judgement(rule, tuple(parts), tuple(found), "table2", gain_headline(found))
