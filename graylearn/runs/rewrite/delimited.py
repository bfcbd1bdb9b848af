"""Delimited text: lines stay as they are, but for dropped ones and the label cells of relabelled ones."""

from __future__ import annotations

import codecs
import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from graylearn.data.readers.delimited import separator_line
from graylearn.errors import DataError
from graylearn.runs.rewrite.change import Change, MovedPaths, moved_paths, read_bytes, write_bytes
from graylearn.runs.source import Source

_BOM = "\ufeff"


def rewrite_delimited(data: Path, source: Source, out: Path, change: Change) -> None:
    """CSV and its kin: lines as they are, but for dropped ones and the label cells of relabelled ones."""
    raw = read_bytes(data)
    codec = _codec(raw, source.encoding)
    text = raw.decode(codec)
    mark = _BOM if text.startswith(_BOM) else ""
    line, told = separator_line(text.removeprefix(mark))
    mark += line
    records = _records(text.removeprefix(mark), source, told, len(change.keep), data)
    if source.columns.label is None:
        raise DataError(f"{data}: it is not known which column is the label; make the run anew")
    column = source.names.index(source.columns.label)
    paths = moved_paths(source, data, out)
    separator = records.separator
    parts = [mark]
    for place, text_of in records:
        if place is None:
            parts.append(text_of)
        elif change.keep[place]:
            other = change.label_of[place]
            if other != place:
                text_of = _with_cell(text_of, separator, column, _cell(records.row(other), separator, column))
            if paths is not None:
                text_of = _with_moved_path(text_of, separator, source.names.index(paths.column), paths)
            parts.append(text_of)
    write_bytes(out, "".join(parts).encode(codec))


class _Records:
    """The text of a delimited file cut into records, each with the place of its sample (None: no sample)."""

    def __init__(self, texts: list[str], places: list[int | None], separator: str) -> None:
        self.texts, self.places, self.separator = texts, places, separator
        self._by_place = {place: row for row, place in enumerate(places) if place is not None}

    def __iter__(self) -> Iterator[tuple[int | None, str]]:
        return iter(zip(self.places, self.texts, strict=True))

    def row(self, place: int) -> str:
        """The text of a sample."""
        return self.texts[self._by_place[place]]


def _records(text: str, source: Source, told: str | None, n: int, data: Path) -> _Records:
    """Cut as the reader does: blank lines are no rows, and the first row may be a header."""
    separator = source.separator or told or _separator(text, source)
    lines = list(io.StringIO(text, newline=""))  # ends left on, for a cell may hold some
    reader = csv.reader(iter(lines), delimiter=separator)
    texts: list[str] = []
    filled: list[bool] = []
    begins = 0
    limit = csv.field_size_limit(sys.maxsize)
    try:
        for row in reader:
            texts.append("".join(lines[begins : reader.line_num]))
            filled.append(bool(row))
            begins = reader.line_num
    finally:
        csv.field_size_limit(limit)
    header = sum(filled) - n
    if header not in (0, 1):
        raise DataError(
            f"{data} has {sum(filled)} rows where {n} samples were read; stray quotes are in the way"
        )
    places: list[int | None] = []
    seen = -header
    for is_row in filled:
        places.append(seen if is_row and seen >= 0 else None)
        seen += is_row
    return _Records(texts, places, separator)


def _separator(text: str, source: Source) -> str:
    """The separator that cuts the first row into the columns that were read."""
    start = text.lstrip("\r\n")
    by_count = sorted(",;\t|", key=lambda each: -start.split("\n", 1)[0].count(each))
    rows = {each: next(csv.reader(io.StringIO(start, newline=""), delimiter=each), []) for each in by_count}
    for separator, row in rows.items():
        if [cell.strip() for cell in row] == list(source.names):
            return separator
    return next((each for each, row in rows.items() if len(row) == len(source.names)), ",")


def _spans(record: str, separator: str) -> list[tuple[int, int]]:
    """Where the cells of a record begin and end, quotes included, the line's end not."""
    end = len(record.rstrip("\r\n"))
    spans, place = [], 0
    while True:
        start = place
        if place < end and record[place] == '"':
            place += 1
            while place < end:
                if record[place] == '"':
                    if record[place + 1 : place + 2] != '"':
                        break
                    place += 1
                place += 1
        while place < end and record[place] != separator:
            place += 1
        spans.append((start, place))
        if place >= end:
            return spans
        place += 1


def _cell(record: str, separator: str, column: int) -> str:
    start, end = _spans(record, separator)[column]
    return record[start:end]


def _with_cell(record: str, separator: str, column: int, cell: str) -> str:
    start, end = _spans(record, separator)[column]
    return record[:start] + cell + record[end:]


def _codec(raw: bytes, encoding: str) -> str:
    """The codec that decodes the bytes with any byte order mark left in, and encodes them back the same."""
    if raw.startswith(codecs.BOM_UTF8):
        return "utf-8"
    if raw.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    return "utf-16-be" if raw.startswith(codecs.BOM_UTF16_BE) else encoding


def _with_moved_path(record: str, separator: str, column: int, paths: MovedPaths) -> str:
    raw = _cell(record, separator, column)
    path = next(csv.reader(io.StringIO(raw, newline=""), delimiter=separator))[0]
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, lineterminator="")
    if raw.startswith('"'):
        writer = csv.writer(written, delimiter=separator, lineterminator="", quoting=csv.QUOTE_ALL)
    writer.writerow([paths.moved(path)])
    return _with_cell(record, separator, column, written.getvalue())
