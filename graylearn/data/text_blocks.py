"""Delimited text and JSON lines, some megabytes at a time: the rows that a reading of the whole gives.

A first reading finds what no single block can tell: the columns, and the types that fit all rows.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from graylearn.data.cells import codec_of
from graylearn.data.columns import find_columns, without_columns
from graylearn.data.formats._compressed import COMPRESSIONS, ERRORS, opened
from graylearn.data.formats.delimited import (
    Head,
    head_of,
    line_numbers,
    parse,
    promised_separator,
    writes_decimal_commas,
)
from graylearn.data.formats.json_records import frame_of, is_list, records_of_lines
from graylearn.data.options import ReadOptions
from graylearn.data.table_samples import WHOLE
from graylearn.data.tables import MISSING_WORDS, RawTable, table_from_arrow
from graylearn.errors import DataError, Hint, first_line

Tables = Callable[[Sequence[str] | None], Iterator[RawTable]]
"""The rows of a table in order, a block at a time; of some columns, or of all."""
CHUNK = 8 << 20
"""Bytes read at once."""
LONGEST = 64 << 20
"""Bytes without the end of a row, from which on a quote is taken for one that never closes."""


def _chunks(path: Path, encoding: str, *, quotes: bool) -> Iterator[tuple[int, bytes]]:
    """(lines before it, text in UTF-8) of whole rows; with `quotes`, a row goes on to the one that closes."""
    decoder: codecs.IncrementalDecoder | None = None
    codec, rest, lines, whole = "", b"", 0, False
    try:
        with opened(path) if path.suffix.lower() in COMPRESSIONS else path.open("rb") as stream:
            while not whole:
                raw = stream.read(CHUNK)
                if decoder is None:
                    codec, mark = codec_of(raw, encoding)
                    decoder, raw = codecs.getincrementaldecoder(codec)(), raw.removeprefix(mark)
                whole = not raw
                rest += decoder.decode(raw, whole).encode()
                end = len(rest) if whole else _last_row_end(rest, quotes)
                if end:
                    yield lines, rest[:end]
                    lines += rest.count(b"\n", 0, end)
                    rest = rest[end:]
                elif len(rest) > LONGEST:
                    raise DataError(
                        f"{path}, line {lines + 1}: a quote opens there or soon after and does not close"
                    )
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, after line {lines}: byte 0x{error.object[error.start]:02x} is not {codec};",
            Hint("encoding", "cp1252", "or whichever it was written in"),
        ) from error
    except ERRORS as error:
        raise DataError(f"{path} cannot be read ({first_line(error)}); is the file whole?") from error


def _last_row_end(text: bytes, quotes: bool) -> int:
    """Where the last line ends that is the end of a row: as many quotes open before it as close."""
    end = text.rfind(b"\n") + 1
    is_open = quotes and text.count(b'"', 0, end) % 2 == 1
    while is_open and end:
        before = text.rfind(b"\n", 0, end - 1) + 1
        is_open ^= text.count(b'"', before, end) % 2 == 1  # of this line alone: all before it took minutes
        end = before
    return end


class DelimitedTables:
    """The rows of delimited text.

    Labels, ids and groups are numbers where all of them are whole and plainly written, else text.
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path, self.options, self.name = path, options, str(path)
        self.head = Head(b"", "", [], False)
        self.decimal = options.decimal or "."
        self.types: dict[str, pa.DataType] = {}
        self.as_text: set[str] = set()
        self._look()

    @property
    def of_file(self) -> dict[str, Any]:
        """What was found out about the file, as fields of `Origin`."""
        return {
            "separator": self.head.separator,
            "decimal": self.decimal,
            "encoding": self.options.encoding,
        }

    def _texts(self) -> Iterator[tuple[int, bytes, bool]]:
        """(lines before it, rows, whether a header stands before them) of each block."""
        for number, (lines, text) in enumerate(_chunks(self.path, self.options.encoding, quotes=True)):
            if number == 0:
                separator = promised_separator(self.path, self.options)
                self.head = head_of(text, self.name, separator, self.options.header)
                lines, text = text[: len(text) - len(self.head.content)].count(b"\n"), self.head.content
            if text.strip():
                yield lines, text, number == 0 and self.head.has_header

    def _look(self) -> None:
        """Find the types of the columns, and whether labels, ids and groups are numbers."""
        names: list[str] = []
        for number, (lines, text, header) in enumerate(self._texts()):
            arrow = self._parsed(lines, text, header)
            if number == 0:
                if self.options.decimal is None and writes_decimal_commas(arrow, self.head.separator):
                    self.decimal = ","
                    arrow = self._parsed(lines, text, header)
                table = without_columns(table_from_arrow(arrow, self.name), self.options.without)
                columns = find_columns(table, self.options)
                known = (columns.label, columns.id, columns.group)
                names = [str(each) for each in known if each is not None]
            for field in arrow.schema:
                self.types[field.name] = _joint(self.types.get(field.name, pa.null()), field.type)
            for column in names:
                if column not in self.as_text and not pa.types.is_string(self.types[column]):
                    written = self._parsed(lines, text, header, {column: pa.string()}, [column])[column]
                    missing = pc.is_in(written, pa.array([*MISSING_WORDS]))
                    fits = pc.match_substring_regex(pc.filter(written, pc.invert(missing)), WHOLE)
                    if pc.all(fits).as_py() is False:
                        self.as_text.add(column)
        self.types |= dict.fromkeys(self.as_text, pa.string())

    def _parsed(self, lines: int, text: bytes, header: bool, *wanted: Any) -> pa.Table:
        return parse(
            text, self.head.separator, self.decimal, self.head.names, header, self.name, lines, *wanted
        )

    def __call__(self, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """The blocks in order."""
        for lines, text, header in self._texts():
            arrow = self._parsed(lines, text, header, self.types, columns)
            frame = table_from_arrow(arrow, self.name).frame
            for column in frame.columns.intersection(list(self.as_text)):
                frame[column] = frame[column].mask(frame[column].isin(list(MISSING_WORDS)), None)
            ids = lines + line_numbers(text, self.head.separator, arrow.num_rows, header)
            yield RawTable(frame, self.name, ids, "line", MISSING_WORDS)


def _joint(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that fits the values of both."""
    schemas = [pa.schema([("", one)]), pa.schema([("", other)])]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return pa.string()


def json_tables(path: Path) -> Tables:
    """The rows of JSON lines; each block has the columns of all."""
    name = str(path)
    keys: dict[str, None] = {}

    def blocks() -> Iterator[RawTable]:
        for lines, text in _chunks(path, "utf-8", quotes=False):
            if lines == 0 and is_list(text):
                raise DataError(f"{path} is one list, which is read as a whole: write one object a line")
            records, numbers = records_of_lines(text, name, lines)
            if records:
                yield RawTable(frame_of(records, name), name, np.array(numbers, dtype=np.int64), "line")

    for table in blocks():
        keys |= dict.fromkeys(table.frame.columns)

    def read(wanted: Sequence[str] | None) -> Iterator[RawTable]:
        for table in blocks():
            columns = pd.Index(list(keys if wanted is None else wanted), dtype=object)
            yield replace(table, frame=table.frame.reindex(columns=columns))

    return read
