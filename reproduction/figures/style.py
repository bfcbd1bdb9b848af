"""One look for all figures: it reads in black and white, and the same numbers give the same file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graylearn.extras import require
from reproduction.names import method_title

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
    "gl-history": Look("#b03a6f", "h", "--", "oooo"),
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
