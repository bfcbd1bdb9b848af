"""One look for all figures: it reads in black and white, and the same numbers give the same file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graylearn.bench.names import method_title
from graylearn.extras import require

SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that layouts agree on every machine
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "grid.color": "0.88",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.markersize": 5,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "graylearn",
    "svg.fonttype": "none",  # text stays text: small files that can be searched and read aloud
}


@dataclass(frozen=True)
class Look:
    """How one method is drawn; marker, line and hatch each tell it apart without colour."""

    colour: str
    """Dark to light, so that a grey print keeps the order."""
    marker: str
    """Of points."""
    line: str
    """Of curves."""
    hatch: str
    """Of bars."""


LOOKS: dict[str, Look] = {
    "standard": Look("#000000", "o", "-", ""),
    "gl": Look("#0b5c9e", "s", "-", "////"),
    "gl-label": Look("#56a5d8", "^", "--", "----"),
    "gl-relative": Look("#0f7c8a", "p", "-.", "...."),
    "gl+refine": Look("#d9822b", "D", "-.", "\\\\\\\\"),
    "oracle": Look("#8c8c8c", "x", ":", "xxxx"),
    "nl": Look("#7a5195", "v", "--", "||||"),
    "standard+nl": Look("#3a7d44", "P", "-.", "++++"),
}


def look(method: str) -> Look:
    """The look of a method; those without one of their own share a plain grey."""
    return LOOKS.get(method, Look("#5f5f5f", "*", "--", "//\\\\"))


def bar_style(method: str) -> dict[str, Any]:
    """A white bar with the method's hatch and outline; standard is filled."""
    shown = look(method)
    face = shown.colour if not shown.hatch else "white"
    return {
        "facecolor": face,
        "edgecolor": shown.colour,
        "hatch": shown.hatch,
        "linewidth": 0.8,
        "label": method_title(method),
    }


def point_style(method: str) -> dict[str, Any]:
    """Marker and colour of a method's points."""
    shown = look(method)
    face = "none" if shown.marker not in ("x", "o") else shown.colour
    return {
        "color": shown.colour,
        "marker": shown.marker,
        "markerfacecolor": face,
        "linestyle": "none",
        "label": method_title(method),
    }


def figure(width: float, height: float) -> Any:
    """An empty figure, without the global state of pyplot."""
    return require("matplotlib.figure", "plots").Figure(figsize=(width, height), layout="constrained")


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


def legend_below(drawn: Any, axes: Any) -> None:
    """One legend for all panels, under them."""
    handles: dict[str, dict[str, Any]] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, {}).setdefault(type(handle).__name__, handle)
    both = require("matplotlib.legend_handler", "plots").HandlerTuple(ndivide=None)
    drawn.legend(
        [
            tuple(kinds.values()) for kinds in handles.values()
        ],  # a point and a bar of one method are one entry
        list(handles),
        handler_map={tuple: both},
        handlelength=3,
        loc="outside lower center",
        ncols=min(6, len(handles)),
    )


def save(drawn: Any, folder: Path, name: str, description: Mapping[str, str]) -> list[Path]:
    """Write NAME.png and NAME.svg, without dates."""
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    drawn.savefig(png, dpi=160, metadata={"Software": None, **description})
    drawn.savefig(svg, metadata={"Date": None, "Creator": "graylearn", **description})
    svg.write_text(small(svg.read_text(encoding="utf-8")), encoding="utf-8")
    return [png, svg]


def small(svg: str) -> str:
    """An SVG without comments and indentation, coordinates to a hundredth of a point: half the size."""
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", svg)
    return "\n".join(line.strip() for line in svg.splitlines() if line.strip()) + "\n"
