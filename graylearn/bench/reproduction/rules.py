"""How each claim of the paper is judged: one declared rule a claim, applied to what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from scipy import stats

from graylearn.bench import names, paper
from graylearn.bench.records import Group
from graylearn.bench.reproduction.evidence import Evidence, labelled, trained_alike, where
from graylearn.bench.reproduction.judgement import (
    Judgement,
    Part,
    State,
    against_best,
    gain_headline,
    group_title,
    mean_gain,
    pairwise,
    part_for,
    relative_headline,
    versus,
)
from graylearn.bench.statistics import (
    LEVEL,
    MARGIN,
    Comparison,
    compare,
    counted,
    from_differences,
    p_text,
    spread,
)

# --- images -----------------------------------------------------------------------------------------------


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
    return Judgement(rule, tuple(parts), tuple(found), "regimes", headline)


def images_best(evidence: Evidence) -> Judgement:
    """Is GL the best of all methods on images?"""
    found = where(evidence.groups("table1"), net="resnet18")
    parts = against_best(found, "labels", "epochs")
    judged = [g for g in found if _methods(g) > 3]
    # one gain over several sets needs the same methods on all of them: the sets with the most
    fullest = [g for g in judged if _methods(g) == max(map(_methods, judged))]
    headline = relative_headline(fullest) or gain_headline(judged)
    rule = "GL is shown to be above the best of the other methods measured there (three or more)."
    return Judgement(rule, tuple(parts), tuple(judged), "table1", headline)


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
    parts = []
    for group in found:
        others = {m: s for m in paper.METHODS if m != "spl" and (s := spread(group.values(m)))}
        if len(others) < 3 or not group.values("spl"):
            continue
        lowest = min(others, key=lambda method: others[method].mean)
        pair = versus(group, "spl", lowest)
        if pair is not None:
            parts.append(part_for(group_title(group, "labels", "epochs"), pair[1], pair[0], "lower"))
    rule = "SPL is shown to be below the lowest of the other methods measured there."
    return Judgement(rule, tuple(parts), tuple(found), "table1", gain_headline(found, "spl", "standard"))


def bt_il(evidence: Evidence) -> Judgement:
    """Are BT and IL above self-paced learning?"""
    found = where(evidence.groups("table1"), net="resnet18", dataset=("cifar10", "svhn"))
    parts = [part for m in ("bt", "il") for part in pairwise(found, m, "spl", "labels", "epochs")]
    gains = [g for m in ("bt", "il") if (g := mean_gain(found, m, "spl")) is not None]
    headline = f"{fmean(gains):+.1f} points over SPL in the mean" if gains else ""
    rule = "BT, and IL, is shown to be above SPL."
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline)


def nl_mae(evidence: Evidence) -> Judgement:
    """Is NL a little above MAE?"""
    found = [
        g
        for g in where(evidence.groups("table1"), net="resnet18")
        if compare(g.values("nl"), g.values("mae"))
    ]
    gain = mean_gain(found, "nl", "mae")
    parts = []
    if gain is not None:
        state: State = "yes" if 0 < gain <= 2 else "no"
        pairs = max(len(g.values("nl").keys() & g.values("mae").keys()) for g in found)
        parts.append(Part("mean over the image sets", state, f"NL - MAE: {gain:+.1f} points", pairs))
    rule = "The mean of NL - MAE over the image sets lies between 0 and 2 points."
    return Judgement(rule, tuple(parts), tuple(found), "table1", gain_headline(found, "nl", "mae"))


# --- tables -----------------------------------------------------------------------------------------------


def tables_of(evidence: Evidence, protocol: str = "paper") -> list[Group]:
    """The tabular groups of one protocol."""
    return where(evidence.groups("table2"), kind="table", protocol=protocol)


def tables_best(evidence: Evidence) -> Judgement:
    """Is GL the best of all methods on tables?"""
    found = tables_of(evidence)
    rule = "GL is shown to be above the best of the other methods measured there (protocol `paper`)."
    headline = relative_headline(found) or gain_headline(found)
    return Judgement(rule, tuple(against_best(found)), tuple(found), "table2", headline)


def tables_standard(evidence: Evidence) -> Judgement:
    """Is GL above standard training on tables?"""
    found = tables_of(evidence)
    rule = "GL is shown to be more accurate than standard training (protocol `paper`)."
    parts = pairwise(found, "gl", "standard")
    return Judgement(rule, tuple(parts), tuple(found), "table2", gain_headline(found))


# --- shares, sources, networks ----------------------------------------------------------------------------


def most_seeds(found: Sequence[Group], method: str) -> int:
    """The most seeds that a method has in one group."""
    return max(len(group.values(method)) for group in found)


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


# --- calibration ------------------------------------------------------------------------------------------


def calibrated(evidence: Evidence) -> list[Group]:
    """The groups on CIFAR-10, where the paper measured it: of its own experiment and of the first table."""
    return where(evidence.groups("calibration", "table1"), dataset="cifar10", net="resnet18")


def calibration_gl(evidence: Evidence) -> Judgement:
    """Is GL better calibrated?"""
    found = where(evidence.groups("calibration", "table1"), kind="image", net="resnet18")
    parts = pairwise(found, "gl", "standard", "ood", "labels", "epochs", wanted="lower", measure="ece")
    rule = "GL's calibration error (20 bins) is shown to be lower than that of standard training."
    where_printed = _errors(where(found, dataset="cifar10"))
    headline = (
        f"{where_printed} on CIFAR-10; all image sets: {_errors(found)}" if where_printed else _errors(found)
    )
    return Judgement(rule, tuple(parts), tuple(found), "calibration", headline)


def _errors(found: Sequence[Group]) -> str:
    pairs = []
    for group in found:
        pair = [s.mean for m in ("standard", "gl") if (s := spread(group.values(m, "ece")))]
        if len(pair) == 2:
            pairs.append(pair)
    if not pairs:
        return ""
    before, after = (fmean(side) for side in zip(*pairs, strict=True))
    return f"{before:.2f} -> {after:.2f} % in the mean of {counted(len(pairs), 'setting')}"


NEAR_PERFECT = 2.0
"""A calibration error, percent: the paper calls 1.88 and 1.93 near perfect."""


def calibration_perfect(evidence: Evidence) -> Judgement:
    """Is GL close to perfectly calibrated?"""
    found = calibrated(evidence)
    parts, errors = [], []
    for group in found:
        if (error := spread(group.values("gl", "ece"))) is not None:
            state: State = "yes" if error.mean <= NEAR_PERFECT else "no"
            errors.append(error.mean)
            what = group_title(group, "ood", "labels", "epochs")
            parts.append(Part(what, state, f"GL {error.mean:.2f} %", error.n))
    rule = f"GL's calibration error is at most {NEAR_PERFECT:g} %, what the paper calls near perfect."
    headline = ""
    if errors:
        headline = f"GL {min(errors):.2f} to {max(errors):.2f} % in {counted(len(errors), 'setting')}"
    return Judgement(rule, tuple(parts), tuple(found), "calibration", headline)


def overconfidence(group: Group, method: str) -> dict[int, float]:
    """Seed -> mean confidence minus accuracy, points; without the runs that kept no bins."""
    excess = {}
    for seed, record in group.by_method.get(method, {}).items():
        bins: Mapping[str, Sequence[float | None]] = record.measured.get("reliability") or {}
        filled = [
            (count, sure - right)
            for count, right, sure in zip(
                bins.get("count", ()), bins.get("accuracy", ()), bins.get("confidence", ()), strict=True
            )
            if count and right is not None and sure is not None
        ]
        if filled:
            excess[seed] = 100 * sum(n * gap for n, gap in filled) / sum(n for n, _ in filled)
    return excess


def calibration_overconfident(evidence: Evidence) -> Judgement:
    """Is standard training over-confident, and GL less so?"""
    found = calibrated(evidence)
    parts, means = [], []
    for group in found:
        standard, gray = overconfidence(group, "standard"), overconfidence(group, "gl")
        if (pair := compare(gray, standard)) is None:
            continue
        means.append((fmean(standard.values()), fmean(gray.values())))
        text = f"confidence - accuracy: GL {means[-1][1]:+.1f}, Standard {means[-1][0]:+.1f}: {pair}"
        part = part_for(group_title(group, "ood", "labels", "epochs"), pair, text, "lower")
        parts.append(part if means[-1][0] > 0 else replace(part, state="no"))
    headline = ""
    if means:
        before, after = (fmean(side) for side in zip(*means, strict=True))
        headline = (
            f"confidence - accuracy: Standard {before:+.1f}, GL {after:+.1f} points in the mean of "
            f"{counted(len(means), 'setting')}"
        )
    rule = "Standard's mean confidence is above its accuracy, and GL's excess is shown to be smaller."
    return Judgement(rule, tuple(parts), tuple(found), "calibration", headline)


# --- the parts of the loss --------------------------------------------------------------------------------


def ablation(evidence: Evidence, kind: str) -> Judgement:
    """Is GL above each of its parts, on tables or on images?"""
    found = where(evidence.groups("ablation"), kind=kind, protocol="paper")
    parts, gains = [], []
    for other in ("standard", "nl", "standard+nl"):
        both = [g for g in found if compare(g.values("gl"), g.values(other))]
        pooled = pooled_over_sets(both, "gl", other)
        if pooled is None:
            continue
        means = [fmean(s.mean for g in both if (s := spread(g.values(m)))) for m in ("gl", other)]
        relative = 100 * (means[0] / means[1] - 1)
        gains.append(f"{relative:+.1f}")
        text = f"{means[0]:.1f} against {means[1]:.1f}, {relative:+.1f} % relative; {pooled}"
        what = f"over {names.method_title(other)}, mean of {len(both)} settings"
        parts.append(replace(part_for(what, pooled, text), seeds=most_seeds(both, "gl")))
    what = "tables (pairs: seeds)" if kind == "table" else "images (pairs: setting and seed)"
    rule = f"GL's mean accuracy over the {what} is shown to be above that of each part."
    headline = f"{', '.join(gains)} %" if gains else ""
    return Judgement(rule, tuple(parts), tuple(found), "ablation", headline)


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
    found = [g for g in evidence.every_group if g.get("kind") == "image"]
    parts = pairwise(found, "gl", "standard", "ood", "labels", "alpha", "net", "epochs", measure="ood_auroc")
    gains = [
        pair.mean
        for g in found
        if (pair := compare(g.values("gl", "ood_auroc"), g.values("standard", "ood_auroc")))
    ]
    headline = f"OOD AUROC {fmean(gains):+.1f} points in the mean of {len(gains)} settings" if gains else ""
    rule = (
        "The mean confidence in the given label finds OOD samples with an AUROC shown to be higher with GL."
    )
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline)


def formula(evidence: Evidence) -> Judgement:
    """Does the paper's own formula for the confidence do it?"""
    found = where(evidence.groups("table1"), net="resnet18")
    parts = pairwise(found, "gl-label", "standard", "labels", "epochs")
    rule = "`gl-label`, GL with C = Q(y | x), is shown to be more accurate than standard training on images."
    headline = gain_headline(found, "gl-label", "standard")
    if (gain := mean_gain(found, "gl-label", "gl")) is not None:
        headline += f"; {gain:+.1f} against GL with C = max Q"
    return Judgement(rule, tuple(parts), tuple(found), "table1", headline)


RULES: dict[str, Callable[[Evidence], Judgement]] = {
    "ood-hurts": ood_hurts,
    "images-best": images_best,
    "images-standard": images_standard,
    "spl-worst": spl_worst,
    "bt-il": bt_il,
    "nl-mae": nl_mae,
    "tables-best": tables_best,
    "tables-standard": tables_standard,
    "alpha-standard": alpha_standard,
    "alpha-gl": alpha_gl,
    "sources-matter": sources_matter,
    "sources-gl": sources_gl,
    "architectures-residual": architectures_residual,
    "architectures-gl": architectures_gl,
    "calibration-gl": calibration_gl,
    "calibration-perfect": calibration_perfect,
    "calibration-overconfident": calibration_overconfident,
    "ablation-tables": ablation_tables,
    "ablation-images": ablation_images,
    "separation": separation,
    "formula": formula,
}
"""The rule of each claim."""
