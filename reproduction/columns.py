"""One column of a table: the methods of one setting, each against standard training and the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from graylearn.metrics import gap_recovered
from reproduction import names
from reproduction.cells import CLEAN, Cell
from reproduction.records import Group
from reproduction.statistics import LEVEL, Spread, holm, paired_p, spread

NO_CONTEST = CLEAN
"""Methods that see what the others may not: never the best, never tested."""


@dataclass(frozen=True)
class Entry:
    """One method on one dataset."""

    spread: Spread
    """Accuracy, percent."""
    best: bool
    """Whether no other method (the oracle aside) has a higher mean, to the digit that is shown; only of
    methods with as many seeds as the column has."""
    mark: str
    """`+` or `-` where it is significantly above or below standard, else nothing."""
    p: float | None
    """Of the paired test against standard, adjusted by Holm; None where there is nothing to test."""
    paper: float | None
    """What the paper has there."""
    recovered: Spread | None
    """Share of the gap between standard and oracle won back; None where the gap is below one point."""

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, points."""
        return None if self.paper is None else self.spread.mean - self.paper


@dataclass(frozen=True)
class Column:
    """One setting: what all its methods share."""

    title: str
    """The dataset and what else tells it from the other columns."""
    seeds: int
    """The most seeds that one of its methods has."""
    entries: Mapping[str, Entry]
    """By method."""
    paper: Mapping[str, float]
    """The paper's numbers, also of methods that were not measured."""
    cell: Mapping[str, Any]
    """The settings."""
    note: str | None = None
    """Why it is empty: what is missing."""


def make_column(
    group: Group, title: str, printed: Mapping[str, float] | None, measure: str = "accuracy"
) -> Column:
    """All methods of one group, compared with its standard training and oracle."""
    values = {method: group.values(method, measure) for method in group.methods}
    spreads = {method: found for method, seeds in values.items() if (found := spread(seeds))}
    printed = printed or {}
    sign = -1 if measure == "ece" else 1  # of errors the lowest is best
    most = max((found.n for found in spreads.values()), default=0)
    whole = {m: s.mean for m, s in spreads.items() if m not in NO_CONTEST and s.n == most}
    contest = {method: round(sign * mean, 1) for method, mean in whole.items()}
    adjusted = _against_standard(values)
    entries = {}
    for method, found in spreads.items():
        p = adjusted.get(method)
        mark = ""
        if p is not None and p < LEVEL:
            mark = "+" if found.mean > spreads["standard"].mean else "-"
        entries[method] = Entry(
            found,
            best=len(contest) > 1 and method in contest and contest[method] == max(contest.values()),
            mark=mark,
            p=p,
            paper=printed.get(method),
            recovered=recovered(group, method) if measure == "accuracy" else None,
        )
    return Column(title, most, entries, printed, group.cell)


def _against_standard(values: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    """p of every method against standard, over the seeds they share, adjusted for being several."""
    standard = values.get("standard", {})
    raw = {}
    for method, seeds in values.items():
        if method not in ("standard", *NO_CONTEST):
            p = paired_p([seeds[seed] - standard[seed] for seed in seeds if seed in standard])
            if p is not None:
                raw[method] = p
    return holm(raw)


def recovered(group: Group, method: str) -> Spread | None:
    """Share of the gap won back, over the seeds that oracle, standard and method all have.

    The gap is that of the means, so that a seed with a small gap of its own does not blow up the spread.
    """
    if method in ("standard", *CLEAN):
        return None
    mine, standard, oracle = (group.values(name) for name in (method, "standard", "oracle"))
    shared = sorted(set(mine) & set(standard) & set(oracle))
    if not shared:
        return None
    low, high = (fmean(values[seed] for seed in shared) for values in (standard, oracle))
    shares = [gap_recovered(low + mine[seed] - standard[seed], low, high) for seed in shared]
    return spread([share for share in shares if share is not None])


def missing(dataset: str, title: str, printed: Mapping[str, float]) -> Column:
    """The column of a dataset that was not measured: the paper's numbers, and what is needed."""
    here = names.needs(dataset) if dataset in NOT_AT_HAND else NOT_YET
    return Column(title, 0, {}, printed, {"dataset": dataset}, here)


NOT_YET = "not measured yet"
"""The note of a set that has no rows."""
NOT_AT_HAND = ("cifar100", "mini-imagenet", "gene")
"""Sets of the paper whose files the committed results did without."""


def waits(cell: Cell) -> bool:
    """Whether a cell needs such files: a sweep without them passes it over."""
    return any(name.split("/")[0] in NOT_AT_HAND for name in (cell.dataset, cell.ood))
