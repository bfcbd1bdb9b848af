"""Is GL the most accurate, on images and on tables, and do OOD samples cost accuracy at all?"""

from __future__ import annotations

from statistics import fmean

from reproduction import paper
from reproduction.page.evidence import Evidence, where
from reproduction.page.judgement import (
    Judgement,
    Part,
    State,
    against_others,
    gain_headline,
    gains_of,
    pairwise,
    relative_headline,
)
from reproduction.records import Group
from reproduction.statistics import compare


def ood_hurts(evidence: Evidence) -> Judgement:
    """Do OOD samples cost accuracy at all?"""
    found = [
        g
        for g in evidence.every_group
        if g.get("protocol") != "released" and compare(g.values("oracle"), g.values("standard"))
    ]
    parts = pairwise(found, "oracle", "standard", "ood", "labels", "alpha", "net", "epochs")
    shown = sum(part.state == "yes" for part in parts)
    headline = f"a cost is shown in {shown} of {len(parts)} settings" if parts else ""
    rule = "An oracle trained without the OOD samples is shown to be more accurate than standard training."
    return Judgement(rule, tuple(parts), tuple(found), "regimes", headline, ("oracle", "standard"))


def images_best(evidence: Evidence) -> Judgement:
    """Is GL the best of all methods on images?"""
    found = where(evidence.groups("table1"), net="resnet18")
    parts = against_others(found, "gl", "labels", "epochs")
    judged = [g for g in found if _methods(g) > 3]
    # one gain over several sets needs the same methods on all of them: the sets with the most
    fullest = [g for g in judged if _methods(g) == max(map(_methods, judged))]
    headline = relative_headline(fullest) or gain_headline(judged)
    rule = (
        "GL is shown to be above the best of the other methods measured there (three or more). A best that "
        "is picked on one run of each is favoured: beside it stands how far the best of as many equal "
        "methods would be ahead by luck alone."
    )
    return Judgement(rule, tuple(parts), tuple(judged), "table1", headline, paper.METHODS)


def _methods(group: Group) -> int:
    """How many of the paper's methods were measured."""
    return sum(bool(group.values(method)) for method in paper.METHODS)


def images_standard(evidence: Evidence) -> Judgement:
    """Is GL above standard training on images?"""
    found = where(evidence.groups("table1"), net="resnet18")
    parts = pairwise(found, "gl", "standard", "labels", "epochs")
    rule = "GL is shown to be more accurate than standard training."
    return Judgement(rule, tuple(parts), tuple(found), "table1", gain_headline(found))


def spl_worst(evidence: Evidence) -> Judgement:
    """Is self-paced learning the worst on images?"""
    found = where(evidence.groups("table1"), net="resnet18")
    parts = against_others(found, "spl", "labels", "epochs", wanted="lower")
    rule = "SPL is shown to be below the lowest of the other methods measured there."
    headline = gain_headline(found, "spl", "standard")
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline, paper.METHODS)


def bt_il(evidence: Evidence) -> Judgement:
    """Are BT and IL above self-paced learning?"""
    found = where(evidence.groups("table1"), net="resnet18", dataset=("cifar10", "svhn"))
    parts = [part for m in ("bt", "il") for part in pairwise(found, m, "spl", "labels", "epochs")]
    gains = [fmean(own) for m in ("bt", "il") if (own := gains_of(found, m, "spl"))]
    headline = f"{fmean(gains):+.1f} points over SPL in the mean" if gains else ""
    rule = "BT, and IL, is shown to be above SPL."
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline, ("spl", "bt", "il"))


def nl_mae(evidence: Evidence) -> Judgement:
    """Is NL a little above MAE?"""
    found = [
        g
        for g in where(evidence.groups("table1"), net="resnet18")
        if compare(g.values("nl"), g.values("mae"))
    ]
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
