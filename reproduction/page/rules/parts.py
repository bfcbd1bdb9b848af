"""What each part of GL's loss does: its terms, its gap in confidence, its formula for the confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from reproduction import names
from reproduction.page.evidence import Evidence, by_schedule, labelled, where, with_all
from reproduction.page.judgement import (
    IN_TITLE,
    Judgement,
    gain_headline,
    gains_of,
    middle,
    most_seeds,
    pairwise,
    part_for,
)
from reproduction.records import Group
from reproduction.statistics import Comparison, compare, from_differences, spread


def ablation(evidence: Evidence, kind: str) -> Judgement:
    """Is GL above each of its parts, on tables or on images?"""
    every = where(evidence.groups("ablation"), kind=kind, protocol="paper")
    found, _ = by_schedule(every, with_all("gl"))
    parts, gains = [], []
    for other in ("standard", "nl", "standard+nl"):
        both = [g for g in found if compare(g.values("gl"), g.values(other))]
        pooled = pooled_over_sets(both, "gl", other)
        if pooled is None:
            continue
        means = [fmean(s.mean for g in both if (s := spread(g.values(m)))) for m in ("gl", other)]
        relative = 100 * (means[0] / means[1] - 1)
        gains.append(f"{relative:+.1f} % ({len(both)})")
        text = f"{means[0]:.1f} against {means[1]:.1f}, {relative:+.1f} % relative; {pooled}"
        what = f"over {names.method_title(other)}, mean of {len(both)} settings"
        parts.append(replace(part_for(what, pooled, text), seeds=most_seeds(both, "gl")))
    what = "tables (pairs: seeds)" if kind == "table" else "images (pairs: setting and seed)"
    rule = f"GL's mean accuracy over the {what} is shown to be above that of each part."
    headline = f"{', '.join(gains)}, in brackets the settings" if gains else ""
    methods = ("gl", "standard", "nl", "standard+nl")
    return Judgement(rule, tuple(parts), tuple(found), "ablation", headline, methods)


def pooled_over_sets(found: Sequence[Group], first: str, second: str) -> Comparison | None:
    """The difference of two methods over several sets.

    Where there are several seeds that all sets share, the pairs are the seeds, each the mean over the sets;
    else every set and seed is a pair.
    """
    differences = []
    for group in found:
        one, two = group.values(first), group.values(second)
        differences.append({seed: one[seed] - two[seed] for seed in one if seed in two})
    if not differences:
        return None
    shared = sorted(set.intersection(*[set(part) for part in differences]))
    if len(shared) > 1:
        return from_differences([fmean(part[seed] for part in differences) for seed in shared])
    return from_differences([value for part in differences for value in part.values()])


def ablation_tables(evidence: Evidence) -> Judgement:
    """The parts of GL on tables."""
    return ablation(evidence, "table")


def ablation_images(evidence: Evidence) -> Judgement:
    """The parts of GL on images."""
    return ablation(evidence, "image")


def separation(evidence: Evidence) -> Judgement:
    """Does GL set OOD samples further apart?"""
    every = [g for g in evidence.every_group if g.get("kind") == "image"]
    found, others = by_schedule(every, lambda g: gains_of([g], "gl", measure="ood_auroc"))
    parts, beside = (
        pairwise(some, "gl", "standard", *IN_TITLE, measure="ood_auroc") for some in (found, others)
    )
    told = [
        f"{labels} labels {fmean(gains):+.1f} points in the mean of {len(gains)} settings{middle(gains)}"
        for labels, members in labelled(found)
        if (gains := gains_of(members, "gl", measure="ood_auroc"))
    ]
    headline = f"OOD AUROC: {'; '.join(told)}" if told else ""
    rule = (
        "The mean confidence in the given label finds OOD samples with an AUROC shown to be higher with GL."
    )
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline, beside=tuple(beside))


def formula(evidence: Evidence) -> Judgement:
    """Does the paper's own formula for the confidence do it?"""
    every = [g for g in evidence.every_group if g.get("kind") == "image"]
    found, others = by_schedule(every, with_all("gl-label", "standard"))
    parts, beside = (pairwise(some, "gl-label", "standard", *IN_TITLE) for some in (found, others))
    rule = "`gl-label`, GL with C = Q(y | x), is shown to be more accurate than standard training on images."
    headline = gain_headline(found, "gl-label", "standard")
    if gains := gains_of(found, "gl-label", "gl"):
        headline += f"; {fmean(gains):+.1f} against GL with C = max Q{middle(gains)}"
    methods = ("gl-label", "standard", "gl")
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline, methods, tuple(beside))
