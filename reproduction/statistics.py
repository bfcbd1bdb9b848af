"""Numbers over seeds: mean and spread, and whether two methods differ, seed by seed.

The test is paired: under one seed both methods saw the same split and the same OOD samples. From six seeds
on it is Wilcoxon's signed-rank test (exact, also with ties; two-sided), which assumes no shape; with two to
five, where that test cannot reach 5 % whatever happens, it is the paired t test. Where several methods of one
table column are tested, Holm's step-down keeps the chance of one false mark at 5 %. The tests speak of other
seeds on the same data, not of other data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from scipy import stats

from graylearn.errors import counted

LEVEL = 0.05
"""What counts as significant."""
WILCOXON_FROM = 6
"""The smallest number of pairs with which the exact signed-rank test can reach 5 % (2 / 2**6 = 3 %)."""
MARGIN = 0.5
"""Points by which few seeds must differ, all in one direction, to count as different without a test."""


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds."""

    mean: float
    """In percent."""
    sd: float | None
    """Sample standard deviation (n - 1); None of one seed."""
    n: int
    """Seeds."""

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if self.sd is None else f" ± {self.sd:.1f}")


def spread(values: Mapping[int, float] | Sequence[float]) -> Spread | None:
    """Mean and standard deviation; None of nothing."""
    numbers = list(values.values() if isinstance(values, Mapping) else values)
    if not numbers:
        return None
    return Spread(fmean(numbers), stdev(numbers) if len(numbers) > 1 else None, len(numbers))


def paired_p(differences: Sequence[float]) -> float | None:
    """Two-sided p of paired differences; None of fewer than two."""
    if len(differences) < 2:
        return None
    # Differences of shares of one test set are multiples of one sample; the last bits would break their ties.
    rounded = [round(value, 9) for value in differences]
    if not any(rounded):
        return 1.0
    if len(rounded) >= WILCOXON_FROM:
        return signed_rank_p(rounded)
    if len(set(rounded)) == 1:
        return float(2 * 0.5 ** len(rounded))  # no spread to divide by: the sign test
    return float(stats.ttest_1samp(rounded, 0.0).pvalue)


def signed_rank_p(differences: Sequence[float]) -> float:
    """Two-sided p of Wilcoxon's signed-rank test: every pattern of signs counted, ties given their mean rank.

    Zeros are left out, as Wilcoxon did. Exact for any number and any ties, where libraries differ.
    """
    values = np.array([value for value in differences if value])
    if not len(values):
        return 1.0
    doubled = np.rint(2 * stats.rankdata(np.abs(values))).astype(int)  # mean ranks may end in a half
    patterns = np.ones(1)
    for rank in doubled:  # how many of the 2**n patterns of signs give each sum of positive ranks
        patterns = np.pad(patterns, (0, rank)) + np.pad(patterns, (rank, 0))
    observed = int(doubled[values > 0].sum())
    tail = min(observed, int(doubled.sum()) - observed)
    return float(min(1.0, 2 * patterns[: tail + 1].sum() / patterns.sum()))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """p values adjusted by Holm's step-down for being several."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for before, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, p * (len(p_values) - before)))
        adjusted[name] = highest
    return adjusted


@dataclass(frozen=True)
class Comparison:
    """One method against another over the seeds they share."""

    mean: float
    """Mean difference, first minus second, points."""
    sd: float | None
    """Its standard deviation over the pairs; None of one."""
    n: int
    """Pairs."""
    p: float | None
    """Of the paired test; None of one pair."""
    state: str
    """`higher`, `lower` or `same` (no difference shown): see `state_of`."""

    def __str__(self) -> str:
        """For example `+0.8 ± 0.2 (3 pairs, p = .02)`."""
        text = f"{self.mean:+.1f}" + ("" if self.sd is None else f" ± {self.sd:.1f}")
        return f"{text} ({counted(self.n, 'pair')}{'' if self.p is None else f', {p_text(self.p)}'})"


def compare(first: Mapping[int, float], second: Mapping[int, float]) -> Comparison | None:
    """First minus second over the keys both have; None where they share none."""
    return from_differences([first[key] - second[key] for key in first if key in second])


def from_differences(differences: Sequence[float]) -> Comparison | None:
    """The comparison made of paired differences."""
    found = spread(differences)
    if found is None:
        return None
    p = paired_p(differences)
    return Comparison(found.mean, found.sd, found.n, p, state_of(differences, p))


def state_of(differences: Sequence[float], p: float | None) -> str:
    """Which way the difference goes, by the rule that all verdicts share.

    A difference counts as shown where its paired test is below 5 %, or where fewer than six pairs all point
    one way and their mean is more than MARGIN points.
    """
    mean = fmean(differences)
    agree = all(value > 0 for value in differences) or all(value < 0 for value in differences)
    few = len(differences) < WILCOXON_FROM and agree and abs(mean) > MARGIN
    if not few and (p is None or p >= LEVEL):
        return "same"
    return "higher" if mean > 0 else "lower"


def expected_maximum(count: int) -> float:
    """The mean of the largest of so many independent standard normal numbers."""
    points, step = np.linspace(-8, 8, 4001, retstep=True)
    density = count * stats.norm.pdf(points) * stats.norm.cdf(points) ** (count - 1)
    return float((points * density).sum() * step)


def blocked_p(runs: Mapping[str, Mapping[int, float]]) -> float:
    """p that rows do not differ: analysis of variance, the seeds that all have as blocks."""
    seeds = sorted(set.intersection(*[set(values) for values in runs.values()]))
    table = np.array([[values[seed] for seed in seeds] for values in runs.values()])
    rows, blocks = table.shape
    means = table.mean(1)
    left = table - means[:, None] - table.mean(0)[None] + table.mean()
    between = blocks * ((means - table.mean()) ** 2).sum() / (rows - 1)
    within = (left**2).sum() / ((rows - 1) * (blocks - 1))
    if within <= 1e-12:  # the last bits of equal numbers
        return 1.0 if between <= 1e-12 else 0.0
    return float(stats.f.sf(between / within, rows - 1, (rows - 1) * (blocks - 1)))


def p_text(p: float) -> str:
    """`p = .031`, or `p < .001`."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".")
