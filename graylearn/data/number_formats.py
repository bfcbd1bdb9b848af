"""Numbers and dates that are text because of how people write them: 1,234.56, 1 234 €, 12.5%, 31.12.2024.

A column is read only where one way of writing fits it and no other: a few 1,234 may be thousands or one and a
bit, 1,3 one and a bit or two answers, and 03/04/2024 March or April. Codes with leading zeros, versions and
addresses fit none.

What was found is a short text, which the encoder keeps: "1.234,5 €" or "d.m.y".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

MOSTLY = 0.9
"""The share of numbers, or dates, from which a column of text is taken for them with faults."""

_MANY = 30  # commas with three digits behind each and no 0 before, from which on they part thousands
_SAMPLE = 64  # values that settle whether the others are worth a look
_SIGNS = "$€£¥₹₽₩₺₴₫₪₱฿₦₡₸₼₾₿¢"
_CODES = (
    "USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|RUB|UAH|TRY|BRL|MXN|CLP|COP|"
    r"ARS|PEN|ZAR|KRW|SGD|HKD|TWD|THB|IDR|MYR|PHP|VND|AED|SAR|ILS|EGP|NGN|KES|kr\.?|zł|Kč|Ft|S?Fr\.?|Rs\.?"
)
_UNIT = rf"[A-Z]{{0,2}}[{_SIGNS}]|{_CODES}|%"
_SOME_UNIT = r"[^\d\s()+',.-]{1,4}(?:(?<=[rs])\.)?"  # one of many is looked up faster than it is matched
_PLAIN = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})


def _number(decimal: str, marks: str) -> re.Pattern[str]:
    return re.compile(
        rf"(\()?([+-]?) ?({_SOME_UNIT})? ?([+-]?)"
        rf"(0|[1-9]\d*|[1-9]\d{{0,2}}([{marks}])\d{{3}}(?:\6\d{{3}})*)?([{decimal}]\d+)?"
        rf" ?({_SOME_UNIT})?(\))?",
        re.ASCII,
    )


_NUMBER = {".": _number(".", ",' "), ",": _number(",", ".' ")}
_UNITS = re.compile(_UNIT, re.IGNORECASE)
_WRITING = re.compile(rf"1([,.])234(?!\1)([,.])5(?: ({_UNIT}))?", re.IGNORECASE)
_NUMBER_LIKE = re.compile(r"[\d.,' +()/:-]*\d[\d.,' +()/:-]*", re.ASCII)
_TIME = r"(?:[ T](\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?: ?([AP])M)?)?"
_DATE = re.compile(rf"(\d{{1,2}})([./])(\d{{1,2}})\2(\d{{4}}){_TIME}", re.ASCII | re.IGNORECASE)
_YEAR_FIRST = re.compile(rf"(\d{{4}})([./])(\d{{1,2}})\2(\d{{1,2}}){_TIME}", re.ASCII | re.IGNORECASE)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}.*)?", re.ASCII)
_DATE_LIKE = re.compile(
    r"(?:\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./](?:\d{1,2}|[a-z]{3,9})[-./](?:\d{4}|\d{2}))(?:[ T,].*)?",
    re.IGNORECASE | re.ASCII,
)
DATE_WRITINGS = ("d.m.y", "d/m/y", "m/d/y", "y/m/d", "y.m.d")


class _Cell(NamedTuple):
    """A number as it stands in a cell."""

    value: float
    unit: str
    mark: str
    """What parts its thousands; empty where nothing does."""
    groups: int
    decimals: int
    """Digits behind its decimal mark."""
    has_plus: bool


def is_number_writing(writing: str) -> bool:
    """Whether this is a text that `number_writing` gives."""
    return _WRITING.fullmatch(writing) is not None


def number_writing(values: pd.Series, *, are_new: bool = False) -> str | None:
    """How the numbers of a column of text without missing values are written, where one way alone fits.

    are_new: nothing was read of the column before, so that a factor of a thousand to all of it is no harm.
    """
    if not _worth_a_look(values, lambda text: any(_cell(text, decimal) for decimal in _NUMBER)):
        return None
    codes, found = pd.factorize(values)
    texts = [value for value in found if isinstance(value, str)]
    rows = np.bincount(codes)[[isinstance(value, str) for value in found]]
    ways = {decimal: cells for decimal in _NUMBER if (cells := _cells(texts, rows, decimal))}
    if not ways:
        return None
    cells = next(iter(ways.values()))
    units = {cell.unit for cell in cells if cell} - {""}
    if len(units) > 1:
        return None
    unit = units.pop() if units else ""
    with_unit = rows[[cell is not None and cell.unit != "" for cell in cells]].sum()
    fitting = rows[[cell is not None for cell in cells]].sum()
    if unit == "%" and with_unit < fitting:
        return None  # 5% and 0.05 may be the same
    has_unit = unit != "" and with_unit >= MOSTLY * fitting
    decimal = _decimal(ways, unit if has_unit else "", are_new)
    if decimal is None:
        return None
    read = [cell for cell in ways[decimal] if cell]
    # 37,22 is a number where 3,2 may be two; with points both are read as any program writes numbers
    has_decimals = decimal == "," and any(cell.decimals > 1 for cell in read)
    if not (has_unit or has_decimals or _is_grouped(read)):
        return None
    return ("1,234.5" if decimal == "." else "1.234,5") + (f" {unit}" if unit else "")


def read_number(value: Any, writing: str) -> float:
    """NaN where the value is written otherwise; a true number stays as it is."""
    if isinstance(value, str):
        cell = _cell(value, writing[5])
        return cell.value if cell and cell.unit in ("", writing[8:]) else np.nan
    return float(value) if isinstance(value, int | float | Decimal | np.number) else np.nan


def shown_writing(values: pd.Series) -> str | None:
    """How the numbers are written in text of a column that is known to hold numbers, words among them."""
    if (writing := number_writing(values)) is not None:
        return writing if len(writing) == len("1.234,5") else None  # in a unit that the others did not have
    cells = [cell for value in values if isinstance(value, str) and (cell := _cell(value, ","))]
    if any(cell.mark or cell.unit for cell in cells):
        return None
    # 4,8 of a column of numbers is one; 4,800 alone may be a thousand and more
    return "1.234,5" if any(cell.decimals not in (0, 3) for cell in cells) else None


def read_numbers(values: pd.Series, writing: str) -> np.ndarray:
    """`read_number` of each value; missing ones are NaN."""
    codes, found = pd.factorize(values)
    return np.array([*(read_number(value, writing) for value in found), np.nan])[codes]  # missing: code -1


def date_writing(values: pd.Series) -> str | None:
    """How a column of text without missing values writes dates: "" for ISO, None where it is no dates."""
    if _worth_a_look(values, _ISO.fullmatch):
        is_iso = sum(_ISO.fullmatch(value.strip()) is not None for value in values)
        return "" if is_iso >= MOSTLY * len(values) else None
    ways = [way for way in DATE_WRITINGS if _worth_a_look(values, partial(_iso, writing=way))]
    codes, texts = pd.factorize(values)
    rows = np.bincount(codes)
    read = {way: np.array([_iso(text, way) is not None for text in texts]) for way in ways}
    fits = [way for way in ways if rows[read[way]].sum() >= MOSTLY * len(values)]
    if len(fits) > 1:  # 03/04 fits two, 13/04 one: that which reads all that any does
        some = np.any(list(read.values()), axis=0)
        fits = [way for way in fits if (read[way] == some).all()]
    return fits[0] if len(fits) == 1 else None


def as_iso(values: pd.Series, writing: str) -> pd.Series:
    """The dates of a column rewritten as ISO text; what is written otherwise stays as it is."""
    return values.astype(object).map(lambda value: _iso(value, writing) or value, na_action="ignore")


def _iso(value: Any, writing: str) -> str | None:
    """A date in ISO; None where it is written otherwise."""
    pattern = _YEAR_FIRST if writing[0] == "y" else _DATE
    match = pattern.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or match[2] != writing[1]:
        return None
    date = dict(zip(writing[::2], match.group(1, 3, 4), strict=True))
    if int(date["m"]) > 12:
        return None
    hour, colon, rest = (match[5] or "00:00").partition(":")
    if match[6]:  # after noon 12 hours more, and 12 itself is none
        hour = str(int(hour) % 12 + 12 * (match[6] in "Pp"))
    return f"{date['y']}-{date['m']:0>2}-{date['d']:0>2}T{hour:0>2}{colon}{rest}"


def looks_measured(values: pd.Series) -> bool:
    """Whether text seems to be numbers or dates, also if it is unclear how to read them."""
    return _worth_a_look(
        values,
        lambda text: _DATE_LIKE.fullmatch(text) or any(_cell(text, decimal) for decimal in _NUMBER),
    )


def _worth_a_look(values: pd.Series, fits: Any) -> bool:
    """Whether half of some values fit: a column of words is passed over at once."""
    some = values.iloc[:: max(1, len(values) // _SAMPLE)]
    return 2 * sum(isinstance(value, str) and bool(fits(value.strip())) for value in some) > len(some)


@lru_cache(maxsize=1000)
def _is_unit(text: str) -> bool:
    return not text or _UNITS.fullmatch(text) is not None


def _cell(text: str, decimal: str) -> _Cell | None:
    if not text.isascii():
        text = text.translate(_PLAIN)
    match = _NUMBER[decimal].fullmatch(text.strip())
    if match is None:
        return None
    opened, sign, before, inner, whole, mark, fraction, after, closed = match.groups()
    if not (whole or fraction) or (before and after) or (opened is None) != (closed is None):
        return None
    if bool(sign) + bool(inner) + bool(opened) > 1 or not _is_unit(before or after or ""):
        return None
    digits = whole or "0"
    value = float((digits.replace(mark, "") if mark else digits) + "." + (fraction or ".0")[1:])
    negative = bool(opened) or "-" in (sign, inner)
    return _Cell(
        -value if negative else value,
        (before or after or "").upper(),
        mark or "",
        digits.count(mark) if mark else 0,
        len(fraction or ".") - 1,
        "+" in (sign, inner),
    )


def _cells(texts: Sequence[str], rows: np.ndarray, decimal: str) -> list[_Cell | None]:
    """Each text read with this decimal mark; empty where too few can be, or other numbers are among them."""
    cells = []
    for text in texts:
        cell = _cell(text, decimal)
        if cell is None and _NUMBER_LIKE.fullmatch(_UNITS.sub("", text.translate(_PLAIN)).strip()):
            return []  # a number in another writing, a code or a date: words alone may be faults
        cells.append(cell)
    fitting = rows[[cell is not None for cell in cells]].sum()
    return cells if fitting >= MOSTLY * rows.sum() else []


def _decimal(ways: dict[str, list[_Cell | None]], unit: str, are_new: bool) -> str | None:
    """The decimal mark: one alone fits, both give the same, or the unit or how many there are settles it."""
    read = {decimal: [cell and cell.value for cell in cells] for decimal, cells in ways.items()}
    if len(ways) == 1 or read["."] == read[","]:
        return next(iter(ways))
    whole = [mark for mark, cells in ways.items() if not any(cell and cell.decimals for cell in cells)]
    if unit == "%":
        return "." if whole == [","] else None  # 12.345%, as without the sign
    commas = sum(cell is not None and cell.mark == "," for cell in ways["."])
    are_thousands = are_new and whole == ["."] and commas > _MANY
    # neither money nor each of many numbers has three decimals
    return whole[0] if (unit or are_thousands) and len(whole) == 1 else None


def _is_grouped(cells: list[_Cell]) -> bool:
    """Whether separated thousands, and not only something like them, show that these are numbers."""
    marks = {cell.mark for cell in cells} - {""}
    if any(cell.decimals for cell in cells) or not marks & {".", " "}:
        return bool(marks)
    # Telephone numbers and addresses come in groups of three too, but each in as many as the others.
    is_phone = " " in marks and any(cell.has_plus for cell in cells)
    return len({cell.groups for cell in cells}) > 1 and not is_phone
