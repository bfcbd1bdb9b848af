"""How far each method ends from the oracle, against the length of training: what a schedule does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from reproduction import names
from reproduction.figures.style import figure, legend_below, point_style
from reproduction.grids import PAPER_IMAGES
from reproduction.records import Group
from reproduction.statistics import Spread, spread

SHOWN = ("standard", "gl", "gl-relative", "gl-history", "gl+refine")
"""Methods of the figure, where measured."""
STEP = 0.13
"""How far apart the points of two methods stand, of the width between two lengths."""


def panels(found: Sequence[Group]) -> list[tuple[str, list[Group]]]:
    """(title, groups by length) of each set and kind of labels that was trained for two lengths or more."""
    by_set: dict[tuple[str, str], list[Group]] = {}
    for group in found:
        if group.get("train_size") is None and all(map(group.values, ("standard", "gl", "oracle"))):
            key = (str(group.get("dataset")), str(group.get("labels")))
            by_set.setdefault(key, []).append(group)
    return [
        (f"{names.dataset_title(dataset)}, {labels} labels", sorted(_comparable(members), key=_length))
        for (dataset, labels), members in sorted(by_set.items())
        if _lengths(members) > 1
    ]


def length_curves(found: Sequence[Group]) -> Any:
    """Points from the oracle by length, one panel a set and kind of labels."""
    shown = panels(found)
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)
    drawn = figure(4.2 * columns, 2.5 * rows + 0.5)
    axes = drawn.subplots(rows, columns, squeeze=False)
    for axis, (title, members) in zip(axes.ravel(), shown, strict=False):
        axis.axhline(0, color="0.55", linewidth=1)
        for number, method in enumerate(SHOWN):
            aside = (number - (len(SHOWN) - 1) / 2) * STEP
            points = [
                (place + aside, gap.mean, math.nan if gap.sd is None else gap.sd)
                for place, group in enumerate(members)
                if (gap := _from_oracle(group, method))
            ]
            if points:
                places, means, deviations = zip(*points, strict=True)
                style = {**point_style(method), "linestyle": "none"}
                axis.errorbar(places, means, yerr=deviations, capsize=2, **style)
        axis.set_xticks(range(len(members)), [_way(group) for group in members])
        axis.set_xlim(-0.5, len(members) - 0.5)
        axis.grid(visible=False, axis="x")
        axis.set_title(title)
        axis.set_ylabel("points from the oracle")
    for axis in axes.ravel()[len(shown) :]:
        axis.set_axis_off()
    legend_below(drawn, axes.ravel()[: len(shown)])
    return drawn


def _from_oracle(group: Group, method: str) -> Spread | None:
    """Accuracy less the oracle's, over the seeds that both have."""
    mine, oracle = group.values(method), group.values("oracle")
    return spread([mine[seed] - oracle[seed] for seed in mine if seed in oracle])


def _comparable(members: list[Group]) -> list[Group]:
    """The groups trained in the paper's steps, where they are of two lengths: nothing else differs then."""
    steps = (PAPER_IMAGES.preset, PAPER_IMAGES.batch_size)
    alike = [group for group in members if (group.get("preset"), group.get("batch_size")) == steps]
    return alike if _lengths(alike) > 1 else members


def _lengths(members: Sequence[Group]) -> int:
    """How many lengths there are."""
    return len({group.get("epochs") for group in members})


def _length(group: Group) -> tuple[int, int, str]:
    return int(group.get("epochs")), -int(group.get("batch_size")), str(group.get("preset"))


def _way(group: Group) -> str:
    """How long, what the oracle reaches so, and in what steps."""
    warm = "\nwarm-up" if group.get("preset") == "paper-warm" else ""
    oracle = fmean(group.values("oracle").values())
    return f"{group.get('epochs')} epochs\noracle {oracle:.1f}\nbatch {group.get('batch_size')}{warm}"
