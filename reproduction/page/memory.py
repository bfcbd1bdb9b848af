"""What is memorised when: the confidences of clean, OOD and wrongly labelled samples over the epochs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction import names
from reproduction.cells import HUMAN_LABELS
from reproduction.page.text import NOT_YET
from reproduction.render.markdown import markdown_grid
from reproduction.store import Store

Row = Mapping[str, Any]

HOW = """C = max Q is high wherever the network is sure, of samples it has memorised too. C = Q(y | x) is low
wherever it does not say what the label says, of hard samples that belong too. Which of the two a run suffers
from shows in the confidences that it gave its own training samples (`--keep FOLDER`, thinned out to
`results/history.jsonl`; ResNet18, the paper's schedule, whose rate falls after epochs 100 and 150, seed 0).
*Fitted* is the share of samples predicted as labelled. *Pull* is the share of the whole gradient that draws
such samples towards their labels: the part C L_G, from q and max Q, what is left of the probability taken as
spread evenly."""

SHOWN = (0.5, 0.75, 1.0)
"""Shares of a run in the table: where the paper's rate falls, where it falls again, the end."""
LINES = 20
"""Epochs that a row of results/history.jsonl keeps of a run, about."""
FILE = "history.jsonl"
"""Its name in the results folder."""


def take_in(folder: Path, results: Path) -> list[str]:
    """Add what `--keep` wrote into a folder to results/history.jsonl, thinned out; returns the new keys."""
    store = Store(results / FILE)
    known = {row["key"] for row in _rows(results)}
    added = []
    for path in sorted(folder.glob("*.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["key"] not in known:
            store.append(_thinned(told))
            added.append(told["key"])
    return added


def _thinned(told: Row) -> dict[str, Any]:
    epochs = told["groups"]["epochs"]
    step = max(1, len(epochs) // LINES)
    kept = [index for index, epoch in enumerate(epochs) if epoch % step == 0 or epoch in (1, epochs[-1])]
    groups = {
        name: {
            what: values if what == "samples" else [round(values[index], 4) for index in kept]
            for what, values in group.items()
        }
        for name, group in told["groups"].items()
        if name != "epochs"
    }
    others = {name: value for name, value in told.items() if name not in ("groups", "log")}
    return {"experiment": "history", **others, "epochs": [epochs[index] for index in kept], "groups": groups}


def _rows(results: Path) -> list[Row]:
    path = results / FILE
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _at(row: Row) -> list[int]:
    """Where the epochs of the table stand in a row."""
    epochs = row["epochs"]
    wanted = [share * epochs[-1] for share in SHOWN]
    return [min(range(len(epochs)), key=lambda index: abs(epochs[index] - epoch)) for epoch in wanted]


def section(results: str | Path) -> str:
    """The table, and what changed from before the rate falls to the end; from results/history.jsonl."""
    rows = [row for row in _rows(Path(results)) if "confidence" in row["groups"]["clean"] and _bad(row)[1]]
    rows = [row for row in rows if row["cell"]["seed"] == 0]
    if not rows:
        return NOT_YET
    rows.sort(key=lambda row: (row["cell"]["labels"] in HUMAN_LABELS, _title(row)))
    return "\n\n".join([HOW, _grid(rows), "\n".join(f"- {_change(row)}" for row in rows)])


def _title(row: Row) -> str:
    cell = row["cell"]
    dataset = names.dataset_title(str(cell["dataset"]))
    return f"{dataset}, {cell['labels']} labels, {names.method_title(str(cell['method']))}"


def _bad(row: Row) -> tuple[str, Mapping[str, Any]]:
    """(what they are called, their numbers): the samples whose labels should not be learned."""
    groups = row["groups"]
    return ("OOD", groups["ood"]) if "ood" in groups else ("wrong", groups.get("flipped", {}))


def _grid(rows: Sequence[Row]) -> str:
    body = []
    for row in rows:
        what, bad = _bad(row)
        clean = row["groups"]["clean"]
        at = _at(row)
        line = [_title(row), what]
        line += [" / ".join(f"{100 * clean['fitted'][index]:.0f}" for index in at)]
        line += [" / ".join(f"{100 * bad['fitted'][index]:.0f}" for index in at)]
        line += [" / ".join(f"{group['confidence'][index]:.2f}" for index in at) for group in (clean, bad)]
        line += [" / ".join(f"{100 * bad['given'][index]:.0f}" for index in at)]
        body.append(line)
    head = ["setting and method", "bad samples", "clean fitted, %", "bad fitted, %"]
    head += ["C of clean", "C of bad", "pull of bad, %"]
    grid = markdown_grid(head, body, words=(0, 1))
    return f"After half, three quarters and all of the epochs:\n\n{grid}"


def _change(row: Row) -> str:
    """One sentence a run: what it ends up fitting of what it should, and of what it should not."""
    what, bad = _bad(row)
    first, _, last = _at(row)
    learned, memorised = row["groups"]["clean"]["fitted"][last], bad["fitted"][last]
    faults = []
    if memorised >= 0.5:
        faults.append(f"memorises {100 * memorised:.0f} % of the {what} labels")
    if learned < 0.95:
        faults.append(f"leaves {100 * (1 - learned):.0f} % of the clean samples unlearned")
    told = " and ".join(faults) if faults else f"learns the clean samples and few of the {what} labels"
    return (
        f"{_title(row)}: {told}; C of the {what} samples goes from {bad['confidence'][first]:.2f} to "
        f"{bad['confidence'][last]:.2f}."
    )
