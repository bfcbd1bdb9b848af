"""Delimited text taken apart: its encoding, its separator, its rows, and where the cells of a row stand."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from graylearn.errors import DataError, DataWarning, Hint, SettingsError, warn

SEPARATORS = (",", ";", "\t", "|")
"""What may part cells without being named."""

_LONGEST = (1 << 31) - 1
"""Characters of a cell: the most that the csv module takes on Windows, where a C long has 32 bits."""
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


class Record(NamedTuple):
    """A row, or a blank line, of delimited text."""

    line: int
    """That it begins on, from 1."""
    text: str
    """It as it stands, line ends included."""
    cells: list[str]
    """None of a blank line."""


def records_of(text: str, separator: str, strict: bool = False) -> Iterator[Record]:
    """What delimited text holds, in order: slow but exact, which pyarrow is not.

    strict: a csv.Error where quotes are not as the csv module writes them.
    """
    begins, taken = 1, list[str]()

    def lines() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):  # with their ends, for a cell may hold some
            taken.append(line)
            yield line

    csv.field_size_limit(_LONGEST)  # of the whole process: to put it back would stop another thread's reading
    for cells in csv.reader(lines(), delimiter=separator, strict=strict):
        yield Record(begins, "".join(taken), cells)
        begins += len(taken)
        taken.clear()


def rows_of(raw: bytes, separator: str) -> Iterator[Record]:
    """The same of UTF-8, without blank lines."""
    return (record for record in records_of(raw.decode(), separator) if record.cells)


def unclosed(raw: bytes, separator: str) -> Record | None:
    """The last record of text in UTF-8, where a quote opens in it that does not close."""
    if raw.count(b'"') % 2 == 0:
        return None
    text = raw.decode("utf-8", "surrogateescape")
    last = deque(records_of(f"{text}\n\0", separator), maxlen=1)[0]
    return None if last.text == "\0" else last


def cell_span(record: str, separator: str, column: int) -> tuple[int, int]:
    """Where a cell of a record begins and ends, quotes included, the line's end not."""
    line, at = record.rstrip("\r\n"), 0
    pattern = re.compile(rf'(?:"(?:[^"]++|"")*+"?)?[^{re.escape(separator)}]*')
    for _ in range(column):
        at = pattern.match(line, at).end() + len(separator)  # type: ignore[union-attr]
    return pattern.match(line, at).span()  # type: ignore[union-attr]
