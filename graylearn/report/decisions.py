"""What people decide, in the page or in Label Studio or FiftyOne, and what the latter two are given.

The page downloads a CSV of id, decision, label, given and run. `given` is the label that the sample had and
`run` the fingerprint of the report; a file made by hand may do without them, and is then not checked against
the run it is applied to. A field that a spreadsheet would take for a formula is written with one apostrophe
before it:

    =1+1  ->  '=1+1        '=1+1  ->  ''=1+1        'tis  ->  'tis

So a field that begins with apostrophes followed by what starts a formula loses one of them here, and every
other field is taken as it stands. page/csv.js writes by the same rule.

FiftyOne reads what it is given by

    dataset = fiftyone.Dataset.from_dir("suspects", dataset_type=fiftyone.types.FiftyOneDataset)

and back from it a sample that bears the tag drop is dropped and one that bears keep is kept; accept takes
what the audit suggests, and another ground_truth relabels. All others decide nothing.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args
from xml.sax.saxutils import quoteattr

from graylearn.data.cells import guessed_separator, records_of, separator_line
from graylearn.data.csv_files import unguarded
from graylearn.errors import DataError

Verdict = Literal["keep", "drop", "relabel"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
LABEL = "label"
COLUMNS = ("id", "decision", LABEL)
"""The last is needed by decisions to relabel alone."""
CHECKED = ("given", "run")
"""Columns that tell whether decisions are of the run they are applied to; a file need not have them."""


@dataclass(frozen=True)
class Decision:
    """What a person decided about one sample."""

    id: str
    """The sample, as text."""
    decision: Verdict
    """"keep" it as it is, "drop" it, or "relabel" it."""
    label: str | None = None
    """The new label, as text, where it is relabelled."""
    given: str | None = field(default=None, compare=False)
    """The label that the sample had, as text; None where the file does not say."""
    run: str | None = field(default=None, compare=False)
    """The fingerprint of the report; None where the file does not say."""


def read_decisions(path: str | Path) -> list[Decision]:
    """Read the decisions that the report's page wrote, or that a spreadsheet saved from them.

    Columns are found by name and may be separated by commas, semicolons, tabs, or what a first line sep=
    names; others are ignored. A row without a decision decides nothing; where none relabels, the column label
    may be missing.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig", "surrogatepass")
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(
            f"{path} cannot be read ({reason}): pass the decisions that the report downloaded"
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: save it as CSV with UTF-8 encoding") from error
    rows = _rows(text, path)
    header = [name.strip().lower() for name in rows[0]]
    missing = [name for name in COLUMNS if name not in header]
    if missing and missing != [LABEL]:
        told = f"{path} has no column {missing[0]!r}: expected {', '.join(COLUMNS)} in its first line"
        raise DataError(told)
    where = {name: header.index(name) for name in (*COLUMNS, *CHECKED) if name in header}
    needed = max(at for name, at in where.items() if name in COLUMNS)
    found: dict[str, Decision] = {}
    for number, row in enumerate(rows[1:], start=2):
        if not any(row):
            continue
        if len(row) <= needed:
            raise DataError(f"{path}, row {number} has {len(row)} fields: expected {len(header)}")
        cells = {name: unguarded(row[at]) for name, at in where.items() if at < len(row)}
        if not (cells["decision"] + cells.get(LABEL, "")).strip():
            continue
        decision = _decision(cells, path, number)
        if decision.id in found:
            raise DataError(
                f"{path}, row {number} decides on {decision.id!r} a second time: keep one of them"
            )
        found[decision.id] = decision
    return list(found.values())


def _rows(text: str, path: Path) -> list[list[str]]:
    line, told = separator_line(text)
    text = text.removeprefix(line)
    if not text.strip():
        raise DataError(f"{path} is empty: expected a CSV of {', '.join(COLUMNS)}")
    try:
        return [each.cells for each in records_of(text, told or guessed_separator(text), strict=True)]
    except csv.Error as error:
        raise DataError(f"{path} is not a CSV of decisions ({error}): download it again") from error


def _decision(cells: dict[str, str], path: Path, number: int) -> Decision:
    name, verdict, label = cells["id"], cells["decision"].strip().lower(), cells.get(LABEL, "")
    said = f"{path}, row {number}"
    if verdict not in VERDICTS:
        raise DataError(f"{said} has decision {verdict!r} for {name!r}: expected {', '.join(VERDICTS)}")
    is_new = bool(label.strip())
    if verdict == "relabel" and not is_new:
        raise DataError(f"{said} relabels {name!r} to nothing: give the new one as {LABEL}")
    if verdict != "relabel" and is_new:
        raise DataError(
            f"{said} gives {name!r} the label {label!r} with decision {verdict!r}: "
            "use relabel, or leave the label empty"
        )
    checked = {each: cells.get(each) or None for each in CHECKED}
    return Decision(name, cast("Verdict", verdict), label if is_new else None, **checked)


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
