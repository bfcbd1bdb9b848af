"""What the share of OOD samples, their source and the network change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from scipy import stats

from reproduction import names
from reproduction.page.evidence import Evidence, by_schedule, labelled, with_all
from reproduction.page.judgement import (
    Judgement,
    Part,
    State,
    gain_headline,
    gains_of,
    middle,
    most_seeds,
    part_for,
)
from reproduction.records import Group
from reproduction.schedules import trained_alike
from reproduction.statistics import (
    LEVEL,
    MARGIN,
    WILCOXON_FROM,
    blocked_p,
    compare,
    from_differences,
    p_text,
    spread,
)

SHORTCUTS = ("resnet18", "densenet121")
"""The networks with shortcuts that the paper's text names."""

ENOUGH = 4
"""So many networks or sources are needed to speak of each of the paper's six or ten."""


def _told(parts: Sequence[Part]) -> str:
    """All parts in one line."""
    return "; ".join(f"{part.what}: {part.numbers}" for part in parts)


@dataclass(frozen=True)
class Trend:
    """A line through accuracies over alpha."""

    change: float
    """Fitted accuracy at the largest alpha minus that at the smallest, points."""
    shown: bool
    """The slope's test is below 5 %; or few shares, each on the same side of the one before."""
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
    # a slope through three points has a single degree of freedom: its test hardly ever passes
    one_way = len(points) < WILCOXON_FROM and abs(np.sign(np.diff(values)).sum()) == len(points) - 1
    text = (
        f"{names.method_title(method)} {values[0]:.1f} at {alphas[0]:g}, {values[-1]:.1f} at "
        f"{alphas[-1]:g}; fitted change {change:+.2f} points ({len(points)} shares, {p_text(p)}"
        f"{', each ' + ('below' if change < 0 else 'above') + ' the one before' if one_way else ''})"
    )
    return Trend(change, bool(p < LEVEL or one_way), text)


def _shares(evidence: Evidence, method: str) -> list[Group]:
    """The groups of the study of shares that are trained alike, nearest to the paper's way of those ways in
    which a method has enough shares for a trend."""
    ways = trained_alike(evidence.groups("alpha"))
    return next((members for _, members in ways if _trends(members, method)), [])


def _trends(found: Sequence[Group], method: str) -> bool:
    return any(trend(members, method) is not None for _, members in labelled(found))


def alpha_standard(evidence: Evidence) -> Judgement:
    """Does standard training fall with the share of OOD samples?"""
    found = _shares(evidence, "standard")
    parts = []
    for labels, members in labelled(found):
        if (line := trend(members, "standard")) is not None:
            clear = line.shown and abs(line.change) > MARGIN
            state: State = "open" if not clear else "yes" if line.change < 0 else "no"
            parts.append(Part(f"{labels} labels", state, line.text, most_seeds(members, "standard")))
    rule = (
        f"The line through its accuracies falls by more than {MARGIN} points over the range, and either its "
        f"slope has p < .05 or, of fewer than {WILCOXON_FROM} shares, each accuracy lies below the one "
        "before. What is said of few shares was added after the three of 200 epochs were seen: by the slope "
        "alone they would be open."
    )
    return Judgement(rule, tuple(parts), tuple(found), "alpha", _told(parts))


def alpha_gl(evidence: Evidence) -> Judgement:
    """Does GL stay the same with the share of OOD samples?"""
    found = _shares(evidence, "gl")
    parts = []
    for labels, members in labelled(found):
        if (line := trend(members, "gl")) is not None:
            state: State = "yes" if line.change >= -MARGIN else "no" if line.shown else "open"
            beside = trend(members, "standard")
            text = line.text + (f"; Standard {beside.change:+.2f}" if beside is not None else "")
            parts.append(Part(f"{labels} labels", state, text, most_seeds(members, "gl")))
    rule = (
        f"The line through GL's accuracies rises, or falls by at most {MARGIN} points over the range, which "
        "counts as no fall."
    )
    return Judgement(rule, tuple(parts), tuple(found), "alpha", _told(parts))


def sources_matter(evidence: Evidence) -> Judgement:
    """Does the source of OOD samples matter?"""
    every = [g for g in evidence.groups("sources") if "/" in str(g.get("ood"))]
    found, _ = by_schedule(every, with_all("standard"))
    parts, told = [], []
    for labels, members in labelled(found):
        runs = {str(g.cell): values for g in members if (values := g.values("standard"))}
        if len(runs) >= 3:
            means = [fmean(values.values()) for values in runs.values()]
            text = f"standard from {min(means):.1f} to {max(means):.1f} over {len(runs)} sources"
            if len(set.intersection(*[set(values) for values in runs.values()])) > 1:
                p = blocked_p(runs)
                state: State = "yes" if p < LEVEL else "open"
                text += f", {p_text(p)}"
                parts.append(Part(f"{labels} labels", state, text, most_seeds(members, "standard")))
            else:
                text += "; with one seed a source and a seed cannot be told apart"
            told.append(f"{labels} labels: {text}")
    rule = (
        "Standard training differs more between sources than between seeds (analysis of variance, seeds as "
        "blocks, p < .05), which takes several seeds a source."
    )
    return Judgement(rule, tuple(parts), tuple(found), "sources", "; ".join(told), ("standard",))


