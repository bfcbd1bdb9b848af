"""Which experiment has which figures, and how they are written."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from graylearn.extras import require
from reproduction.figures import panels
from reproduction.figures.lengths import length_curves
from reproduction.figures.lengths import panels as length_panels
from reproduction.figures.style import SETTINGS, save
from reproduction.records import Group, Record, Row, groups, records

Drawer = Callable[[Sequence[Group]], Any]


def _sources(found: Sequence[Group]) -> Any:
    return panels.accuracy_and_gain(found, panels.source_name, "source of OOD samples")


def _architectures(found: Sequence[Group]) -> Any:
    return panels.accuracy_and_gain(found, panels.network_name, "network")


DRAWERS: dict[str, Drawer] = {
    "table1": length_curves,
    "alpha": panels.alpha_curves,
    "sources": _sources,
    "architectures": _architectures,
    "calibration": panels.reliability_diagrams,
    "ablation": panels.ablation_bars,
    "regimes": panels.regime_points,
}
"""The figure of each experiment that has one."""


def draw(experiment: str, rows: Sequence[Row] | Sequence[Record], folder: str | Path) -> list[Path]:
    """Draw the figures of an experiment as PNG and SVG into `folder`; returns the files written.

    Where settings such as the schedule differ among the rows, each has a figure of its own, so that no curve
    joins what was not trained alike. An experiment without a figure, or without rows, writes nothing.
    """
    found = _records(experiment, rows)
    if experiment not in DRAWERS or not found:
        return []
    matplotlib = require("matplotlib", "plots")
    written = []
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **SETTINGS}):
        for suffix, members in _alike(experiment, groups(found)):
            if _drawable(experiment, members):
                drawn = DRAWERS[experiment](members)
                described = {"Description": f"data {fingerprint(experiment, rows)}"}
                written += save(drawn, Path(folder), f"{experiment}{suffix}", described)
    return written


def fingerprint(experiment: str, rows: Sequence[Row] | Sequence[Record]) -> str:
    """A hash of all that the figures of an experiment are drawn from, whatever the order of the rows."""
    lines = sorted(
        json.dumps([record.cell, record.measured], sort_keys=True, default=str)
        for record in _records(experiment, rows)
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def recorded_fingerprint(svg: str | Path) -> str | None:
    """The hash that a drawn SVG carries, None where it carries none."""
    found = re.search(r"data ([0-9a-f]{16})", Path(svg).read_text(encoding="utf-8"))
    return found[1] if found else None


def _records(experiment: str, rows: Sequence[Row] | Sequence[Record]) -> list[Record]:
    made = [row if isinstance(row, Record) else records([row]) for row in rows]
    flat = [record for part in made for record in (part if isinstance(part, list) else [part])]
    return [record for record in flat if record.experiment == experiment]


def _alike(experiment: str, found: Sequence[Group]) -> list[tuple[str, list[Group]]]:
    """Groups that share a schedule, each with what to add to the name of its file; some compare them."""
    if experiment in ("table1", "regimes", "ablation"):
        return [("", list(found))]
    by_schedule: dict[tuple[str, ...], list[Group]] = {}
    for group in found:
        fields = ("dataset", "preset", "epochs", "batch_size", "train_size")
        key = [str(group.get(name)) for name in fields]
        if experiment == "sources":  # the groups of two OOD sets have the same numbers
            key[0] += f"+{str(group.get('ood')).partition('/')[0]}"
        by_schedule.setdefault(tuple(key), []).append(group)
    if len(by_schedule) == 1:
        return [("", list(found))]
    return [(f"-{'-'.join(key[:3])}".replace("/", "_"), members) for key, members in by_schedule.items()]


def _drawable(experiment: str, found: Sequence[Group]) -> bool:
    """Whether there is enough for a figure: something labelled, and what the figure is about."""
    if experiment == "table1":
        return bool(length_panels(found))
    if experiment == "regimes":
        return any(group.values("oracle") for group in found)
    if experiment == "ablation":
        return any("standard" in group.by_method for group in found)
    if experiment in ("sources", "architectures"):
        compared = [group for group in found if {"standard", "gl"} <= group.by_method.keys()]
        return len({(group.get("ood"), group.get("net")) for group in compared}) > 1
    shown = any(panels.methods_of([g]) for _, members in panels.by_labels(found) for g in members)
    if experiment == "calibration":
        runs = [r for g in found for seeds in g.by_method.values() for r in seeds.values()]
        return shown and any(r.measured.get("reliability") for r in runs)
    return shown
