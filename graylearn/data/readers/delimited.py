"""Delimited text (CSV, TSV and their kin) into a `Table`, with pyarrow doing the parsing.

What a file leaves unsaid is read off its first line: the separator, whether that line is a header, a comma as
the decimal point. Where the file is broken, the error names the file, the line as an editor counts it, and
the column.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.csv

from graylearn.data.readers.tables import Table, check_unique_names, table_from_arrow
from graylearn.errors import DataError, SettingsError

MISSING_WORDS = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?"})
"""What a cell may say instead of a value; the question mark is the custom of the UCI repository."""

_SEPARATOR_LINE = re.compile(r'"?sep=([^"\w])"?[ \t]*\r?\n', re.IGNORECASE)
_SEPARATORS = (",", ";", "\t", "|")
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def read_delimited(
    raw: bytes,
    name: str,
    *,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> Table:
    """Parse the bytes of a delimited file called `name`; ids are the lines that rows begin on, from 1.

    `separator` None takes the one of , ; tab | that the first line has most of. `header` None says the first
    line is a header unless it holds a decimal number or nothing but numbers; columns without a header are
    called "0", "1", and so on.
    """
    if separator is not None and len(separator) != 1:
        raise SettingsError(f"separator is {separator!r}; it must be a single character")
    raw = _as_utf8(raw, name, encoding)
    start, told = separator_line(raw[:64].decode("utf-8", "replace"))
    content = raw[len(start.encode()) :].lstrip(b"\r\n")
    if not content.strip():
        raise DataError(f"{name} is empty")
    lines_before = raw[: len(raw) - len(content)].count(b"\n")
    raw = content
    separator = separator or told or _guess_separator(raw)
    first = _first_row(raw, separator)
    has_header = _looks_like_header(first) if header is None else header
    names = [cell.strip() for cell in first] if has_header else [str(place) for place in range(len(first))]
    check_unique_names(names, name)
    _check_quotes_close(raw, separator, name, lines_before)
    arrow = _parse(raw, separator, names, has_header, name, lines_before)
    for field in arrow.schema:
        if pa.types.is_binary(field.type):  # cannot be: the bytes were checked above
            raise DataError(f"{name}, column {field.name!r}: holds bytes that are not UTF-8 text")
    if not arrow.num_rows:
        raise DataError(f"{name} has a header ({', '.join(names[:30])}) but no rows")
    table = table_from_arrow(arrow, name)
    lines = lines_before + _line_numbers(raw, separator, len(table.frame), has_header)

    def as_written(column: str) -> pa.ChunkedArray:
        return _parse(raw, separator, names, has_header, name, lines_before, column)[column]

    return Table(table.frame, name, lines, "line", MISSING_WORDS, as_written)


def separator_line(text: str) -> tuple[str, str | None]:
    """(the line, the separator it names) where a file begins with a spreadsheet's sep=; else ("", None)."""
    found = _SEPARATOR_LINE.match(text)
    return (found[0], found[1]) if found else ("", None)


def _as_utf8(raw: bytes, name: str, encoding: str) -> bytes:
    """The bytes as UTF-8 without a byte order mark."""
    for mark, marked_encoding in _BOMS:
        if raw.startswith(mark):
            encoding = marked_encoding
            raw = raw.removeprefix(mark) if marked_encoding == "utf-8" else raw
            break
    try:
        codec = codecs.lookup(encoding).name
    except LookupError as error:
        raise SettingsError(f"encoding is {encoding!r}, which Python does not know") from error
    if codec == "utf-8" and raw.isascii():
        return raw
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError as error:
        line_start = raw.rfind(b"\n", 0, error.start) + 1
        line = raw.count(b"\n", 0, error.start) + 1
        separator = _guess_separator(raw)
        place = len(_cells(raw[line_start : error.start], separator)) - 1
        header = _cells(raw.split(b"\n", 1)[0], separator)
        column = (
            f"column {header[place].strip()!r}" if line > 1 and place < len(header) else f"field {place + 1}"
        )
        mend = "pass encoding='latin-1' or whichever it was written in" if codec == "utf-8" else "try another"
        raise DataError(
            f"{name}, line {line}, {column}: byte 0x{raw[error.start]:02x} is not {encoding}; {mend}"
        ) from error
    return raw if codec == "utf-8" else text.removeprefix("\ufeff").encode("utf-8")


def _cells(line: bytes, separator: str) -> list[str]:
    """The cells of one line of unknown encoding, for an error message."""
    return next(csv.reader([line.decode("latin-1").replace("\r", "")], delimiter=separator), [""])


