"""Delimited text, CSV, TSV and their kin, parsed by pyarrow; rewritten, lines stay as they are.

What a file leaves unsaid is found in it: the separator and whether there is a header in the first line, the
decimal mark, and the types that fit all rows. Where the file is broken, the error names the file, the line as
an editor counts it, and the column.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from graylearn.data.cells import (
    cell_span,
    check_utf8,
    codec_of,
    guessed_separator,
    note_utf8,
    records_of,
    rows_of,
    separator_line,
    unclosed,
)
from graylearn.data.formats._base import (
    Change,
    Format,
    Origin,
    chunks_of,
    edited,
    moved_path,
    read_bytes,
    suffix_of,
    write_bytes,
)
from graylearn.data.table_samples import find_columns, without_columns
from graylearn.data.tables import (
    MISSING_WORDS,
    RawTable,
    ReadOptions,
    Table,
    check_unique_names,
    table_from_arrow,
)
from graylearn.errors import DataError, SettingsError, counted, first_few, first_line

_TABBED, _ANY_SEPARATOR = (".tsv", ".tab"), (".txt", ".data")
"""Endings that promise tabs, and that promise nothing."""
LONGEST, LONGEST_HEADER = 64 << 20, 1 << 20
"""Bytes without the end of a row, and of a lone first line, from which on it is taken for one without end."""

_PLAIN = r"^\s*[+-]?(0|[1-9][0-9]{0,14})([.,]0*)?([eE][+-]?0+)?\s*$"
"""How labels, ids and groups are written that are read as numbers: whole ones, which lose nothing. 007, 1.10
and times of day are text."""


class Delimited(Format):
    """One row per line; ids are the lines that rows begin on, from 1."""

    name = "delimited"
    suffixes = (".csv", *_TABBED, *_ANY_SEPARATOR)

    def open(self, path: Path, options: ReadOptions) -> Table:
        """The rows; see `ReadOptions` for what can be given: separator, decimal, header, encoding."""
        return _Text(path, options)

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
        rows = [number for number, record in enumerate(records) if record.cells]
        header = len(rows) - len(change.keep)
        if header not in (0, 1):
            told = f"{len(rows)} rows where {len(change.keep)} samples were read; stray quotes are in the way"
            raise DataError(f"{path} has {told}")

        def span(record: str, column: str) -> tuple[int, int]:
            return cell_span(record, separator, origin.names.index(column))

        def moved(cell: str) -> str:
            return _moved_cell(cell, separator, path, out)

        texts = [record.text for record in records]
        parts = [first, *edited(texts, rows[header:], change, origin.columns, span, moved)]
        if (mark + whole.encode(codec)) == raw:
            write_bytes(out, mark + "".join(parts).encode(codec))
            return None
        write_bytes(out, "".join(parts).encode())
        return f"written in UTF-8, for in {codec} the same text may stand in several ways"


class _Part(NamedTuple):
    """Some rows as text."""

    before: int
    """Lines before it in the file."""
    text: bytes
    """Whole rows in UTF-8."""
    ends: int
    """Ends of lines in it."""
    has_header: bool = False


class _Text(Table):
    """The rows of delimited text.

    A first reading finds what no single block can tell: the columns, and the types that fit all rows. Labels,
    ids and groups are numbers where that loses nothing of any of them, else text as it was written.
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        super().__init__(str(path), options)
        self.path = path
        if options.separator is not None and len(options.separator) != 1:
            raise SettingsError(f"separator is {options.separator!r}; it must be a single character")
        self.separator = options.separator or ("\t" if suffix_of(path) in _TABBED else "")
        self.names: list[str] = []
        """Of the columns."""
        self.has_header = False
        self.decimal = options.decimal or "."
        self.types: dict[str, pa.DataType] = {}
        self.as_text: list[str] = []
        """Labels, ids and groups that would lose something as the numbers or dates that they look like."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[RawTable]:
        """The blocks in order, of some columns or of all."""
        if not self.types:
            deque(self._look(), maxlen=0)
        for part in self._parts():
            block = self._parsed(part, self.types, columns)
            yield self._table(block, self._lines(part, block.num_rows))

    def whole(self) -> RawTable:
        """All blocks as one, parsed once; a column can also be had as it is written."""

        def as_written(columns: Sequence[str]) -> pa.Table:
            return pa.concat_tables(self._as_text(part, columns) for part in self._parts())

        blocks: list[pa.Table] = []
        lines: list[np.ndarray] = []
        for part, block in self._look():
            blocks.append(block)
            lines.append(self._lines(part, block.num_rows))
        texts = [
            name
            for name, kind in self.types.items()
            if kind == pa.string() and any(_may_lose(block.schema.field(name).type) for block in blocks)
        ]
        joint = pa.concat_tables(
            [block.drop_columns(texts) for block in blocks], promote_options="permissive"
        )
        written = as_written(texts) if texts else joint
        columns = {name: (written if name in texts else joint)[name] for name in self.names}
        return replace(self._table(pa.table(columns), np.concatenate(lines)), as_written=as_written)

    def _look(self) -> Iterator[tuple[_Part, pa.Table]]:
        """The blocks in the types that their values suggest; at the end the types that fit all are known, and
        whether labels, ids and groups are numbers."""
        may_be_numbers: dict[str, bool] = {}
        types: dict[str, pa.DataType] = {}
        for part in self._parts():
            arrow = self._parsed(part)
            if not arrow.num_rows:
                continue
            if not types:
                if self.options.decimal is None and writes_decimal_commas(arrow, self.separator):
                    self.decimal = ","
                    arrow = self._parsed(part)
                may_be_numbers = self._names_in(self._table(arrow, self._lines(part, arrow.num_rows)))
            for field in arrow.schema:
                types[field.name] = _joint(types.get(field.name, pa.null()), field.type)
            for name, may in may_be_numbers.items():
                if may and _may_lose(types[name]):
                    text = _present(self._as_text(part, [name])[name])
                    may_be_numbers[name] = pc.all(pc.match_substring_regex(text, _PLAIN), min_count=0).as_py()
            yield part, arrow
        if not types:
            if len(self.separator.join(self.names)) > LONGEST_HEADER:
                raise self._without_end()
            raise DataError(f"{self.name} has a header ({first_few(self.names, 30)}) but no rows")
        self.as_text = [name for name, may in may_be_numbers.items() if not may and _may_lose(types[name])]
        self.types = types | dict.fromkeys(self.as_text, pa.string())

    def _names_in(self, table: RawTable) -> dict[str, bool]:
        """The columns of labels, ids and groups, and whether each may be numbers."""
        columns = find_columns(without_columns(table, self.options.without), self.options)
        known = self.options.classes if self.options.labelled else None
        found = {str(each): True for each in (columns.id, columns.group) if each is not None}
        if columns.label is not None and (not known or all(isinstance(label, str) for label in known)):
            found[str(columns.label)] = not known  # else those of a model that knows numbers
        return found

    def _parts(self) -> Iterator[_Part]:
        """The blocks as text."""
        for number, part in enumerate(self._chunks()):
            if number == 0:
                content = self._begun(part.text)
                skipped = part.text[: len(part.text) - len(content)].count(b"\n")
                part = _Part(skipped, content, part.ends - skipped, self.has_header)
            if part.text.strip():
                yield part

    def _begun(self, text: bytes) -> bytes:
        """The text from its first row on, once the separator and the names of the columns are known."""
        start, told = separator_line(text[:64].decode("utf-8", "replace"))
        content = text[len(start.encode()) :].lstrip(b"\r\n")
        if not content.strip():
            raise DataError(f"{self.name} is empty")
        self.separator = self.separator or told or guessed_separator(content.split(b"\n", 1)[0].decode())
        first = next(rows_of(content, self.separator)).cells
        self.has_header = _looks_like_header(first) if self.options.header is None else self.options.header
        self.names = (
            [each.strip() for each in first] if self.has_header else list(map(str, range(len(first))))
        )
        check_unique_names(self.names, self.name)
        return content

    def _chunks(self) -> Iterator[_Part]:
        """The text in whole rows: one goes on to the line where its quotes close."""
        codec, decoder, rest, before = "", None, b"", 0
        for raw, is_last in chunks_of(self.path):
            if not codec:
                codec, mark = codec_of(raw, self.options.encoding)
                raw = raw.removeprefix(mark)
                if codec != "utf-8":
                    decoder = codecs.getincrementaldecoder(codec)()
                    if not mark:
                        note_utf8(raw[: raw.rfind(b"\n") + 1] or raw, self.name, codec)
            try:
                rest += raw if decoder is None else decoder.decode(raw, is_last).encode()
            except UnicodeError as error:
                told = f"{self.name}, after line {before}: not {codec} ({first_line(error)})"
                raise DataError(f"{told}; try another encoding") from error
            separator = self.separator or guessed_separator(rest[:9999].decode("utf-8", "replace"))
            end = self._last_row_end(rest, separator, before, is_last)
            if end or (is_last and not before):
                text, rest = rest[:end], rest[end:]
                if decoder is None:
                    check_utf8(text, self.name, before)
                yield (part := _Part(before, text, text.count(b"\n")))
                before += part.ends
            elif len(rest) > LONGEST:
                is_quote = b'"' in rest
                raise _without_quote_end(self.name, before + 1) if is_quote else self._without_end()

    def _last_row_end(self, text: bytes, separator: str, before: int, is_last: bool) -> int:
        """Where the last row ends that is whole: a quoted cell may go on behind the end of a line."""
        end = len(text) if is_last else text.rfind(b"\n") + 1
        last = unclosed(text[:end], separator)
        if last is None:
            return end
        if is_last:
            raise _without_quote_end(self.name, before + last.line)
        return end + 2 - len(last.text.encode("utf-8", "surrogateescape"))

    def _parsed(
        self,
        part: _Part,
        types: Mapping[str, pa.DataType] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """All columns, or some, in the given types or those that their values suggest."""
        raw, separator, names = part.text, self.separator, self.names
        reading = pa.csv.ReadOptions(
            column_names=names, skip_rows_after_names=int(part.has_header), block_size=len(raw) + 1
        )
        # newlines inside quotes are looked for where there are quotes: it takes time
        parsing = pa.csv.ParseOptions(delimiter=separator, newlines_in_values=b'"' in raw)
        converting = pa.csv.ConvertOptions(
            null_values=list(self._missing),
            decimal_point=self.decimal,
            include_columns=None if columns is None else list(columns),
            column_types=None if types is None else dict(types),
        )
        try:
            return pa.csv.read_csv(pa.BufferReader(raw), reading, parsing, converting)
        except pa.ArrowInvalid as error:
            _explain(raw, separator, names, self.name, part.before)
            if "straddling" in str(error):
                raise self._without_end() from error
            raise DataError(f"{self.name} cannot be read as delimited text: {error}") from error

    def _without_end(self) -> DataError:
        return DataError(f"{self.name} has a line that does not end: is the file whole?")

    @property
    def _missing(self) -> frozenset[str]:
        """Words for missing values.

        A lone dash among numbers is read as missing once they are known to be numbers; with points, the
        encoder finds that out and tells it.
        """
        return MISSING_WORDS | {"-"} if self.decimal == "," else MISSING_WORDS

    def _as_text(self, part: _Part, columns: Sequence[str]) -> pa.Table:
        """Columns as they are written."""
        return self._parsed(part, dict.fromkeys(columns, pa.string()), columns)

    def _lines(self, part: _Part, rows: int) -> np.ndarray:
        """The line of the file that each row of a block begins on."""
        lines: Any = 1 + part.has_header + np.arange(rows, dtype=np.int64)
        # counting settles it, unless cells hold ends of lines or lines are blank
        if part.ends + (not part.text.endswith(b"\n")) != rows + part.has_header:
            told = [row.line for row in rows_of(part.text, self.separator)][int(part.has_header) :]
            lines = told if len(told) == rows else lines  # two parsers may disagree on stray quotes
        return part.before + np.asarray(lines, dtype=np.int64)

    def _table(self, arrow: pa.Table, lines: np.ndarray) -> RawTable:
        """Some rows as a table; their ids are lines of the file."""
        found = {"separator": self.separator, "decimal": self.decimal, "encoding": self.options.encoding}
        frame = table_from_arrow(arrow, self.name).frame
        texts = {name: frame[name] for name in frame.columns.intersection(self.as_text)}
        texts = {name: values.mask(values.isin(list(self._missing)), None) for name, values in texts.items()}
        frame = frame.assign(**texts) if texts else frame
        return RawTable(frame, self.name, lines, "line", MISSING_WORDS, of_file=found)


def _present(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a column that are not missing; a lone dash is no number."""
    return pc.filter(text, pc.invert(pc.is_in(text, pa.array([*MISSING_WORDS, "-"]))))


