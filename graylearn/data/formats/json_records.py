"""JSON: one object per line, rewritten line by line; or one list of objects, of which a copy is written."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graylearn.data.cells import codec_of
from graylearn.data.formats._base import (
    Change,
    Format,
    Origin,
    chunks_of,
    edited,
    moved_path,
    read_bytes,
    write_bytes,
)
from graylearn.data.formats._tables import COPIES, of_cells, slices_of, write_copy
from graylearn.data.tables import RawTable, ReadOptions, Table
from graylearn.errors import DataError, first_line
from graylearn.paths import Limit


class Json(Format):
    """Records; ids are line numbers from 1, or of a list the indices from 0."""

    name = "json"
    suffixes = (".jsonl", ".ndjson", ".json")

    def open(self, path: Path, options: ReadOptions) -> Table:
        """The records as rows."""
        return _Records(path, options)

    def endings(self, path: Path) -> tuple[str, ...]:
        """Of a list those of copies."""
        return COPIES if _is_list(path) else self.suffixes

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> str | None:
        """Lines as they are, but for dropped ones and the labels of relabelled ones; of a list a copy."""
        body, mark = _without_mark(read_bytes(path))
        if _is_list(path):
            records = _records_of(body, str(path))
            names = list(dict.fromkeys(itertools.chain.from_iterable(records)))
            cells = ([record.get(name) for name in names] for record in records)
            return write_copy(partial(slices_of, of_cells(names, cells)), path, out, origin, change)
        lines = body.decode("utf-8", "surrogatepass").split("\n")
        rows = [number for number, line in enumerate(lines) if line.strip()]
        change.check_count(path, len(rows))

        def moved(value: str) -> str:
            image = json.loads(value or "null")
            after = moved_path(image, path, out)
            return value if after == image else json.dumps(after, ensure_ascii=False)

        written = edited(lines, rows, change, origin.columns, _span, moved)
        write_bytes(out, mark + "\n".join(written).encode("utf-8", "surrogatepass"))
        return None


def _span(line: str, key: str) -> tuple[int, int]:
    """Where the value of a key begins and ends in an object; the last one counts, (0, 0) is none."""
    decoder, at, found = json.JSONDecoder(), line.index("{") + 1, (0, 0)
    while line[_after_blanks(line, at)] != "}":
        name, at = scanstring(line, line.index('"', at) + 1)
        start = _after_blanks(line, line.index(":", at) + 1)
        _, at = decoder.raw_decode(line, start)
        found = (start, at) if name == key else found
        at = _after_blanks(line, at)
    return found


def _after_blanks(line: str, at: int) -> int:
    while line[at] in " \t\r\n":
        at += 1
    return at


class _Records(Table):
    """The rows of JSON lines, or of one list, which is one block; each block has the columns of all."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        super().__init__(str(path), options)
        self.path = path
        self.keys: dict[str, None] = {}

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[RawTable]:
        """The blocks in order, of some columns or of all."""
        if not self.keys:
            for table in self._blocks():
                self.keys |= dict.fromkeys(table.frame.columns)
        if not self.keys:
            raise DataError(f"{self.name} is empty")
        wanted = pd.Index(list(self.keys if columns is None else columns), dtype=object)
        for table in self._blocks():
            yield replace(table, frame=table.frame.reindex(columns=wanted))

    def whole(self) -> RawTable:
        """All blocks as one, parsed once."""
        if not (blocks := list(self._blocks())):
            raise DataError(f"{self.name} is empty")
        if len(blocks) == 1:
            return blocks[0]
        frame = pd.concat([block.frame for block in blocks], ignore_index=True)
        return replace(blocks[0], frame=frame, ids=np.concatenate([block.ids for block in blocks]))

    def _blocks(self) -> Iterator[RawTable]:
        if _is_list(self.path):
            records = _records_of(_without_mark(read_bytes(self.path))[0], self.name)
            yield RawTable(_frame_of(records, self.name), self.name, np.arange(len(records)), "record")
            return
        rest, before = b"", 0
        for number, (raw, is_last) in enumerate(chunks_of(self.path)):
            rest += raw if number else _without_mark(raw)[0]
            end = len(rest) if is_last else rest.rfind(b"\n") + 1
            records, lines = _records_of_lines(rest[:end], self.name, before)
            if records:
                yield RawTable(_frame_of(records, self.name), self.name, np.array(lines), "line")
            before += rest.count(b"\n", 0, end)
            rest = rest[end:]


def _without_mark(raw: bytes) -> tuple[bytes, bytes]:
    """(the content, the byte order mark before it)."""
    mark = codec_of(raw, "utf-8")[1]
    return raw.removeprefix(mark), mark


def _records_of_lines(body: bytes, name: str, before: int) -> tuple[list[dict[str, Any]], list[int]]:
    """(the objects, their lines from 1) of JSON lines, which `before` others precede in the file."""
    records, lines = [], []
    for number, line in enumerate(body.split(b"\n"), before + 1):
        if not line.strip():
            continue
        try:
            records.append(json.loads(line, parse_int=_integer))
        except (ValueError, RecursionError) as error:
            raise DataError(f"{name}, line {number}: not a JSON object ({first_line(error)})") from error
        lines.append(number)
    _check_objects(records, name, "line", lines)
    values = list(records[0].values()) if len(lines) == 1 and before == 0 else []
    if values and all(isinstance(value, dict | list) for value in values):
        raise DataError(
            f"{name} holds one object of columns; expected one object per line or a list of objects, as "
            "pandas writes with to_json(orient='records')"
        )
    return records, lines


def _frame_of(records: list[dict[str, Any]], name: str) -> pd.DataFrame:
    """A row for each record; half a character, which no file can hold, is a DataError."""
    # each with keys of its own, a few records make a table without end
    Limit(Path(name)).take(8 * len(records) * len(set(itertools.chain.from_iterable(records))))
    try:
        frame = pd.DataFrame.from_records(records)
        # before pandas 3 texts are objects, which it does not look into, and never into lists
        for column in frame.columns[frame.dtypes == "object"]:
            nested = [value for value in frame[column] if isinstance(value, str | list | dict)]
            json.dumps(nested, ensure_ascii=False).encode()
        return frame
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise DataError(f"{name} holds {half}, half of a character; write its texts anew in UTF-8") from error


def _integer(digits: str) -> int | str:
    """A whole number; one that no column of numbers can hold is text."""
    return int(digits) if len(digits) < 21 and -(1 << 63) <= int(digits) < 1 << 63 else digits


def _is_list(path: Path) -> bool:
    """Whether a file begins like one list of objects."""
    return _without_mark(next(chunks_of(path))[0])[0].lstrip()[:1] == b"["


def _records_of(body: bytes, name: str) -> list[dict[str, Any]]:
    """The objects of one list."""
    try:
        found = json.loads(body, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} is not valid JSON: {first_line(error)}") from error
    _check_objects(found, name, "record", range(len(found)))
    return list(found)


def _check_objects(records: list[Any], name: str, unit: str, numbers: Sequence[int]) -> None:
    for number, record in zip(numbers, records, strict=True):
        if not isinstance(record, dict):
            raise DataError(
                f'{name}, {unit} {number}: expected an object such as {{"text": ..., "label": ...}}, '
                f"not {type(record).__name__}"
            )


FORMAT = Json()
