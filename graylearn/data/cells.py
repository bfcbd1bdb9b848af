"""Delimited text taken apart: its encoding, its separator, its rows, and where the cells of a row stand."""

from __future__ import annotations

import codecs
import csv
import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from graylearn.errors import DataError, DataWarning, Hint, SettingsError, warn

SEPARATORS = (",", ";", "\t", "|")
"""What may part cells without being named."""

_LONGEST = (1 << 31) - 1
"""Characters of a cell: the most that the csv module takes on Windows, where a C long has 32 bits."""
_LIMIT = threading.RLock()
"""Held by the thread that has lifted the limit: were another to put it back meanwhile, reading would stop."""
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\w])"?[ \t]*\r?\n', re.IGNORECASE)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins with the next but one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_WITHOUT_MARK = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""Encodings that write a mark where none was read."""


def separator_line(text: str) -> tuple[str, str | None]:
    """(the line, the separator it names) where a file begins with a spreadsheet's sep=; else ("", None)."""
    found = _SEPARATOR_LINE.match(text)
    return (found[0], found[1]) if found else ("", None)


def guessed_separator(text: str) -> str:
    """The one of SEPARATORS that the first line has most of outside quotes; of equals the first."""
    first = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    outside_quotes = re.sub(r'"[^"]*"', "", first)
    return max(SEPARATORS, key=outside_quotes.count)


def codec_of(raw: bytes, encoding: str) -> tuple[str, bytes]:
    """(codec, byte order mark): the encoding that the file's mark tells, or else the one given."""
    for mark, codec in _MARKS:
        if raw.startswith(mark):
            return codec, mark
    try:
        "a".encode(encoding)
        codec = codecs.lookup(encoding).name
    except (LookupError, ValueError) as error:
        raise SettingsError(
            f"encoding is {encoding!r}, which is none of text: give one such as utf-8 or cp1252"
        ) from error
    return _WITHOUT_MARK.get(codec, codec), b""


def check_utf8(raw: bytes, name: str, before: int) -> None:
    """Refuse whole lines that are not UTF-8, and say what they may be; `before` others precede them."""
    if b"\0" in raw[:2] and not before:
        likely = "utf-16-be" if raw[:1] == b"\0" else "utf-16-le"
        raise DataError(
            f"{name} begins like UTF-16 without its mark, not like UTF-8;", Hint("encoding", likely)
        )
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        bad, line = raw[error.start], before + raw.count(b"\n", 0, error.start) + 1
        likely = next(each for each in ("cp1252", "shift_jis", "latin-1") if _decodes(raw, each))
        raise DataError(
            f"{name}, line {line}: byte 0x{bad:02x} is not utf-8;",
            Hint("encoding", likely, "or whichever it was written in"),
        ) from error


def note_utf8(raw: bytes, name: str, codec: str) -> None:
    """Warn of lines that are to be read otherwise and are UTF-8: beyond ASCII that is hardly ever chance."""
    if not raw.isascii() and _decodes(raw, "utf-8"):
        letter = next(each for each in raw.decode("utf-8") if not each.isascii())
        taken = letter.encode("utf-8").decode(codec, "replace")
        told = f"{name} is UTF-8 but read as {codec}, which takes {letter!r} for {taken!r};"
        warn(DataWarning(told, Hint("encoding", "utf-8")))


def _decodes(raw: bytes, codec: str) -> bool:
    try:
        raw.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def lines_of(raw: bytes) -> io.TextIOWrapper:
    """The lines as the csv module wants them: with their ends left on, for a cell may hold some."""
    return io.TextIOWrapper(io.BytesIO(raw), "utf-8", newline="")


def rows_of(raw: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """(line that a row begins on, its cells), without blank lines: slow but exact, which pyarrow is not."""
    reader = csv.reader(lines_of(raw), delimiter=separator)
    begins = 1
    with any_field_size():
        for row in reader:
            if row:
                yield begins, row
            begins = reader.line_num + 1


@contextmanager
def any_field_size() -> Iterator[None]:
    """Lift the csv module's limit on the length of a cell, which a long text exceeds, for a while."""
    with _LIMIT:
        before = csv.field_size_limit(_LONGEST)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def records_of(text: str, separator: str) -> Iterator[tuple[str, bool]]:
    """(a record as it stands, line ends included; whether it is a row and not a blank line)."""
    lines = list(io.StringIO(text, newline=""))
    reader = csv.reader(iter(lines), delimiter=separator)
    begins = 0
    with any_field_size():
        for row in reader:
            yield "".join(lines[begins : reader.line_num]), bool(row)
            begins = reader.line_num


def cell(record: str, separator: str, column: int) -> str:
    """A cell of a record as it stands, quotes included."""
    start, end = _spans(record, separator)[column]
    return record[start:end]


def with_cell(record: str, separator: str, column: int, new: str) -> str:
    """The record with another cell, quoted as it is to stand."""
    start, end = _spans(record, separator)[column]
    return record[:start] + new + record[end:]


def _spans(record: str, separator: str) -> list[tuple[int, int]]:
    """Where the cells of a record begin and end, quotes included, the line's end not."""
    end = len(record.rstrip("\r\n"))
    spans, at = [], 0
    while True:
        start = at
        if at < end and record[at] == '"':
            at += 1
            while at < end:
                if record[at] == '"':
                    if record[at + 1 : at + 2] != '"':
                        break
                    at += 1
                at += 1
        while at < end and record[at] != separator:
            at += 1
        spans.append((start, at))
        if at >= end:
            return spans
        at += 1
