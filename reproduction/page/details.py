"""docs/lab/reproduction-details.md: details.md with all other runs, what was not run, and the hardware."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from reproduction import names, paper
from reproduction.cells import Cell, told
from reproduction.experiments import EXPERIMENTS
from reproduction.page.evidence import Evidence, gain_of, grid, where
from reproduction.page.sections import DASH, value_of, wrapped
from reproduction.records import Group

CORE = ("standard", "gl", "gl-label", "gl+refine", "oracle")
BASE = ("standard", "gl")
OTHERS = ("mae", "bt", "spl", "il", "sl", "nl", "srcc", "lcvd", "standard+nl", "gl-relative")
SHORT = ("standard", "gl", "gl+refine", "oracle")


def page(evidence: Evidence) -> str:
    """The whole page."""
    table1, loop, tables = (evidence.groups(name) for name in ("table1", "released", "table2"))
    in_table1 = {dataset for dataset, _ in paper.TABLE1}
    rest = [g for g in table1 if g.get("dataset") not in in_table1 or g.get("epochs") != 200]
    shares, regimes = evidence.groups("alpha"), evidence.groups("regimes")
    cycle = where(regimes, preset="fast")
    text = Path(__file__).with_name("details.md").read_text(encoding="utf-8")
    filled = text.format_map(
        {
            "core": images(rest, CORE, "dataset", "labels"),
            "others": images(rest, OTHERS, "dataset", "labels", least=len(OTHERS) // 2),
            "growing": growing(evidence),
            "ranges": ranges(shares, evidence.groups("sources")),
            "networks": networks(evidence.groups("architectures")),
            "loop": by_loop(where(loop, epochs=100)),
            "text": by_text(where(tables, protocol="paper"), CORE[2:]),
            "tuned": by_text(where(tables, protocol="tuned"), (*BASE, "oracle")),
            "regimes": images([g for g in regimes if g not in cycle], SHORT, "dataset", "ood", "labels"),
            "cycle": one_cycle(cycle),
            "runs": runs(evidence),
            "hardware": hardware(evidence),
        }
    )
    return wrapped(filled)


def images(found: Sequence[Group], methods: Sequence[str], *titles: str, least: int = 2) -> str:
    """One row for each group that has as many methods: its settings, schedule, and what some group has."""
    shown = [method for method in methods if any(group.values(method) for group in found)]
    known = [group for group in found if sum(bool(group.values(method)) for method in shown) >= least]
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


def growing(evidence: Evidence) -> str:
    """What GL gains as the share of SVHN in CIFAR-10 grows."""
    found = where(evidence.groups("alpha"), epochs=200, labels="random")
    gains = {float(g.get("alpha")): gain.mean for g in found if (gain := gain_of(g))}
    if not gains:
        return ""
    told = ", ".join(f"{gain:+.1f} at {alpha:g}" for alpha, gain in sorted(gains.items()))
    return f"With a share alpha of SVHN in CIFAR-10, random labels, one seed, GL gains {told}."


def networks(found: Sequence[Group]) -> str:
    """One row for each network and schedule: standard training and GL, by the labels of the OOD samples."""
    by: dict[tuple[str, str], dict[object, Group]] = {}
    for group in sorted(found, key=lambda g: (str(g.get("net")), -int(g.get("epochs")))):
        by.setdefault((str(group.get("net")), _way(group)), {})[group.get("labels")] = group
    columns = [(labels, method) for labels in ("random", "specific") for method in BASE]
    body = [
        [*key, *(value_of(groups.get(labels), method) for labels, method in columns)]
        for key, groups in by.items()
    ]
    head = [f"{labels}: {names.method_title(method)}" for labels, method in columns]
    return grid(["net", "schedule", *head], body, words=(0, 1))


def ranges(shares: Sequence[Group], sources: Sequence[Group]) -> str:
    """Mean and range of each method over ten shares of OOD samples, and over ten sources of them."""
    short = [g for g in shares if g.get("epochs") != 200]
    each = [g for g in sources if "/" in str(g.get("ood"))]
    body = []
    for over, found in (("share", short), ("source", each)):
        for labels in ("specific", "random"):
            line = []
            for method in (*BASE, "oracle"):
                means = [fmean(v.values()) for g in where(found, labels=labels) if (v := g.values(method))]
                told = f"{fmean(means):.1f} ({min(means):.1f} to {max(means):.1f})" if means else DASH
                line.append(told)
            body.append([over, labels, *line])
    return grid(["over", "labels", *map(names.method_title, (*BASE, "oracle"))], body, words=(0, 1))


def by_loop(found: Sequence[Group]) -> str:
    """Tables across; standard training and GL down, of columns as they are and normalised."""
    by = {(str(g.get("dataset")), bool(g.get("recipe"))): g for g in found}
    tables = sorted({name for name, _ in by})
    body = [
        [
            f"{'normalised: ' if scaled else ''}{names.method_title(method)}",
            *(value_of(by.get((name, scaled)), method) for name in tables),
        ]
        for scaled in (False, True)
        for method in BASE
    ]
    return grid(["", *map(names.dataset_title, tables)], body)


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


def one_cycle(found: Sequence[Group]) -> str:
    """What GL gains where the rate rises and falls once."""
    gains = [gain.mean for group in found if (gain := gain_of(group))]
    above = sum(gain > 0 for gain in gains)
    return (
        f"After one cycle of 15 epochs GL is above standard training in {above} of {len(gains)} settings "
        f"({min(gains):+.1f} to {max(gains):+.1f} points)."
        if gains
        else ""
    )


def runs(evidence: Evidence) -> str:
    """What each experiment declares, how much of it no store has, by data, and what was made."""
    have = {record.row["key"] for found in evidence.by_experiment.values() for record in found}
    body = []
    for name, experiment in EXPERIMENTS.items():
        cells = experiment.cells()
        left = Counter(_data(cell) for cell in cells if cell.key not in have)
        missing = "; ".join(f"{what} {count}" for what, count in left.items())
        rows = [record.row for record in evidence.by_experiment.get(name, [])]
        hours = sum(float(row["measured"].get("seconds") or 0.0) for row in rows) / 3600
        counts = (len(cells), left.total(), len(rows))
        body.append([f"`{name}`", *map(str, counts), f"{hours:.1f}", missing or DASH])
    head = ["experiment", "declared", "not run", "rows", "hours", "not run on"]
    return grid(head, body, words=(0, 5))


def _data(cell: Cell) -> str:
    """The sets of a cell, whichever of its sources."""
    source = names.ood_title(cell.ood.partition("/")[0])
    own = cell.kind == "table" or source == "none"
    return names.dataset_title(cell.dataset) + ("" if own else f" + {source}")


def hardware(evidence: Evidence) -> str:
    """What the runs were made on, and when."""
    rows = [record.row for found in evidence.by_experiment.values() for record in found]
    kinds = sorted({str((row.get("hardware") or {}).get("gpu") or "CPU") for row in rows})
    days = sorted(str(row.get("time"))[:10] for row in rows)
    return f"On {' and '.join(kinds)}, {' to '.join(dict.fromkeys((days[0], days[-1])))}." if rows else ""