def _guess_separator(raw: bytes) -> str:
    end = re.search(rb"[\r\n]", raw)
    line = raw[: end.start()] if end else raw
    outside_quotes = re.sub(rb'"[^"]*"', b"", line)
    counts = {separator: outside_quotes.count(separator.encode()) for separator in _SEPARATORS}
    return max(_SEPARATORS, key=counts.__getitem__)  # the earlier one where two are equal


def _lines(raw: bytes) -> io.TextIOWrapper:
    """The lines as the csv module wants them: with their ends left on, for a cell may hold some."""
    return io.TextIOWrapper(io.BytesIO(raw), "utf-8", newline="")


def _rows(raw: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """(line that a row begins on, its cells), without blank lines: slow but exact, which pyarrow is not."""
    reader = csv.reader(_lines(raw), delimiter=separator)
    begins = 1
    for row in reader:
        if row:
            yield begins, row
        begins = reader.line_num + 1


@contextmanager
def _any_field_size() -> Iterator[None]:
    """Lift the csv module's limit on the length of a cell, which a long text exceeds, for a while."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _first_row(raw: bytes, separator: str) -> list[str]:
    with _any_field_size():
        return next(_rows(raw, separator))[1]


def _looks_like_header(cells: list[str]) -> bool:
    """A first line is data if it holds a decimal number, or only numbers that do not merely count columns."""
    numbers = [cell for cell in cells if _is_number(cell)]
    if len(numbers) == len(cells):
        counted = [str(place) for place in range(len(cells))]
        return len(cells) > 1 and cells in (counted, [str(place + 1) for place in range(len(cells))])
    return all(cell.strip().lstrip("+-").isdigit() for cell in numbers)


def _is_number(cell: str) -> bool:
    # "nan" and "inf" are numbers to Python but could well be names.
    return bool(re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", cell))


def _check_quotes_close(raw: bytes, separator: str, name: str, lines_before: int) -> None:
    """A quote that never closes swallows the rest of the file as one cell: say where it opens."""
    if raw.count(b'"') % 2 == 0:
        return
    begins = lines_before + 1
    reader = csv.reader(_lines(raw), delimiter=separator, strict=True)
    with _any_field_size():
        try:
            for _ in reader:
                begins = lines_before + reader.line_num + 1
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise DataError(f"{name}, line {begins}: a quote opens here and never closes") from error
            # Any other error is a stray quote inside a cell, which pyarrow takes as it is.


def _parse(
    raw: bytes,
    separator: str,
    names: list[str],
    has_header: bool,
    name: str,
    lines_before: int,
    column: str | None = None,
) -> pa.Table:
    """All columns in the types that their values suggest, or one `column` as text."""
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
                    null_values=sorted(MISSING_WORDS),
                    decimal_point=_decimal_point(raw, separator),
                    include_columns=None if column is None else [column],
                    column_types=None if column is None else {column: pa.string()},
                ),
            )
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block_size < len(raw):  # a row longer than a block
                block_size = min(8 * block_size, len(raw) + 1)
                continue
            _explain(raw, separator, names, name, lines_before)
            raise DataError(f"{name} cannot be read as delimited text: {error}") from error


def _decimal_point(raw: bytes, separator: str) -> str:
    """A comma where semicolons part the cells and the second line writes numbers as 1,5."""
    if separator != ";":
        return "."
    second = raw.split(b"\n", 2)[1:2]
    cells = second[0].decode("utf-8", "replace").strip().split(";") if second else []
    with_comma = any(re.fullmatch(r'"?[+-]?\d+,\d+"?', cell.strip()) for cell in cells)
    with_point = any(re.fullmatch(r'"?[+-]?\d+\.\d+"?', cell.strip()) for cell in cells)
    return "," if with_comma and not with_point else "."


def _explain(raw: bytes, separator: str, names: list[str], name: str, lines_before: int) -> None:
    """Raise for the first row of another length than the first; pyarrow does not know its line."""
    with _any_field_size():
        for line, cells in _rows(raw, separator):
            if len(cells) != len(names):
                raise DataError(
                    f"{name}, line {lines_before + line}: {len(cells)} fields where the first line has "
                    f"{len(names)} (separator {separator!r}); add or remove fields, or quote those that hold "
                    "a separator"
                )


def _line_numbers(raw: bytes, separator: str, num_rows: int, has_header: bool) -> np.ndarray:
    """The line each row begins on; counting newlines settles it unless cells hold some or lines are blank."""
    num_lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
    if num_lines == num_rows + has_header:
        return np.arange(1 + has_header, num_rows + has_header + 1, dtype=np.int64)
    with _any_field_size():
        lines = [line for line, _ in _rows(raw, separator)][int(has_header) :]
    if len(lines) != num_rows:  # the two parsers disagree on stray quotes: count rows instead
        lines = list(range(1 + has_header, num_rows + has_header + 1))
    return np.array(lines, dtype=np.int64)
