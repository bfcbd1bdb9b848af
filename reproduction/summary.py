"""From rows of the store to tables: methods down, datasets across, the paper's number beside ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from reproduction import names, paper
from reproduction.catalog import CATALOG
from reproduction.cells import CLEAN, told
from reproduction.columns import NOT_AT_HAND, NOT_YET, Column, make_column, missing
from reproduction.experiments import EXPERIMENTS
from reproduction.options import PROTOCOLS
from reproduction.records import Group, Record, Row, groups, method_rank, records
from reproduction.schedules import trained_alike


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


def varying(found: Sequence[Group]) -> list[str]:
    """Settings in which groups differ, beyond those that the titles of tables name anyway."""
    fields = ("net", "preset", "epochs", "batch_size", "train_size", "alpha", "recipe")
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
        "recipe": told,
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
    "readings": by_setting("readings", "Readings of the paper: accuracy, %", ("dataset", "labels", "recipe")),
    "released": by_setting(
        "released", "Tables by the released loop: accuracy, %", ("dataset", "epochs", "recipe")
    ),
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
        runs = [r.measured for m, s in group.by_method.items() if m not in CLEAN for r in s.values()]
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
        if name == "recipe":
            return (0, float(len(value or ())), told(value or {}))
        text = str(value)
        base, _, number = text.partition("/")
        if name == "net" and text in paper.ARCHITECTURES:
            return (0, paper.ARCHITECTURES.index(text), "")
        if name in ("dataset", "ood") and base in catalog:
            return (catalog.index(base), float(number) if number.isdigit() else 0.0, text)
        return (len(catalog), 0.0, text)

    order = (
        *fields,
        "net",
        "preset",
        "epochs",
        "batch_size",
        "train_size",
        "alpha",
        "labels",
        "ood",
        "recipe",
    )
    return sorted(made, key=lambda group: [rank(name, group.get(name)) for name in order])


def _clean(notes: Sequence[str]) -> tuple[str, ...]:
    return tuple(note for note in notes if note)
