"""What the share of OOD samples, their source and the network change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from scipy import stats

from graylearn.bench import names
from graylearn.bench.records import Group
from graylearn.bench.reproduction.evidence import Evidence, labelled, trained_alike
from graylearn.bench.reproduction.judgement import (
    Judgement,
    Part,
    State,
    gain_headline,
    mean_gain,
    most_seeds,
    part_for,
)
from graylearn.bench.statistics import LEVEL, MARGIN, from_differences, p_text, spread


def _told(parts: Sequence[Part]) -> str:
    """All parts in one line."""
    return "; ".join(f"{part.what}: {part.numbers}" for part in parts)


@dataclass(frozen=True)
class Trend:
    """A line through accuracies over alpha."""

    change: float
    """Fitted accuracy at the largest alpha minus that at the smallest, points."""
    p: float
    """That there is no slope."""
    text: str
    """In words."""


def trend(found: Sequence[Group], method: str) -> Trend | None:
    """The line through a method's mean accuracies; None with fewer than three shares, which test no slope."""
    points = sorted((float(g.get("alpha")), s.mean) for g in found if (s := spread(g.values(method))))
    if len({alpha for alpha, _ in points}) < 3:
        return None
    alphas, values = (np.array(part) for part in zip(*points, strict=True))
    slope = float(np.polyfit(alphas, values, 1)[0])
    change = slope * float(alphas.max() - alphas.min())
    p = float(stats.linregress(alphas, values).pvalue) if np.ptp(values) > 0 else 1.0
    text = (
        f"{names.method_title(method)} {values[0]:.1f} at {alphas[0]:g}, {values[-1]:.1f} at "
        f"{alphas[-1]:g}; fitted change {change:+.1f} points"
    )
    return Trend(change, p, text)


def alpha_standard(evidence: Evidence) -> Judgement:
    """Does standard training fall with the share of OOD samples?"""
    found = evidence.groups("alpha")
    parts = []
    for labels, members in labelled(found):
        if (line := trend(members, "standard")) is not None:
            falls = line.change < -MARGIN and line.p < LEVEL
            rises = line.change > MARGIN and line.p < LEVEL
            state: State = "yes" if falls else "no" if rises else "open"
            parts.append(Part(f"{labels} labels", state, line.text, most_seeds(members, "standard")))
    rule = (
        f"The line through its accuracies falls by more than {MARGIN} points over the range, slope p < .05."
    )
    return Judgement(rule, tuple(parts), tuple(found), "alpha", _told(parts))


def alpha_gl(evidence: Evidence) -> Judgement:
    """Does GL stay the same with the share of OOD samples?"""
    found = evidence.groups("alpha")
    parts = []
    for labels, members in labelled(found):
        if (line := trend(members, "gl")) is not None:
            state: State = "yes" if line.change >= -MARGIN else "no" if line.p < LEVEL else "open"
            parts.append(Part(f"{labels} labels", state, line.text, most_seeds(members, "gl")))
    rule = f"The line through GL's accuracies falls by at most {MARGIN} points over the range, or rises."
    return Judgement(rule, tuple(parts), tuple(found), "alpha", _told(parts))


def sources_matter(evidence: Evidence) -> Judgement:
    """Does the source of OOD samples matter?"""
    found = [g for g in evidence.groups("sources") if "/" in str(g.get("ood"))]
    parts, told = [], []
    for labels, members in labelled(found):
        runs = [list(values.values()) for g in members if (values := g.values("standard"))]
        if len(runs) >= 3:
            means = [fmean(values) for values in runs]
            text = f"standard from {min(means):.1f} to {max(means):.1f} over {len(runs)} sources"
            if all(len(values) > 1 for values in runs):
                p = float(stats.f_oneway(*runs).pvalue)
                state: State = "yes" if p < LEVEL else "open"
                text += f", {p_text(p)}"
                parts.append(Part(f"{labels} labels", state, text, most_seeds(members, "standard")))
            else:
                text += "; with one seed a source and a seed cannot be told apart"
            told.append(f"{labels} labels: {text}")
    rule = (
        "Standard training differs more between sources than between seeds (analysis of variance, p < .05), "
        "which takes several seeds a source."
    )
    return Judgement(rule, tuple(parts), tuple(found), "sources", "; ".join(told))


def everywhere(found: Sequence[Group], plural: str) -> list[Part]:
    """Two parts a kind of labels: GL above standard in the mean over the groups, and in every one."""
    parts = []
    for labels, members in labelled(found):
        gains: list[float] = []
        differences: list[float] = []
        for group in members:
            mine, theirs = group.values("gl"), group.values("standard")
            shared = [mine[seed] - theirs[seed] for seed in mine if seed in theirs]
            if shared:
                gains.append(fmean(shared))
                differences += shared
        pooled = from_differences(differences)
        if pooled is None:
            continue
        above = sum(gain > 0 for gain in gains)
        seeds = most_seeds(members, "gl")
        mean = part_for(f"mean over {plural}, {labels} labels", pooled, f"GL - Standard {pooled}")
        parts.append(replace(mean, seeds=seeds))  # its pairs are of many settings
        state: State = "yes" if above == len(gains) else "no" if above <= len(gains) / 2 else "open"
        text = f"GL's mean is above in {above} of {len(gains)}"
        parts.append(Part(f"each of the {plural}, {labels} labels", state, text, seeds))
    return parts


def sources_gl(evidence: Evidence) -> Judgement:
    """Is GL above standard training for every source?"""
    found = [g for g in evidence.groups("sources") if "/" in str(g.get("ood"))]
    rule = "GL is shown to be above standard in the mean over sources (pairs: source and seed), and at each."
    parts = tuple(everywhere(found, "sources"))
    return Judgement(rule, parts, tuple(found), "sources", gain_headline(found))


def architectures_residual(evidence: Evidence) -> Judgement:
    """Are the two networks with shortcuts the best of those trained alike?"""
    found = evidence.groups("architectures")
    parts = []
    for labels, members in labelled(found):
        for way, alike in trained_alike(members):
            means = {str(g.get("net")): s.mean for g in alike if (s := spread(g.values("standard")))}
            if len(means) >= 4:
                order = sorted(means, key=lambda net: -means[net])
                state: State = "yes" if set(order[:2]) == {"resnet18", "densenet121"} else "no"
                text = ", ".join(f"{net} {means[net]:.1f}" for net in order)
                parts.append(Part(f"{labels} labels, {way}", state, text, most_seeds(alike, "standard")))
    rule = "ResNet18 and DenseNet121 are the two most accurate under standard training."
    headline = "; ".join(f"{part.what}, best: {part.numbers.split(',')[0]}" for part in parts)
    return Judgement(rule, tuple(parts), tuple(found), "architectures", headline)


def architectures_gl(evidence: Evidence) -> Judgement:
    """Is GL above standard training with every network?"""
    found = evidence.groups("architectures")
    rule = (
        "GL is shown to be above standard in the mean over networks (pairs: network and seed), and with each."
    )
    headline = "; ".join(
        f"{labels} {gain:+.2f} points" for labels, members in labelled(found)
        if (gain := mean_gain(members, "gl", "standard")) is not None
    )  # fmt: skip
    return Judgement(rule, tuple(everywhere(found, "networks")), tuple(found), "architectures", headline)
