"""Rows of the store made by hand: cells as experiments declare them, with accuracies that tests choose."""

import json

from reproduction.cells import Cell
from reproduction.experiments import EXPERIMENTS
from reproduction.options import Options
from reproduction.page.evidence import Evidence
from reproduction.page.rules import RULES
from reproduction.records import records

SMALL = Options(seeds=(0, 1, 2), epochs=4)
ABSENT = ("gene", "cifar100")


def row(cell, accuracy, experiment="table1", **measured):
    """A row of the store as a sweep writes it."""
    return {
        "experiment": experiment,
        "key": cell.key,
        "cell": cell.to_dict(),
        "measured": {"accuracy": accuracy, **measured},
        "hardware": {"machine": "x86_64"},
        "versions": {"python": "3.13"},
        "commit": "abc",
        "time": "2026-01-01T00:00:00Z",
    }


def rows_of(experiment, measure, options=None, without=()):
    """All cells of an experiment, each with what `measure(cell)` says; `without` leaves datasets out."""
    cells = EXPERIMENTS[experiment].cells(options or Options())
    made = []
    for cell in cells:
        if cell.dataset.split("/")[0] in without or cell.ood.startswith("mini-imagenet"):
            continue
        value = measure(cell)
        if value is not None:
            measured = value if isinstance(value, dict) else {"accuracy": value}
            made.append(row(cell, experiment=experiment, **measured))
    return made


def evidence(**stores):
    """Evidence of hand-made rows, by experiment."""
    found = {name: [] for name in EXPERIMENTS}
    for name, rows in stores.items():
        found[name] = records(rows)
    return Evidence(found)


def judged(name, **stores):
    return RULES[name](evidence(**stores))


def write_stores(folder, **stores):
    for name, rows in stores.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in rows))
    return folder


def levels(**by_method):
    """Accuracy by method, a little different under each seed, others at .90."""

    def measure(cell):
        return by_method.get(cell.method.replace("-", "_").replace("+", "_"), 0.90) + 0.001 * cell.seed

    return measure


__all__ = ["ABSENT", "SMALL", "Cell", "evidence", "judged", "levels", "row", "rows_of", "write_stores"]
