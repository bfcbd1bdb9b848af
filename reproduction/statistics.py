"""Numbers over seeds: mean and spread, and 95 % intervals of paired differences.

Under one seed all methods saw the same split and the same OOD samples, so differences are taken seed by seed.
The intervals speak of other seeds on the same data, not of other data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy import stats


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


@dataclass(frozen=True)
class Interval:
    """A mean difference and its 95 % interval (Student's t)."""

    mean: float
    """Points."""
    half: float | None
    """Half of the interval's width; None of one pair."""
    n: int
    """Pairs."""

    @property
    def low(self) -> float:
        """Its lower end."""
        return self.mean - (float("inf") if self.half is None else self.half)

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.mean + (float("inf") if self.half is None else self.half)

    def __str__(self) -> str:
        """`+0.3 ± 0.7`; `+0.3` of one pair."""
        return f"{self.mean:+.1f}" if self.half is None else f"{self.mean:+.1f} ± {self.half:.1f}"


def interval(differences: Sequence[float]) -> Interval | None:
    """The interval of paired differences; None of none."""
    found = spread(differences)
    if found is None:
        return None
    if found.sd is None:
        return Interval(found.mean, None, 1)
    half = float(stats.t.ppf(0.975, found.n - 1)) * found.sd / found.n**0.5
    return Interval(found.mean, half, found.n)


def gain(first: Mapping[int, float], second: Mapping[int, float]) -> Interval | None:
    """First minus second over the seeds both have."""
    return interval([first[seed] - second[seed] for seed in first if seed in second])
