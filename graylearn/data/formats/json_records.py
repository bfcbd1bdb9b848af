"""JSON: one object a line, or one list of objects; rewritten, lines that nobody touched stay as they are."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graylearn.data.cells import codec_of
from graylearn.data.formats._base import (
    Change,
    Format,
    Origin,
    moved_path,
    read_text_bytes,
    write_bytes,
)
from graylearn.data.options import ReadOptions
from graylearn.data.tables import RawTable, table_from_pandas
from graylearn.errors import DataError, first_line


class Json(Format):
    """Records; ids are line numbers from 1, or of a list the indices from 0."""

    name = "json"
    suffixes = (".jsonl", ".ndjson", ".json")

    def read(self, path: Path, options: ReadOptions) -> RawTable:
        """The records as rows."""
        name = str(path)
        raw = read_text_bytes(path)
        body = raw.removeprefix(codec_of(raw, "utf-8")[1])
        if is_list(body):
            records = _checked(_list_of(body, name), name, "record", itertools.count())
            if not records:
                raise DataError(f"{name} is empty")
            return replace(table_from_pandas(frame_of(records, name), name), unit="record")
        records, lines = records_of_lines(body, name)
        if not records:
            raise DataError(f"{name} is empty")
        if (
            len(records) == 1
            and records[0]
            and all(isinstance(value, dict | list) for value in records[0].values())
        ):
            raise DataError(
                f"{name} holds one object of columns; expected one object a line or a list of objects, as "
                "pandas writes with to_json(orient='records')"
            )
        return RawTable(frame_of(records, name), name, np.array(lines, dtype=np.int64), "line")

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """Lines, untouched but for dropped and relabelled ones, or one list of objects."""
        raw = read_text_bytes(path)
        mark = codec_of(raw, "utf-8")[1]
        body = raw.removeprefix(mark)
        whole = is_list(body)
        lines = [] if whole else [line for _, line in _lines(body)]
        records: list[dict[str, Any]] = json.loads(body) if whole else [json.loads(line) for line in lines]
        label, images = origin.columns.label, origin.columns.path
        kept: list[Any] = []
        for index in change.kept:
            record = dict(records[index])
            if (other := change.label_of[index]) != index:
                record[label] = records[other][label]
            if images in record:
                record[images] = moved_path(record[images], path, out)
            kept.append(lines[index] if not whole and record == records[index] else record)
        if whole:
            write_bytes(out, mark + json.dumps(kept, ensure_ascii=False, indent=1).encode() + b"\n")
            return
        encoded = [
            each if isinstance(each, bytes) else json.dumps(each, ensure_ascii=False).encode()
            for each in kept
        ]
        write_bytes(out, mark + b"\n".join(encoded) + b"\n")


def records_of_lines(body: bytes, name: str, before: int = 0) -> tuple[list[dict[str, Any]], list[int]]:
    """(the objects, their lines from 1) of JSON lines, with so many lines `before` them in the file."""
    records, lines = [], []
    for number, line in _lines(body):
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{name}, line {before + number}: not a JSON object ({first_line(error)})"
            ) from error
        lines.append(before + number)
    return _checked(records, name, "line", lines), lines


def frame_of(records: list[dict[str, Any]], name: str) -> pd.DataFrame:
    """A row for each record; half a character, which no file can hold, is a DataError."""
    try:
        frame = pd.DataFrame.from_records(records)
        # before pandas 3 texts are objects, which it does not look into
        for column in frame.columns[frame.dtypes == "object"]:
            "".join(value for value in frame[column] if isinstance(value, str)).encode()
        return frame
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise DataError(f"{name} holds {half}, half of a character; write its texts anew in UTF-8") from error


def is_list(body: bytes) -> bool:
    """Whether it begins like one list of objects."""
    return body.lstrip().startswith(b"[")


def _lines(body: bytes) -> Iterable[tuple[int, bytes]]:
    """(number from 1, line) of those that are not blank."""
    return ((number, line) for number, line in enumerate(body.split(b"\n"), start=1) if line.strip())


def _list_of(body: bytes, name: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} is not valid JSON: {first_line(error)}") from error


def _checked(records: list[Any], name: str, unit: str, numbers: Iterable[int]) -> list[dict[str, Any]]:
    """The records, once each is an object."""
    for number, record in zip(numbers, records, strict=False):
        if not isinstance(record, dict):
            raise DataError(
                f'{name}, {unit} {number}: expected an object such as {{"text": ..., "label": ...}}, '
                f"not {type(record).__name__}"
            )
    return records


FORMAT = Json()
