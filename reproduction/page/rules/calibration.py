"""Is GL better calibrated?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median

from graylearn.errors import counted
from reproduction import names
from reproduction.page.evidence import Evidence, by_schedule, where
from reproduction.page.judgement import IN_TITLE, Judgement, Part, State, group_title, pairwise, part_for
from reproduction.records import Group
from reproduction.statistics import compare, spread


def calibrated(evidence: Evidence) -> tuple[list[Group], list[Group]]:
    """The image groups that have a calibration error of GL and of standard training: those that judge, and
    those of schedules further from the paper's."""
    every = where(evidence.every_group, kind="image")
    return by_schedule(every, lambda g: compare(g.values("gl", "ece"), g.values("standard", "ece")))


def calibration_gl(evidence: Evidence) -> Judgement:
    """Is GL better calibrated?"""
    found, others = calibrated(evidence)
    parts, beside = (
        pairwise(some, "gl", "standard", *IN_TITLE, wanted="lower", measure="ece") for some in (found, others)
    )
    rule = "GL's calibration error (20 bins) is shown to be lower than that of standard training."
    headline = "; ".join(
        f"{names.dataset_title(dataset)} {told}"
        for dataset in dict.fromkeys(str(g.get("dataset")) for g in found)
        if (told := _errors(where(found, dataset=dataset)))
    )
    return Judgement(rule, tuple(parts), tuple(found), "calibration", headline, beside=tuple(beside))


def _errors(found: Sequence[Group]) -> str:
    pairs = []
    for group in found:
        pair = [s.mean for m in ("standard", "gl") if (s := spread(group.values(m, "ece")))]
        if len(pair) == 2:
            pairs.append(pair)
    if not pairs:
        return ""
    before, after = (fmean(side) for side in zip(*pairs, strict=True))
    return f"{before:.2f} -> {after:.2f} % ({counted(len(pairs), 'setting')})"


NEAR_PERFECT = 2.0
"""A calibration error, percent: the paper calls 1.88 and 1.93 near perfect."""


def calibration_perfect(evidence: Evidence) -> Judgement:
    """Is GL close to perfectly calibrated?"""
    found, _ = calibrated(evidence)
    parts, errors = [], []
    for group in found:
        if (error := spread(group.values("gl", "ece"))) is not None:
            state: State = "yes" if error.mean <= NEAR_PERFECT else "no"
            errors.append(error.mean)
            what = group_title(group, *IN_TITLE)
            parts.append(Part(what, state, f"GL {error.mean:.2f} %", error.n))
    rule = f"GL's calibration error is at most {NEAR_PERFECT:g} %, what the paper calls near perfect."
    headline = ""
    if errors:
        headline = (
            f"GL {min(errors):.2f} to {max(errors):.2f} % in {counted(len(errors), 'setting')}, median "
            f"{median(errors):.2f} %"
        )
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
    found, _ = calibrated(evidence)
    parts, means = [], []
    for group in found:
        standard, gray = overconfidence(group, "standard"), overconfidence(group, "gl")
        if (pair := compare(gray, standard)) is None:
            continue
        means.append((fmean(standard.values()), fmean(gray.values())))
        text = f"confidence - accuracy: GL {means[-1][1]:+.1f}, Standard {means[-1][0]:+.1f}: {pair}"
        part = part_for(group_title(group, *IN_TITLE), pair, text, "lower")
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
