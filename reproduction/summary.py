"""From rows of the store to tables: methods down, datasets across, the paper's number beside ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from graylearn.data.catalog import CATALOG
from graylearn.metrics import gap_recovered
from reproduction import names, paper
from reproduction.cells import Cell
from reproduction.experiments import EXPERIMENTS
from reproduction.options import PROTOCOLS
from reproduction.records import Group, Record, Row, groups, method_rank, records
from reproduction.schedules import trained_alike
from reproduction.statistics import LEVEL, Spread, holm, paired_p, spread

NO_CONTEST = ("oracle",)
"""Methods that see what the others may not: never the best, never tested."""


@dataclass(frozen=True)
class Entry:
    """One method on one dataset."""

    spread: Spread
    """Accuracy, percent."""
    best: bool
    """Whether no other method (the oracle aside) has a higher mean, to the digit that is shown; only of
    methods with as many seeds as the column has."""
    mark: str
    """`+` or `-` where it is significantly above or below standard, else nothing."""
    p: float | None
    """Of the paired test against standard, adjusted by Holm; None where there is nothing to test."""
    paper: float | None
    """What the paper has there."""
    recovered: Spread | None
    """Share of the gap between standard and oracle won back; None where the gap is below one point."""

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, points."""
        return None if self.paper is None else self.spread.mean - self.paper


@dataclass(frozen=True)
class Column:
    """One setting: what all its methods share."""

    title: str
    """The dataset and what else tells it from the other columns."""
    seeds: int
    """The most seeds that one of its methods has."""
    entries: Mapping[str, Entry]
    """By method."""
    paper: Mapping[str, float]
    """The paper's numbers, also of methods that were not measured."""
    cell: Mapping[str, Any]
    """The settings."""
    note: str | None = None
    """Why it is empty: what is missing."""


@dataclass(frozen=True)
class Table:
    """A table as the renderers take it."""

    name: str
    """Fit for a file name."""
    title: str
    """One line."""
    notes: tuple[str, ...]
    """What a reader must know to read it."""
    columns: tuple[Column, ...]
    """Left to right."""
    measure: str = "accuracy"
    """What the numbers are: `accuracy` or `ece`, both percent."""
    methods: tuple[str, ...] = field(init=False)
    """Top to bottom: every method measured or printed in some column."""

    def __post_init__(self) -> None:
        found = {method for column in self.columns for method in (*column.entries, *column.paper)}
        object.__setattr__(self, "methods", tuple(sorted(found, key=method_rank)))


MARKS_NOTE = (
    "Mean ± standard deviation over seeds; bold is best of what has all seeds of its column, the oracle "
    "aside; + and - mark what differs from standard at 5 % (paired over seeds: Wilcoxon's signed-rank test "
    "from 6 seeds, the t test below; Holm over the methods of a column)."
)
PAPER_NOTE = "Beside it, in brackets: the paper's number and ours minus it."


def make_column(
    group: Group, title: str, printed: Mapping[str, float] | None, measure: str = "accuracy"
) -> Column:
    """All methods of one group, compared with its standard training and oracle."""
    values = {method: group.values(method, measure) for method in group.methods}
    spreads = {method: found for method, seeds in values.items() if (found := spread(seeds))}
    printed = printed or {}
    sign = -1 if measure == "ece" else 1  # of errors the lowest is best
    most = max((found.n for found in spreads.values()), default=0)
    whole = {m: s.mean for m, s in spreads.items() if m not in NO_CONTEST and s.n == most}
    contest = {method: round(sign * mean, 1) for method, mean in whole.items()}
    adjusted = _against_standard(values)
    entries = {}
    for method, found in spreads.items():
        p = adjusted.get(method)
        mark = ""
        if p is not None and p < LEVEL:
            mark = "+" if found.mean > spreads["standard"].mean else "-"
        entries[method] = Entry(
            found,
            best=len(contest) > 1 and method in contest and contest[method] == max(contest.values()),
            mark=mark,
            p=p,
            paper=printed.get(method),
            recovered=recovered(group, method) if measure == "accuracy" else None,
        )
    return Column(title, most, entries, printed, group.cell)


