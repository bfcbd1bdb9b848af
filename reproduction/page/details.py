"""docs/lab/reproduction-details.md: details.md with all other runs, what was not run, and the hardware."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from graylearn.errors import counted
from reproduction import names
from reproduction.cells import Cell, told
from reproduction.experiments import EXPERIMENTS
from reproduction.page.evidence import Evidence, grid, where
from reproduction.page.sections import DASH, value_of, wrapped
from reproduction.records import Group

CORE = ("standard", "gl", "gl-label", "gl-history", "gl+refine", "oracle")
OTHERS = ("mae", "bt", "spl", "il", "sl", "nl", "srcc", "lcvd", "standard+nl", "gl-relative")
LOOP = ("majority", "standard", "gl (w 0.1)", "gl", "gl (w 0.9)", "oracle")


def page(evidence: Evidence) -> str:
    """The whole page."""
    table1, loop, tables = (evidence.groups(name) for name in ("table1", "released", "table2"))
    text = Path(__file__).with_name("details.md").read_text(encoding="utf-8")
    filled = text.format_map(
        {
            "core": images(table1, CORE, "dataset", "ood", "labels"),
            "others": images(table1, OTHERS, "dataset", "ood", "labels"),
            "shares": images(evidence.groups("alpha"), CORE, "labels", "alpha"),
            "sources": sources(evidence),
            "networks": images(evidence.groups("architectures"), CORE, "net", "labels"),
            "loop": by_loop(loop, LOOP),
            "text": by_text(where(tables, protocol="paper"), ("majority", *CORE)),
            "tuned": by_text(where(tables, protocol="tuned"), CORE),
            "regimes": images(evidence.groups("regimes"), CORE, "dataset", "ood", "labels"),
            "not_run": not_run(evidence),
            "measured_on": measured_on(evidence),
        }
    )
    return wrapped(filled)


def images(found: Sequence[Group], methods: Sequence[str], *titles: str) -> str:
    """One row for each group: the settings named, its schedule, and the methods that some group has."""
    shown = [method for method in methods if any(group.values(method) for group in found)]
    known = [group for group in found if sum(bool(group.values(method)) for method in shown) > 1]
    words = {
        "dataset": lambda value: names.dataset_title(str(value)),
        "ood": lambda value: names.ood_title(str(value)),
        "alpha": lambda value: f"{value:g}",
    }
    body = [
        [
            *(words.get(title, str)(group.get(title)) for title in titles),
            _way(group),
            *(value_of(group, method) for method in shown),
        ]
        for group in sorted(known, key=lambda g: [*(str(g.get(t)) for t in titles), -int(g.get("epochs"))])
    ]
    top = [*titles, "schedule", *map(names.method_title, shown)]
    return grid(top, body, words=range(len(titles) + 1))


def _way(group: Group) -> str:
    """Schedule, part of the training set and recipe of an image group, as the page says how to read it."""
    shape = {"paper-warm": "w", "fast": "c"}.get(str(group.get("preset")), "")
    size = group.get("train_size")
    part = "" if size is None else f" of {size // 1000}k"
    batch = "" if group.get("batch_size") == 128 else f"/{group.get('batch_size')}"
    recipe = f", {told(group.get('recipe'))}" if group.get("recipe") else ""
    return f"{group.get('epochs')}{shape}{batch}{part}{recipe}"


def sources(evidence: Evidence) -> str:
    """Mean and range over the ten sources."""
    body = []
    for labels in ("specific", "random"):
        found = [g for g in where(evidence.groups("sources"), labels=labels) if "/" in str(g.get("ood"))]
        for method in ("standard", "gl", "oracle"):
            means = [fmean(values.values()) for group in found if (values := group.values(method))]
            if means:
                ends = f"{min(means):.1f} to {max(means):.1f}"
                body.append(
                    [labels, names.method_title(method), f"{fmean(means):.1f}", ends, str(len(means))]
                )
    return grid(["labels", "", "mean", "range", "sources"], body, words=(0, 1))


def by_loop(found: Sequence[Group], methods: Sequence[str]) -> str:
    """Tables by the released loop, one row for each table, length and scaling."""
    order = sorted(found, key=lambda g: (str(g.get("dataset")), int(g.get("epochs")), bool(g.get("recipe"))))
    body = [
        [
            names.dataset_title(str(group.get("dataset"))),
            str(group.get("epochs")),
            "yes" if group.get("recipe") else "no",
            *(value_of(group, method) for method in methods),
        ]
        for group in order
    ]
    return grid(["", "epochs", "normalised", *map(names.method_title, methods)], body)


def by_text(found: Sequence[Group], methods: Sequence[str]) -> str:
    """Tables across, methods down, and the best and the worst of the other methods."""
    shown = [method for method in methods if any(group.values(method) for group in found)]
    body = [[names.method_title(method), *(value_of(group, method) for group in found)] for method in shown]
    for title, place in (("best of the others", -1), ("worst of the others", 0)):
        cells = []
        for group in found:
            means = sorted((fmean(by.values()), each) for each in OTHERS if (by := group.values(each)))
            cells.append(f"{means[place][0]:.1f} {names.method_title(means[place][1])}" if means else DASH)
        body.append([title, *cells])
    return grid(["", *(names.dataset_title(str(group.get("dataset"))) for group in found)], body)


def not_run(evidence: Evidence) -> str:
    """How many declared runs no store has, by experiment and data."""
    have = {record.row["key"] for found in evidence.by_experiment.values() for record in found}
    body = []
    for name, experiment in EXPERIMENTS.items():
        cells = experiment.cells()
        left = Counter(_data(cell) for cell in cells if cell.key not in have)
        missing = "; ".join(f"{what} {count}" for what, count in left.items())
        body.append([f"`{name}`", str(len(cells)), str(left.total()), missing or DASH])
    return grid(["experiment", "declared", "not run", "on"], body, words=(0, 3))


def _data(cell: Cell) -> str:
    """The sets of a cell, whichever of its sources."""
    source = names.ood_title(cell.ood.partition("/")[0])
    own = cell.kind == "table" or source == "none"
    return names.dataset_title(cell.dataset) + ("" if own else f" + {source}")


def measured_on(evidence: Evidence) -> str:
    """Hardware, time and commits."""
    body = []
    for name in EXPERIMENTS:
        rows = [record.row for record in evidence.by_experiment.get(name, [])]
        if rows:
            hours = sum(float(row["measured"].get("seconds") or 0.0) for row in rows) / 3600
            kinds = sorted({str((row.get("hardware") or {}).get("gpu") or "CPU") for row in rows})
            days = sorted(str(row.get("time"))[:10] for row in rows)
            commits = counted(len({str(row.get("commit")) for row in rows}), "commit")
            span = " to ".join(dict.fromkeys((days[0], days[-1])))
            body.append([f"`{name}`", str(len(rows)), f"{hours:.1f}", ", ".join(kinds), span, commits])
    return grid(["experiment", "runs", "hours", "hardware", "days", "code"], body, words=(0, 3, 4, 5))