def everywhere(found: Sequence[Group], plural: str) -> list[Part]:
    """Two parts a kind of labels: GL above standard in the mean over the groups, and in every one.

    The second is `no` where GL is shown to be below in one, which is all it takes, and `open` of a few.
    """
    parts = []
    for labels, members in labelled(found):
        pairs = [pair for g in members if (pair := compare(g.values("gl"), g.values("standard")))]
        differences = [
            mine[seed] - theirs[seed]
            for mine, theirs in ((g.values("gl"), g.values("standard")) for g in members)
            for seed in mine
            if seed in theirs
        ]
        pooled = from_differences(differences)
        if pooled is None:
            continue
        above = sum(pair.mean > 0 for pair in pairs)
        below = sum(pair.state == "lower" for pair in pairs)
        seeds = max(pair.n for pair in pairs)
        text = f"GL - Standard {pooled}{middle(differences)}"
        mean = part_for(f"mean over {plural}, {labels} labels", pooled, text)
        parts.append(replace(mean, seeds=seeds))  # its pairs are of many settings
        in_each = above == len(pairs) >= ENOUGH
        state: State = "yes" if in_each else "no" if below else "open"
        text = (
            f"on the seeds both have, GL's mean is above in {above} of {len(pairs)}, shown below in {below}"
        )
        parts.append(Part(f"each of the {plural}, {labels} labels", state, text, seeds))
    return parts


def sources_gl(evidence: Evidence) -> Judgement:
    """Is GL above standard training for every source?"""
    every = [g for g in evidence.groups("sources") if "/" in str(g.get("ood"))]
    found, _ = by_schedule(every, with_all("gl", "standard"))
    rule = (
        "GL is shown to be above standard in the mean over sources (pairs: source and seed), and its mean is "
        f"above at each of {ENOUGH} or more; no where it is shown to be below at one."
    )
    parts = tuple(everywhere(found, "sources"))
    return Judgement(rule, parts, tuple(found), "sources", gain_headline(found))


def _standard(group: Group) -> bool:
    return bool(group.values("standard"))


def architectures_residual(evidence: Evidence) -> Judgement:
    """Are the two networks with shortcuts the best of those trained alike?"""
    found: list[Group] = []
    parts = []
    for labels, members in labelled(evidence.groups("architectures")):
        ways = [(way, alike) for way, alike in trained_alike(members) if sum(map(_standard, alike)) >= ENOUGH]
        for way, alike in ways[:1]:
            found += alike
            runs = {str(g.get("net")): values for g in alike if (values := g.values("standard"))}
            if len(runs) >= ENOUGH:
                order = sorted(runs, key=lambda net: -fmean(runs[net].values()))
                above = [
                    f"{other} above {net}"
                    for net in SHORTCUTS
                    for other in order
                    if other not in SHORTCUTS and net in runs
                    and (pair := compare(runs[other], runs[net])) and pair.state == "higher"
                ]  # fmt: skip
                state: State = "no" if above else "yes" if set(order[:2]) == set(SHORTCUTS) else "open"
                listed = ", ".join(f"{net} {fmean(runs[net].values()):.1f}" for net in order)
                text = listed + (f"; shown: {', '.join(above)}" if above else "")
                parts.append(Part(f"{labels} labels, {way}", state, text, most_seeds(alike, "standard")))
    rule = (
        "ResNet18 and DenseNet121 have the two highest means under standard training; no where another is "
        "shown to be above one of them."
    )
    headline = "; ".join(f"{part.what}: {', '.join(part.numbers.split(', ')[:3])}" for part in parts)
    return Judgement(rule, tuple(parts), tuple(found), "architectures", headline, ("standard",))


def architectures_gl(evidence: Evidence) -> Judgement:
    """Is GL above standard training with every network?"""
    found, _ = by_schedule(evidence.groups("architectures"), with_all("gl", "standard"))
    rule = (
        "GL is shown to be above standard in the mean over networks (pairs: network and seed), and its mean "
        f"is above with each of {ENOUGH} or more (added after the first of 200 epochs was seen); "
        "no where it is shown to be below with one."
    )
    told = []
    for labels, members in labelled(found):
        gains = gains_of(members, "gl")
        if gains:
            nets = [str(g.get("net")) for g in members if gains_of([g], "gl")]
            lowest = min(range(len(gains)), key=gains.__getitem__)
            worst = f" ({nets[lowest]} {gains[lowest]:+.1f})" if middle(gains) else ""
            few = f" ({', '.join(nets)} alone)" if len(nets) < ENOUGH else ""
            told.append(f"{labels} {fmean(gains):+.2f} points{middle(gains)}{worst}{few}")
    headline = "; ".join(told)
    return Judgement(rule, tuple(everywhere(found, "networks")), tuple(found), "architectures", headline)