def _against_standard(values: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    """p of every method against standard, over the seeds they share, adjusted for being several."""
    standard = values.get("standard", {})
    raw = {}
    for method, seeds in values.items():
        if method not in ("standard", *NO_CONTEST):
            p = paired_p([seeds[seed] - standard[seed] for seed in seeds if seed in standard])
            if p is not None:
                raw[method] = p
    return holm(raw)


def recovered(group: Group, method: str) -> Spread | None:
    """Share of the gap won back, over the seeds that oracle, standard and method all have.

    The gap is that of the means, so that a seed with a small gap of its own does not blow up the spread.
    """
    if method in ("standard", "oracle"):
        return None
    mine, standard, oracle = (group.values(name) for name in (method, "standard", "oracle"))
    shared = sorted(set(mine) & set(standard) & set(oracle))
    if not shared:
        return None
    low, high = (fmean(values[seed] for seed in shared) for values in (standard, oracle))
    shares = [gap_recovered(low + mine[seed] - standard[seed], low, high) for seed in shared]
    return spread([share for share in shares if share is not None])


def missing(dataset: str, title: str, printed: Mapping[str, float]) -> Column:
    """The column of a dataset that was not measured: the paper's numbers, and what is needed."""
    here = names.needs(dataset) if dataset in NOT_AT_HAND else NOT_YET
    return Column(title, 0, {}, printed, {"dataset": dataset}, here)


NOT_YET = "not measured yet"
"""The note of a set that has no rows."""
NOT_AT_HAND = ("cifar100", "mini-imagenet", "gene")
"""Sets of the paper whose files the committed results did without."""


def waits(cell: Cell) -> bool:
    """Whether a cell needs such files: a sweep without them passes it over."""
    return any(name.split("/")[0] in NOT_AT_HAND for name in (cell.dataset, cell.ood))


def varying(found: Sequence[Group]) -> list[str]:
    """Settings in which groups differ, beyond those that the titles of tables name anyway."""
    fields = ("net", "preset", "epochs", "batch_size", "train_size", "alpha")
    return [name for name in fields if len({str(group.get(name)) for group in found}) > 1]


def title_of(group: Group, shown: Sequence[str], extra: Sequence[str]) -> str:
    """The parts of a group's settings that tell it from the others of its table."""
    words = {
        "dataset": lambda value: names.dataset_title(value),
        "labels": lambda value: f"{value} labels",
        "ood": lambda value: f"OOD {names.ood_title(value)}",
        "epochs": lambda value: f"{value} epochs",
        "preset": lambda value: f"preset {value}",
        "batch_size": lambda value: f"batch {value}",
        "train_size": lambda value: f"{value} samples",
        "alpha": lambda value: f"alpha {value:g}",
    }
    parts = []
    for name in (*shown, *extra):
        value = group.get(name)
        if value is not None:
            parts.append(words.get(name, str)(value))
    return ", ".join(parts)


def table1(found: Sequence[Record]) -> list[Table]:
    """Images: dataset x labels, one column each, and the paper's sets that are not at hand."""
    tables: list[Table] = []
    for name, title, made in _by_schedule("table1", "Table 1: accuracy on images, %", groups(found)):
        made = in_order(made, ("dataset", "labels"))
        extra = varying(made)
        if len({(group.get("dataset"), group.get("ood")) for group in made}) > len(
            {g.get("dataset") for g in made}
        ):
            extra.append("ood")
        columns = []
        for group in made:
            dataset, labels = str(group.get("dataset")), group.get("labels")
            printed = paper.TABLE1.get((dataset, labels), {}) if group.get("net") == "resnet18" else {}
            if tables:  # what the paper has of methods that were not run stands in the first
                printed = {method: printed[method] for method in group.methods if method in printed}
            columns.append(make_column(group, title_of(group, ("dataset", "labels"), extra), printed))
        if not tables:
            columns += _not_measured(found)
        general = [] if tables else [MARKS_NOTE, PAPER_NOTE]
        notes = [*general, _how(made), _image_sources(made), _untrained(columns)]
        tables.append(Table(name, title, _clean(notes), tuple(columns)))
    return tables


def _not_measured(found: Sequence[Record]) -> list[Column]:
    """A column for each set and kind of labels of the paper's first table that has no rows."""
    have = {(group.get("dataset"), group.get("labels")) for group in groups(found)}
    return [
        missing(dataset, f"{names.dataset_title(dataset)}, {labels} labels", printed)
        for (dataset, labels), printed in paper.TABLE1.items()
        if (dataset, labels) not in have
    ]


def _by_schedule(name: str, title: str, made: Sequence[Group]) -> Iterator[tuple[str, str, list[Group]]]:
    """(name, title, groups) of each table: images trained alike share one, the nearest to the paper first."""
    images = [group for group in made if group.get("kind") == "image"]
    tables = [group for group in made if group.get("kind") != "image"]
    parts = [*([("tables", tables)] if tables else []), *trained_alike(images)]
    for place, (way, members) in enumerate(parts):
        own = f"{name}-{re.sub('[^a-z0-9]+', '-', way)}" if place else name
        yield own, (f"{title}, {way}" if len(parts) > 1 else title), members


def table2(found: Sequence[Record]) -> list[Table]:
    """Tables: one table a protocol, the eight sets across."""
    tables = []
    by_protocol = _by(groups(found), "protocol")
    for protocol in (name for name in PROTOCOLS if name in by_protocol):
        made = in_order(by_protocol[protocol], ("dataset",))
        extra = varying(made)
        columns = []
        for group in made:
            dataset = str(group.get("dataset"))
            columns.append(
                make_column(group, title_of(group, ("dataset",), extra), paper.TABLE2.get(dataset))
            )
        have = {column.cell.get("dataset") for column in columns}
        for dataset, printed in paper.TABLE2.items():
            if dataset not in have:
                columns.append(missing(dataset, names.dataset_title(dataset), printed))
        notes = _clean([MARKS_NOTE, PAPER_NOTE, _how(made), _short_of_ood(made)])
        title = f"Table 2: accuracy on tables, %, protocol {protocol}"
        tables.append(Table(f"table2-{protocol}", title, notes, tuple(columns)))
    return tables


def by_setting(
    name: str, title: str, shown: Sequence[str], measure: str = "accuracy"
) -> Callable[[Sequence[Record]], list[Table]]:
    """A maker of tables with one column a group, told apart by the settings `shown`."""

    def make(found: Sequence[Record]) -> list[Table]:
        tables: list[Table] = []
        for part_name, part_title, made in _by_schedule(name, title, groups(found)):
            made = in_order(made, shown)
            extra = [field for field in varying(made) if field not in shown]
            columns = tuple(
                make_column(group, title_of(group, shown, extra), _printed(group, measure), measure)
                for group in made
            )
            if not tables:
                columns += _waiting(name.partition("-")[0], found)
            general = [] if tables else [MARKS_NOTE]
            beside = PAPER_NOTE if any(column.paper for column in columns) else ""
            weak = _untrained(columns) if measure == "accuracy" else ""
            notes = _clean([*general, beside, _how(made), weak])
            tables.append(Table(part_name, part_title, notes, columns, measure))
        return tables

    return make


def _waiting(experiment: str, found: Sequence[Record]) -> tuple[Column, ...]:
    """A column for each set that the experiment declares, has no rows of, and whose files are not at hand."""
    sources = [source for grid in EXPERIMENTS[experiment].grids for source in grid.sources]
    declared = dict.fromkeys(name.split("/")[0] for source in sources for name in source)
    measured = {str(g.get(name)).split("/")[0] for g in groups(found) for name in ("dataset", "ood")}
    absent = [name for name in declared if name in NOT_AT_HAND and name not in measured]
    return tuple(missing(name, names.dataset_title(name), {}) for name in absent)


def _printed(group: Group, measure: str) -> dict[str, float]:
    """What the paper prints beyond its two tables: four calibration errors."""
    if measure != "ece" or (group.get("dataset"), group.get("net")) != ("cifar10", "resnet18"):
        return {}
    return {method: value for (method, labels), value in paper.ECE.items() if labels == group.get("labels")}


def calibration(found: Sequence[Record]) -> list[Table]:
    """Calibration error, and the accuracy beside it."""
    shown = ("dataset", "labels")
    errors = by_setting("calibration-ece", "Calibration error (ECE, 20 bins), %", shown, "ece")
    accuracies = by_setting("calibration-accuracy", "Accuracy of the same runs, %", shown)
    return [*errors(found), *accuracies(found)]


MAKERS: dict[str, Callable[[Sequence[Record]], list[Table]]] = {
    "table1": table1,
    "table2": table2,
    "alpha": by_setting("alpha", "Accuracy by share of OOD samples, %", ("dataset", "labels", "alpha")),
    "sources": by_setting("sources", "Accuracy by source of OOD samples, %", ("ood", "labels")),
    "architectures": by_setting("architectures", "Accuracy by network, %", ("net", "labels")),
    "calibration": calibration,
    "ablation": by_setting("ablation", "The parts of GL: accuracy, %", ("dataset", "protocol", "labels")),
    "regimes": by_setting("regimes", "When OOD samples hurt: accuracy, %", ("dataset", "ood", "labels")),
    "human": by_setting("human", "Labels that people gave: accuracy, %", ("dataset", "labels")),
}
"""How the tables of each experiment are made."""


def tables(experiment: str, rows: Sequence[Row]) -> list[Table]:
    """The tables of an experiment, made of rows of the store; rows of other experiments are left out.

    Of the paper's sets without rows, those whose files are not to be had keep their column; one that was
    not asked for does not.
    """
    found = [record for record in records(rows) if record.experiment == experiment]
    made = MAKERS[experiment](found)
    return [replace(table, columns=tuple(c for c in table.columns if c.note != NOT_YET)) for table in made]


def _how(made: Sequence[Group]) -> str:
    """What all columns share."""
    if not made:
        return ""
    first = made[0].cell
    fields = ("net", "epochs", "preset", "batch_size", "train_size", "alpha")
    same = [name for name in fields if name not in varying(made)]
    if first.get("protocol") == "released":
        same.remove("alpha")  # all samples of a class are OOD there, whatever share that gives
    words = {
        "epochs": "epochs {}",
        "preset": "preset {}",
        "batch_size": "batch {}",
        "train_size": "{} in-distribution samples",
        "alpha": "alpha {}",
    }
    parts = [words.get(name, "{}").format(first[name]) for name in same if first.get(name) is not None]
    return "All columns: " + ", ".join(parts) + "." if parts else ""


def _untrained(columns: Sequence[Column]) -> str:
    """The methods whose networks hardly learned to tell classes apart."""
    told = []
    for column in columns:
        best = max((entry.spread.mean for entry in column.entries.values()), default=0.0)
        low = [m for m, entry in column.entries.items() if entry.spread.mean < best / 2]
        told += [f"{', '.join(map(names.method_title, low))} ({column.title})"] if low else []
    return f"Hardly trained, at less than half of the best of the column: {'; '.join(told)}." if told else ""


def _short_of_ood(made: Sequence[Group]) -> str:
    """The sets whose smallest class was too small for the share of OOD samples that was asked for."""
    told = []
    for group in made:
        if group.get("protocol") == "released":
            continue  # all samples of a class are OOD there, whatever share that gives
        runs = [r.measured for m, s in group.by_method.items() if m != "oracle" for r in s.values()]
        known = [m for m in runs if m.get("ood_samples") and m.get("samples")]
        reached = fmean(m["ood_samples"] / m["samples"] for m in known) if known else None
        if reached is not None and reached < 0.9 * float(group.get("alpha", 0.0)):
            title = names.dataset_title(str(group.get("dataset")))
            told.append(f"{title} reached alpha {reached:.3f}: its smallest class has no more samples.")
    return " ".join(told)


def _image_sources(made: Sequence[Group]) -> str:
    sources = sorted({names.ood_title(str(group.get("ood"))) for group in made if group.get("ood")})
    stood_in = any("Tiny-ImageNet" in source for source in sources)
    tail = "; Tiny-ImageNet stands in for Mini-ImageNet" if stood_in else ""
    return f"OOD samples from: {', '.join(sources)}{tail}." if sources else ""


def _by(made: Sequence[Group], name: str) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for group in made:
        found.setdefault(str(group.get(name)), []).append(group)
    return found


def in_order(made: Sequence[Group], fields: Sequence[str]) -> list[Group]:
    """Datasets in the catalog's order, networks in the paper's, groups of sources by their number."""
    catalog = list(CATALOG)

    def rank(name: str, value: Any) -> tuple[int, float, str]:
        if isinstance(value, int | float):
            return (0, float(value), "")
        text = str(value)
        base, _, number = text.partition("/")
        if name == "net" and text in paper.ARCHITECTURES:
            return (0, paper.ARCHITECTURES.index(text), "")
        if name in ("dataset", "ood") and base in catalog:
            return (catalog.index(base), float(number) if number.isdigit() else 0.0, text)
        return (len(catalog), 0.0, text)

    order = (*fields, "net", "preset", "epochs", "batch_size", "train_size", "alpha", "labels", "ood")
    return sorted(made, key=lambda group: [rank(name, group.get(name)) for name in order])


def _clean(notes: Sequence[str]) -> tuple[str, ...]:
    return tuple(note for note in notes if note)
