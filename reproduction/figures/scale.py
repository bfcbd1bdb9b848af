"""Axes that show the bulk of their values: the few far off are numbers at the edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from reproduction.figures.style import look, point_style


class Drawn(NamedTuple):
    """One value of a method, and where it stands."""

    axis: Any
    x: float
    y: float
    method: str
    sd: float = 0.0
    called: str = ""
    """What stands before its number at the edge."""


def show_bulk(drawn: Sequence[Drawn], bars: bool = False) -> None:
    """Scale axes that share their y to the bulk of their values; the few far off are numbers at the edge.

    One run that failed would else press the differences of all others into a line.
    """
    near = bulk([value.y for value in drawn])
    if near is None:
        return
    kept = [value for value in drawn if near[0] <= value.y <= near[1]]
    low, high = min(value.y - value.sd for value in kept), max(value.y + value.sd for value in kept)
    if bars:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = max(0.15 * (high - low), 0.05)
    low, high = low - margin, high + margin
    for axis in {id(value.axis): value.axis for value in drawn}.values():
        axis.set_ylim(low, high)
    taken: dict[tuple[int, bool, float], int] = {}  # numbers at one place stand on each other
    for value in drawn:
        if low <= value.y <= high:
            continue
        below = value.y < low
        edge = low if below else high
        place = (id(value.axis), below, round(value.x) if bars else value.x)
        above = 3 + 8 * taken.setdefault(place, 0)
        taken[place] += 1
        if not bars:
            value.axis.plot([value.x], [edge], clip_on=False, **{**point_style(value.method), "label": "_"})
        value.axis.annotate(
            f"{value.called}{value.y:.1f}",
            (value.x, edge),
            xytext=(0 if bars else 5, above if below else -above),
            textcoords="offset points",
            ha="center" if bars else "left",
            va="bottom" if below else "top",
            fontsize=7,
            color=look(value.method).colour,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6} if bars else None,
        )


def bulk(values: Sequence[float]) -> tuple[float, float] | None:
    """Least and greatest value but for far outliers; None where these do not stretch the axis fourfold."""
    if not values:
        return None
    first, third = np.quantile(values, [0.25, 0.75])
    reach = 3 * max(third - first, 0.3)  # Tukey's outer fences, and never less than a point
    near = [value for value in values if first - reach <= value <= third + reach]
    stretched = max(values) - min(values) > 4 * (max(near) - min(near))
    return (min(near), max(near)) if len(near) > 1 and stretched else None
