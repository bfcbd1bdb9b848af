"""Delimited text, CSV, TSV and their kin, parsed by pyarrow; rewritten, lines stay as they are.

What a file leaves unsaid is found in it: the separator and whether there is a header in the first line, the
decimal mark in all of it. Where the file is broken, the error names the file, the line as an editor counts
it, and the column.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from graylearn.data.cells import (
    any_field_size,
    as_utf8,
    cell,
    codec_of,
    guessed_separator,
    lines_of,
    records_of,
    rows_of,
    separator_line,
    with_cell,
)
from graylearn.data.formats._base import (
    Change,
    Format,
    Origin,
    moved_path,
    read_bytes,
    read_text_bytes,
    suffix_of,
    write_bytes,
)
from graylearn.data.options import ReadOptions
from graylearn.data.tables import MISSING_WORDS, RawTable, check_unique_names, table_from_arrow
from graylearn.errors import DataError, SettingsError, counted

_TABBED, _ANY_SEPARATOR = (".tsv", ".tab"), (".txt", ".data")
"""Endings that promise tabs, and that promise nothing."""


class Delimited(Format):
    """One row a line; ids are the lines that rows begin on, from 1."""

    name = "delimited"
    suffixes = (".csv", *_TABBED, *_ANY_SEPARATOR)

    def read(self, path: Path, options: ReadOptions) -> RawTable:
        """The rows; see `ReadOptions` for what may be told: separator, decimal, header, encoding."""
        return read_delimited(
            read_text_bytes(path),
            str(path),
            separator=promised_separator(path, options),
            decimal=options.decimal,
            header=options.header,
            encoding=options.encoding,
        )

    def endings(self, path: Path) -> tuple[str, ...]:
        """Separators are written as they were read, and some names promise tabs, or none."""
        return (*(_TABBED if suffix_of(path) in _TABBED else (".csv",)), *_ANY_SEPARATOR)

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> str | None:
        """Lines as they are, but for dropped ones and the label cells of relabelled ones."""
        if origin.columns.label is None:
            raise DataError(f"{path}: it is not known which column is the label; make the run anew")
        raw = read_bytes(path)
        codec, mark = codec_of(raw, origin.encoding)
        whole = raw.removeprefix(mark).decode(codec)
        first, told = separator_line(whole)
        text = whole.removeprefix(first)
        separator = origin.separator or told or guessed_separator(text)
        records = list(records_of(text, separator))
        rows = [record for record, is_row in records if is_row]
        header = len(rows) - len(change.keep)
        if header not in (0, 1):
            raise DataError(
                f"{path} has {len(rows)} rows where {len(change.keep)} samples were read; "
                "stray quotes are in the way"
            )
        rows = rows[header:]
        label = origin.names.index(origin.columns.label)
        parts, index = [first], -header
        for record, is_row in records:
            at, index = index, index + is_row
            if is_row and at >= 0:
                if not change.keep[at]:
                    continue
                if (other := change.label_of[at]) != at:
                    record = with_cell(record, separator, label, cell(rows[other], separator, label))
                if origin.columns.path is not None:
                    column = origin.names.index(origin.columns.path)
                    record = _with_moved_path(record, separator, column, path, out)
            parts.append(record)
        if (mark + whole.encode(codec)) == raw:
            write_bytes(out, mark + "".join(parts).encode(codec))
            return None
        write_bytes(out, "".join(parts).encode())
        return f"written in UTF-8, for in {codec} the same text may stand in several ways"


def promised_separator(path: Path, options: ReadOptions) -> str | None:
    """The one that is told, or a tab where the name promises it; None where the first line is to tell."""
    return "\t" if options.separator is None and suffix_of(path) in _TABBED else options.separator


def read_delimited(
    raw: bytes,
    name: str,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> RawTable:
    """Parse the bytes of a delimited file called `name`.

    `separator` None takes the one of , ; tab | that the first line has most of. `decimal` None takes a comma
    where whole columns are written so. `header` None says the first line is a header unless it holds a
    decimal number or nothing but numbers; columns without a header are called "0", "1", and so on.
    """
    whole = as_utf8(raw, name, encoding)
    raw, separator, names, has_header = head_of(whole, name, separator, header)
    lines_before = whole[: len(whole) - len(raw)].count(b"\n")
    _check_quotes_close(raw, separator, name, lines_before)

    def parsed(decimal: str, column: str | None = None) -> pa.Table:
        alone = () if column is None else ({column: pa.string()}, [column])
        return parse(raw, separator, decimal, names, has_header, name, lines_before, *alone)

    arrow = parsed(decimal or ".")
    if decimal is None and writes_decimal_commas(arrow, separator):
        decimal = ","
        arrow = parsed(decimal)
    if not arrow.num_rows:
        raise DataError(f"{name} has a header ({', '.join(names[:30])}) but no rows")
    return RawTable(
        table_from_arrow(arrow, name).frame,
        name,
        lines_before + line_numbers(raw, separator, arrow.num_rows, has_header),
        "line",
        MISSING_WORDS,
        lambda column: parsed(".", column)[column],
        {"separator": separator, "decimal": decimal or ".", "encoding": encoding},
    )


class Head(NamedTuple):
    """What the beginning of a file tells."""

    content: bytes
    """The text from its first row on, the header included."""
    separator: str
    names: list[str]
    """Of the columns."""
    has_header: bool


def head_of(raw: bytes, name: str, separator: str | None, header: bool | None) -> Head:
    """What UTF-8 text begins with; as in `read_delimited`."""
    if separator is not None and len(separator) != 1:
        raise SettingsError(f"separator is {separator!r}; it must be a single character")
    start, told = separator_line(raw[:64].decode("utf-8", "replace"))
    content = raw[len(start.encode()) :].lstrip(b"\r\n")
    if not content.strip():
        raise DataError(f"{name} is empty")
    if separator is None:
        separator = told or guessed_separator(content.split(b"\n", 1)[0].decode("utf-8"))
    with any_field_size():
        first = next(rows_of(content, separator))[1]
    has_header = _looks_like_header(first) if header is None else header
    names = [each.strip() for each in first] if has_header else [str(index) for index in range(len(first))]
    check_unique_names(names, name)
    return Head(content, separator, names, has_header)


def _looks_like_header(cells: list[str]) -> bool:
    """A first line is data if it holds a decimal number, or only numbers that do not merely count columns."""
    numbers = [each for each in cells if _is_number(each)]
    if len(numbers) == len(cells):
        counted = [str(index) for index in range(len(cells))]
        return len(cells) > 1 and cells in (counted, [str(index + 1) for index in range(len(cells))])
    return all(each.strip().lstrip("+-").isdigit() for each in numbers)


def _is_number(text: str) -> bool:
    # "nan" and "inf" are numbers to Python but could well be names.
    return bool(re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text.strip()))


def _check_quotes_close(raw: bytes, separator: str, name: str, lines_before: int) -> None:
    """A quote that never closes swallows the rest of the file as one cell: say where it opens."""
    if raw.count(b'"') % 2 == 0:
        return
    begins = lines_before + 1
    reader = csv.reader(lines_of(raw), delimiter=separator, strict=True)
    with any_field_size():
        try:
            for _ in reader:
                begins = lines_before + reader.line_num + 1
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise DataError(f"{name}, line {begins}: a quote opens here and never closes") from error
            # Any other error is a stray quote inside a cell, which pyarrow takes as it is.


def parse(
    raw: bytes,
    separator: str,
    decimal: str,
    names: list[str],
    has_header: bool,
    name: str,
    lines_before: int,
    types: Mapping[str, pa.DataType] | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """All columns, or some, in the types that are told or that their values suggest."""
    block_size = 1 << 20
    quoted = b'"' in raw
    while True:
        try:
            return pa.csv.read_csv(
                pa.BufferReader(raw),
                read_options=pa.csv.ReadOptions(
                    column_names=names, skip_rows_after_names=int(has_header), block_size=block_size
                ),
                # Looking for newlines inside quotes costs time, which a file without quotes need not spend.
                parse_options=pa.csv.ParseOptions(delimiter=separator, newlines_in_values=quoted),
                convert_options=pa.csv.ConvertOptions(
                    # a lone dash among numbers is read as missing once they are known to be numbers; with
                    # points, the encoder finds that out and tells it
                    null_values=[*MISSING_WORDS, *("-" if decimal == "," else "")],
                    decimal_point=decimal,
                    include_columns=None if columns is None else list(columns),
                    column_types=None if types is None else dict(types),
                ),
            )
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block_size < len(raw):  # a row longer than a block
                block_size = min(8 * block_size, len(raw) + 1)
                continue
            if "straddling" in str(error):
                raise DataError(f"{name} has a line that does not end: is the file whole?") from error
            _explain(raw, separator, names, name, lines_before)
            raise DataError(f"{name} cannot be read as delimited text: {error}") from error


def writes_decimal_commas(arrow: pa.Table, separator: str) -> bool:
    """Whether a file is one that writes 1,5: semicolons part its cells, and whole columns say so."""
    if separator != ";" or any(pa.types.is_floating(field.type) for field in arrow.schema):
        return False
    for column in arrow.columns:
        if pa.types.is_string(column.type):
            present = pc.filter(column, pc.invert(pc.is_in(column, pa.array([*MISSING_WORDS, "-"]))))
            with_comma = pc.match_substring_regex(present, r"^\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*$")
            number = pc.or_(with_comma, pc.match_substring_regex(present, r"^\s*[+-]?\d+\s*$"))
            if len(present) and pc.any(with_comma).as_py() and pc.all(number).as_py():
                return True
    return False


def _explain(raw: bytes, separator: str, names: list[str], name: str, lines_before: int) -> None:
    """Raise for the first row of another length than the first; pyarrow does not know its line."""
    with any_field_size():
        for line, cells in rows_of(raw, separator):
            if len(cells) != len(names):
                told = "add or remove fields, or quote those that hold a separator"
                if len(names) == 1:  # a title, a date, the name of a program
                    told = "where the table begins there, remove what stands above it"
                elif len(cells) == 1:  # "(400 rows affected)"
                    told = "where the line is no row of the table, remove it"
                raise DataError(
                    f"{name}, line {lines_before + line}: {counted(len(cells), 'field')} where the first "
                    f"line has {len(names)} (separator {separator!r}); {told}"
                )


def line_numbers(raw: bytes, separator: str, num_rows: int, has_header: bool) -> np.ndarray:
    """The line each row begins on; counting newlines settles it unless cells hold some or lines are blank."""
    num_lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
    if num_lines == num_rows + has_header:
        return np.arange(1 + has_header, num_rows + has_header + 1, dtype=np.int64)
    with any_field_size():
        lines = [line for line, _ in rows_of(raw, separator)][int(has_header) :]
    if len(lines) != num_rows:  # the two parsers disagree on stray quotes: count rows instead
        lines = list(range(1 + has_header, num_rows + has_header + 1))
    return np.array(lines, dtype=np.int64)


def _with_moved_path(record: str, separator: str, column: int, path: Path, out: Path) -> str:
    raw = cell(record, separator, column)
    image = next(csv.reader(io.StringIO(raw, newline=""), delimiter=separator))[0]
    moved = moved_path(image, path, out)
    if moved == image:
        return record
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, lineterminator="")
    if raw.startswith('"'):
        writer = csv.writer(written, delimiter=separator, lineterminator="", quoting=csv.QUOTE_ALL)
    writer.writerow([moved])
    return with_cell(record, separator, column, written.getvalue())


FORMAT = Delimited()
