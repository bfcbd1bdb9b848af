"""Rows of the store made by hand: cells as experiments declare them, with accuracies that tests choose."""

from graylearn.bench import EXPERIMENTS, Cell, Options


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


__all__ = ["Cell", "row", "rows_of"]