def _may_lose(kind: pa.DataType) -> bool:
    """Whether values of this type may say less than what is written."""
    return not (pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind))


def _joint(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that fits the values of both."""
    schemas = [pa.schema([("", one)]), pa.schema([("", other)])]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return pa.string()


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


def _without_quote_end(name: str, line: int) -> DataError:
    return DataError(f"{name}, line {line}: a quote opens here and never closes")


def writes_decimal_commas(arrow: pa.Table, separator: str) -> bool:
    """Whether a file is one that writes 1,5: semicolons part its cells, and whole columns say so."""
    if separator != ";" or any(pa.types.is_floating(field.type) for field in arrow.schema):
        return False
    for column in arrow.columns:
        if pa.types.is_string(column.type):
            present = _present(column)
            with_comma = pc.match_substring_regex(present, r"^\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*$")
            number = pc.or_(with_comma, pc.match_substring_regex(present, r"^\s*[+-]?\d+\s*$"))
            if len(present) and pc.any(with_comma).as_py() and pc.all(number).as_py():
                return True
    return False


def _explain(raw: bytes, separator: str, names: list[str], name: str, lines_before: int) -> None:
    """Raise for the first row of another length than the first; pyarrow does not know its line."""
    for line, _, cells in rows_of(raw, separator):
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


def _moved_cell(cell: str, separator: str, path: Path, out: Path) -> str:
    """The path of an image in a cell, quoted as it was, as the table at `out` has to write it."""
    image = next(records_of(cell, separator)).cells[0] if cell else ""
    if (moved := moved_path(image, path, out)) == image:
        return cell
    written = io.StringIO()
    quoting: Literal[0, 1] = csv.QUOTE_ALL if cell.startswith('"') else csv.QUOTE_MINIMAL
    csv.writer(written, delimiter=separator, lineterminator="", quoting=quoting).writerow([moved])
    return written.getvalue()


FORMAT = Delimited()
