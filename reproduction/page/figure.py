"""The figure of the page: what Gray Learning gains over standard training, printed and measured."""

from __future__ import annotations

import io
import re
from typing import Any

from graylearn.lazy import require
from reproduction import names, paper
from reproduction.page.evidence import Evidence, gain_of
from reproduction.statistics import Interval

NAME = "paper-gains.svg"
SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that layouts agree on every machine
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "grid.color": "0.88",
    "legend.frameon": False,
    "svg.hashsalt": "graylearn",
    "svg.fonttype": "none",  # text stays text: small files that can be searched and read aloud
}
LOOKS = {
    "ours": ("#0b5c9e", "o", 0.0),
    "ours, their loop": ("#d9822b", "s", 0.25),
}
"""Colour, marker and how far below the printed one; markers tell them apart without colour."""

Line = tuple[str, float, dict[str, Interval]]
"""Its name, the printed gain, ours by the names of LOOKS."""


def lines(evidence: Evidence) -> list[Line]:
    """The columns of Table 1 and the rows of Table 2 that have a measured gain."""
    made: list[Line] = []
    for setting in evidence.settings():
        line = paper.TABLE1[setting.dataset, setting.labels]  # type: ignore[index]
        made.append((setting.title, line["gl"] - line["standard"], _known(ours=gain_of(setting.group))))
    for dataset, line in paper.TABLE2.items():
        loop = gain_of(evidence.table(dataset, "released"))
        ours = {"ours": gain_of(evidence.table(dataset)), "ours, their loop": loop}
        title = f"{names.dataset_title(dataset)} (K = {paper.CLASSES_LEFT[dataset]})"
        made.append((title, line["gl"] - line["standard"], _known(**ours)))
    return [line for line in made if line[2]]


def _known(**found: Interval | None) -> dict[str, Interval]:
    return {name: gain for name, gain in found.items() if gain is not None}


def draw(evidence: Evidence) -> str:
    """The figure as SVG, the same text for the same numbers; empty where there are none."""
    shown = lines(evidence)
    if not shown:
        return ""
    matplotlib = require("matplotlib", "plots")
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **SETTINGS}):
        figure = require("matplotlib.figure", "plots").Figure(
            figsize=(7.5, 0.32 * len(shown) + 1), layout="constrained"
        )
        axis = figure.subplots()
        axis.axvline(0, color="0.4", linewidth=0.8)
        places = range(len(shown))
        axis.plot([p for _, p, _ in shown], places, "D", color="black", fillstyle="none", label="printed")
        for name, (colour, marker, below) in LOOKS.items():
            known = [(place + below, ours[name]) for place, (_, _, ours) in enumerate(shown) if name in ours]
            if known:
                axis.errorbar(
                    [gain.mean for _, gain in known], [place for place, _ in known],
                    xerr=[gain.half or 0.0 for _, gain in known],
                    fmt=marker, color=colour, capsize=2, markersize=4, label=name,
                )  # fmt: skip
        axis.set_yticks(list(places), [title for title, _, _ in shown])
        axis.tick_params(axis="y", length=0)
        axis.invert_yaxis()
        axis.grid(axis="x")
        axis.set_xlabel("GL - standard training, points of test accuracy")
        axis.legend(loc="lower right")
        return _svg(figure)


def _svg(figure: Any) -> str:
    """Without dates, comments and indentation, coordinates to a hundredth of a point."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": "graylearn"})
    text = re.sub(r"<!--.*?-->", "", file.getvalue(), flags=re.DOTALL)
    text = re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"
