"""Decisions of any kind of file: the page's CSV, or the JSON that a tool exports, known by its shape."""

from __future__ import annotations

import json
from pathlib import Path

from graylearn.errors import DataError
from graylearn.report import fiftyone, label_studio
from graylearn.report.decisions import Decision, read_decisions


def decisions_in(path: str | Path) -> list[Decision]:
    """The decisions of the report (CSV), of Label Studio (a list of tasks) or of FiftyOne (samples.json)."""
    if Path(path).suffix.lower() != ".json":
        return read_decisions(path)
    try:
        exported = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is no JSON export of Label Studio or FiftyOne ({error})") from error
    if isinstance(exported, dict):
        return fiftyone.decisions_of(exported, path)
    return label_studio.decisions_of(exported, path)
