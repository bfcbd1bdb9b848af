"""Label Studio and FiftyOne: suspects for people to decide on there, and what they decided as decisions.

    dataset = fiftyone.Dataset.from_dir("suspects", dataset_type=fiftyone.types.FiftyOneDataset)

Back from FiftyOne, a sample that bears the tag drop is dropped and one that bears keep is kept; accept takes
what the audit suggests, and another ground_truth relabels. All others decide nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from graylearn.errors import DataError
from graylearn.report.decisions import Decision, read_decisions

FROM, TO = "label", "sample"
"""The names of the control and of the object in the labelling interface of Label Studio."""
NONE = "none of these"
"""Its choice for a sample that belongs to no class, which is dropped."""
SUSPECT, KEEP, DROP, ACCEPT = "suspect", "keep", "drop", "accept"
"""Tags of FiftyOne: that of graylearn, and those that people decide with."""
Row = Mapping[str, Any]
"""A suspect: id, label, score, kind, level, suggested (None: no class), and what a person is shown of it."""


def interface(classes: Iterable[str], kind: str) -> str:
    """The labelling interface of the tasks, to paste into the settings of a project of Label Studio."""
    shows = {"image": f'<Image name="{TO}" value="$image"/>', "text": f'<Text name="{TO}" value="$text"/>'}
    names = [*classes, NONE]
    if NONE in names[:-1]:
        raise DataError(f"a class is called {NONE!r}, as the answer is that drops a sample: rename the class")
    choices = "".join(f"<Choice value={quoteattr(name)}/>" for name in names)
    shown = shows.get(kind, f'<Table name="{TO}" value="$row"/>')
    return f'<View>{shown}<Choices name="{FROM}" toName="{TO}" showInline="true">{choices}</Choices></View>'


def tasks(rows: Iterable[Row], run: str | None = None) -> list[dict[str, Any]]:
    """Tasks of Label Studio with predictions; `data` of a row is a text, image or row by its name."""
    made = []
    for row in rows:
        choice = NONE if row["suggested"] is None else str(row["suggested"])
        result = {"from_name": FROM, "to_name": TO, "type": "choices", "value": {"choices": [choice]}}
        prediction = {"model_version": "graylearn", "score": float(row["score"]), "result": [result]}
        made.append({"data": {**row["data"], **_known(row, run)}, "predictions": [prediction]})
    return made


def metadata(classes: Iterable[str]) -> dict[str, Any]:
    """What metadata.json holds: no version, by which FiftyOne learns the fields from the samples."""
    return {"media_type": "image", "info": {"made_by": "graylearn"}, "default_classes": [*classes]}


def samples(rows: Iterable[Row], run: str | None = None) -> dict[str, Any]:
    """What samples.json of FiftyOne holds; `path` of a row is that of its image."""

    def classification(label: Any) -> dict[str, Any] | None:
        return None if label is None else {"_cls": "Classification", "tags": [], "label": str(label)}

    def sample(row: Row) -> dict[str, Any]:
        level = str(row.get("level") or "")
        return {
            "filepath": str(row["path"]),
            "tags": [SUSPECT, str(row["kind"]), *([level] if level else [])],
            "ground_truth": classification(str(row["label"])),
            "suggested": classification(row["suggested"]),
            "graylearn_score": float(row["score"]),
            **_known(row, run),
        }

    return {"samples": [sample(row) for row in rows]}


def _known(row: Row, run: str | None) -> dict[str, Any]:
    """What tells later which sample of which run something is."""
    return {"graylearn_id": str(row["id"]), "graylearn_label": str(row["label"]), "graylearn_run": run}


def decisions_in(path: str | Path) -> list[Decision]:
    """The decisions of the report (CSV), of Label Studio (a list of tasks) or of FiftyOne (samples.json).

    Of several annotations of a task the last counts; tasks without one, and cancelled ones, decide nothing.
    """
    if Path(path).suffix.lower() != ".json":
        return read_decisions(path)
    try:
        exported = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is no JSON export of Label Studio or FiftyOne ({error})") from error
    is_tagged = isinstance(exported, dict)
    listed, item, tool, read = (
        (exported.get("samples"), "sample", "FiftyOne", _tagged)
        if is_tagged
        else (exported, "task", "Label Studio", _answered)
    )
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise DataError(f"{path} is no JSON export of {tool}: expected a list of {item}s")
    found = []
    for number, each in enumerate(listed, start=1):
        known = each if is_tagged else each.get("data")
        if not isinstance(known, dict) or "graylearn_id" not in known:
            raise DataError(f"{path} holds a {item} that graylearn did not make: it has no graylearn_id")
        try:
            given, run = str(known["graylearn_label"]), known.get("graylearn_run")
            if not isinstance(run, str | None):
                raise TypeError(f"run {run!r}")
            verdict, label = read(each, given)
            if verdict is not None:
                found.append(Decision(str(known["graylearn_id"]), verdict, label, given, run))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{path}: {item} {number} is not as {tool} exports it ({error}): export it again"
            ) from error
    if not is_tagged and listed and not any("annotations" in task for task in listed):
        raise DataError(
            f"{path} holds tasks without answers: pass the JSON that Label Studio exports of them"
        )
    return found


def _answered(task: Row, given: str) -> tuple[Any, str | None]:
    """(what the last annotation of a task decides, the new label); None where nobody chose."""
    answers = [each for each in task.get("annotations") or [] if not each.get("was_cancelled")]
    chosen = [
        choice
        for result in (answers[-1].get("result", []) if answers else [])
        if result.get("from_name") == FROM
        for choice in result.get("value", {}).get("choices", [])
    ]
    if not chosen:
        return None, None
    if not isinstance(chosen[-1], str) or not chosen[-1]:
        raise TypeError(f"the choice {chosen[-1]!r}")
    if chosen[-1] in (NONE, given):
        return ("drop" if chosen[-1] == NONE else "keep"), None
    return "relabel", chosen[-1]


def _tagged(sample: Row, given: str) -> tuple[Any, str | None]:
    """(what the tags of a sample, or its other label, decide, the new label); None where nothing is."""
    clear = [tag for tag in (KEEP, DROP, ACCEPT) if tag in list(sample["tags"])]
    if len(clear) > 1:
        raise ValueError(f"{sample['graylearn_id']!r} bears the tags {' and '.join(clear)}")
    field = sample.get("suggested" if clear == [ACCEPT] else "ground_truth")
    wanted = None if field is None else str(field["label"])
    if clear == [DROP] or (clear == [ACCEPT] and not wanted):
        return "drop", None
    if clear != [KEEP] and wanted and wanted != given:
        return "relabel", wanted
    return ("keep" if clear else None), None
