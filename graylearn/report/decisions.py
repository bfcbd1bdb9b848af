"""The decisions a person downloads from the page: a CSV of id, decision, label, given and run.

`given` is the label that the sample had and `run` the fingerprint of the report; a file made by hand may do
without them, and is then not checked against the run it is applied to.

A field that a spreadsheet would take for a formula is written with one apostrophe before it:

    =1+1  ->  '=1+1        '=1+1  ->  ''=1+1        'tis  ->  'tis

So a field that begins with apostrophes followed by what starts a formula loses one of them here, and every
other field is taken as it stands. page/csv.js writes by the same rule.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

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
