"""Label Studio: suspects as tasks with predictions, and what people decided there as decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from graylearn.errors import DataError
from graylearn.report.decisions import Decision, exported_decisions

FROM, TO = "label", "sample"
"""The names of the control and of the object in the labelling interface."""
NONE = "none of these"
"""The choice for a sample that belongs to no class, which is dropped."""
VERSION = "graylearn"


def interface(classes: Iterable[str], kind: str) -> str:
    """The labelling interface that the tasks are made for, to paste into the settings of a project."""
    shows = {"image": f'<Image name="{TO}" value="$image"/>', "text": f'<Text name="{TO}" value="$text"/>'}
    names = [*classes, NONE]
    if NONE in names[:-1]:
        raise DataError(f"a class is called {NONE!r}, as the answer is that drops a sample: rename the class")
    choices = "".join(f"<Choice value={quoteattr(name)}/>" for name in names)
    shown = shows.get(kind, f'<Table name="{TO}" value="$row"/>')
    return f'<View>{shown}<Choices name="{FROM}" toName="{TO}" showInline="true">{choices}</Choices></View>'


def tasks(rows: Iterable[Mapping[str, Any]], run: str | None = None) -> list[dict[str, Any]]:
    """Tasks with predictions; a row has id, label, score, suggested (None: no class), data.

    data: what a person is shown, such as {"text": ...}, {"image": ...} or {"row": {...}}.
    """
    made = []
    for row in rows:
        choice = NONE if row["suggested"] is None else str(row["suggested"])
        result = {"from_name": FROM, "to_name": TO, "type": "choices", "value": {"choices": [choice]}}
        known = {"graylearn_id": str(row["id"]), "graylearn_label": str(row["label"]), "graylearn_run": run}
        prediction = {"model_version": VERSION, "score": float(row["score"]), "result": [result]}
        made.append({"data": {**row["data"], **known}, "predictions": [prediction]})
    return made


def decisions_of(exported: Any, path: str | Path) -> list[Decision]:
    """What people decided: the given label is kept, another relabels, "none of these" drops.

    exported: the JSON that Label Studio exports. Of several annotations of a task the last counts; tasks
    without one, and cancelled ones, decide nothing.
    """
    if not isinstance(exported, list) or not all(isinstance(task, dict) for task in exported):
        raise DataError(f"{path} is no JSON export of Label Studio: expected a list of tasks")
    told = [(task.get("data"), partial(_decision, task)) for task in exported]
    found = exported_decisions(told, path, "task", "Label Studio")
    if exported and not any("annotations" in task for task in exported):
        raise DataError(
            f"{path} holds tasks without answers: pass the JSON that Label Studio exports of them"
        )
    return found


def _decision(task: dict[str, Any]) -> Decision | None:
    """What the last annotation of a task says; None where nobody chose."""
    data = task["data"]
    answers = [each for each in task.get("annotations") or [] if not each.get("was_cancelled")]
    chosen = [
        choice
        for result in (answers[-1].get("result", []) if answers else [])
        if result.get("from_name") == FROM
        for choice in result.get("value", {}).get("choices", [])
    ]
    if not chosen:
        return None
    name, given, run = str(data["graylearn_id"]), str(data["graylearn_label"]), data.get("graylearn_run")
    if not isinstance(chosen[-1], str) or not chosen[-1] or not isinstance(run, str | None):
        raise TypeError(f"the choice {chosen[-1]!r} of run {run!r}")
    if chosen[-1] == NONE:
        return Decision(name, "drop", given=given, run=run)
    if chosen[-1] == given:
        return Decision(name, "keep", given=given, run=run)
    return Decision(name, "relabel", chosen[-1], given=given, run=run)
