"""What a column of a table holds, and its values as plain numbers or words: the ground `encode` stands on."""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from graylearn.data.number_formats import (
    DATE_WRITINGS,
    MOSTLY,
    as_iso,
    date_writing,
    is_number_writing,
    looks_measured,
    number_writing,
    read_number,
    read_numbers,
    shown_writing,
)
from graylearn.errors import DataError, Hint, IdLikeColumnWarning, are, counted, first_few, warn

ColumnKind: TypeAlias = str
"""One of COLUMN_KINDS and, after a blank, how text writes it: "number 1.234,5 €"; predictions need it too."""
COLUMN_KINDS = ("number", "bool", "date", "category")

DATE_PARTS = ("total seconds", "month", "weekday", "hour")
"""The numbers a date is spread over."""

_ID_NAME = re.compile(
    r"(^|[\s_.\-])(id|uuid|guid|name|filename|path|hash|md5|sha\d+)$|[a-z](Id|ID)$|^(obj|spec|row|user)id$",
    re.IGNORECASE,
)
_ID_ROWS = 20  # fewer rows may be distinct by chance
_MEETINGS = 10  # pairs of equal numbers that chance would give, from which on none of them is no chance
_MOSTLY_DIFFERENT = 0.5  # below this share of distinct values rows are not asked whether they are copies
_FEW = 30  # different values up to which text that looks like numbers may as well be names of groups
_WORDS_FOR_MISSING = 3  # different words that may stand for missing numbers where they are many

_UNREAD = (
    "{columns} {are} text that looks like numbers or dates, such as {shown}, but it is unclear how to "
    "read it: only letters are learned. Write 1234.5 or 2024-12-31, or leave out what is neither (on the "
    "command line with --without)"
)


_Readings: TypeAlias = dict[tuple[str, str], list[tuple[str, str, int]]]
"""How the text of columns was read. Of all that are read alike, what is said of them, with {columns}, {are},
{shown} and {others} to fill in, and how they are written: each column, a value, how many count as missing."""


def split_kind(kind: ColumnKind) -> tuple[str, str]:
    """(one of COLUMN_KINDS, how text writes it or ""); ValueError where it is none."""
    plain, _, writing = kind.partition(" ")
    is_known = not writing or (is_number_writing(writing) if plain == "number" else writing in DATE_WRITINGS)
    if plain not in COLUMN_KINDS or not is_known or (writing and plain not in ("number", "date")):
        raise ValueError(f"unknown kind of column {kind!r}")
    return plain, writing


def kinds_of(frame: pd.DataFrame) -> dict[str, ColumnKind]:
    """What each column holds; how text was read is reported, once for all columns that are written alike."""
    readings: _Readings = {}
    kinds = {name: kind_of(frame[name], name, readings) for name in frame.columns}
    for (words, _), found in readings.items():
        columns, shown, others = zip(*found, strict=True)
        told = f"{counted(sum(others), 'other value')}, such as {shown[0]!r}, {are(sum(others))}"
        warn(words.format(columns=_named(columns), are=are(len(columns)), shown=repr(shown[0]), others=told))
    return kinds


def _named(columns: Sequence[str]) -> str:
    """Columns for a sentence: `column 'a'`, `columns 'a', 'b', 'c', 'd', 'e' and 3 more`."""
    return f"column{'s' * (len(columns) > 1)} {first_few([repr(name) for name in columns], 5)}"


def kind_of(values: pd.Series, name: str, readings: _Readings | None = None) -> ColumnKind:
    """What the column holds, by its type and, where that says nothing, by its values.

    How its text was read is added to `readings`.
    """
    readings = {} if readings is None else readings
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if pd.api.types.is_bool_dtype(dtype):
        return "bool"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "date"
    if pd.api.types.is_complex_dtype(dtype):
        raise DataError(f"column {name!r} holds complex numbers; give their parts as columns of their own")
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        return "number"
    present = values.dropna().astype(object)  # in Arrow's types NaN would not count as missing below
    types = set(map(type, present))
    if not types:
        return "number"  # nothing but missing values: dropped as constant
    if types <= {bool, np.bool_}:
        return "bool"
    if all(issubclass(kind, int | float | Decimal | np.number | datetime.timedelta) for kind in types):
        return "number"
    if all(issubclass(kind, datetime.date) for kind in types):
        return "date"
    if bad := [kind for kind in types if issubclass(kind, dict | list | set | tuple | bytes | np.ndarray)]:
        raise DataError(f"column {name!r} holds {bad[0].__name__} values, not numbers, text, bools or dates")
    numbers = pd.to_numeric(present, errors="coerce")
    good = numbers.notna()
    if good.all():
        return "number"
    if (writing := number_writing(present, are_new=True)) is not None:
        shown = next(value for value in present[~good] if not np.isnan(read_number(value, writing)))
        words = "{columns} {are} text, read as numbers written as in {shown}"
        readings.setdefault((words, writing), []).append((name, str(shown), 0))
        return f"number {writing}"
    if good.mean() >= MOSTLY or _is_measured_or_unknown(present, good):
        _note_faulty(present[~good], name, "numbers", readings)
        return "number"
    if all(issubclass(kind, str) for kind in types) and (writing := date_writing(present)) is not None:
        return _date_kind(present, name, writing, readings)
    if looks_measured(present) and present.nunique() > _FEW:
        shown = next(text for value in present if any(map(str.isdigit, text := str(value))))
        readings.setdefault((_UNREAD, ""), []).append((name, shown, 0))
    return "category"


def as_numbers(values: pd.Series, name: str, writing: str = "") -> np.ndarray:
    """float64 with NaN where a value is missing or no number; an error where none is a number.

    Text is read as `writing` says, with a warning if some are lost; without one, as Python writes numbers, or
    else as the text itself shows: one word among numbers with commas makes text of them all.
    """
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        seconds: np.ndarray = values.dt.total_seconds().to_numpy(np.float64)
        return seconds
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(np.float64, na_value=np.nan)
    plain = values.astype(object)
    numbers: np.ndarray
    if writing:
        numbers = read_numbers(plain, writing)
    else:
        plain = plain.map(lambda each: each.total_seconds() if isinstance(each, datetime.timedelta) else each)
        numbers = pd.to_numeric(plain.map(_number_or_text), errors="coerce").to_numpy(np.float64)
        unread = plain[plain.notna().to_numpy() & np.isnan(numbers)]
        if len(unread) and (shown := shown_writing(unread)):
            numbers = np.where(np.isnan(numbers), read_numbers(plain, shown), numbers)
    _check_lost(values, np.isnan(numbers), name, "number", writing)
    return numbers


def as_bools(values: pd.Series, name: str, writing: str = "") -> np.ndarray:
    """0.0, 1.0 or NaN; text may spell the bools."""
    if pd.api.types.is_bool_dtype(values.dtype) or pd.api.types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(np.float64, na_value=np.nan)
        bad = ~np.isnan(numbers) & ~np.isin(numbers, (0, 1))
    else:
        words = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "yes": 1.0, "no": 0.0}
        spelled = values.map(lambda value: words.get(str(value).lower(), np.nan), na_action="ignore")
        numbers = spelled.to_numpy(np.float64)
        bad = values.notna().to_numpy() & np.isnan(numbers)
    if bad.any():
        raise _other_kind(name, "bool", values[bad])
    return numbers


def as_date_parts(values: pd.Series, name: str, writing: str = "") -> np.ndarray:
    """(N, 4) float64, one column for each of DATE_PARTS, in UTC where a zone is known.

    Text is ISO or as `writing` says, then with a warning if values are lost.
    """
    is_text = writing and not pd.api.types.is_datetime64_any_dtype(values.dtype)
    dates = pd.to_datetime(
        as_iso(values, writing) if is_text else values, errors="coerce", utc=True, format="ISO8601"
    )
    _check_lost(values, dates.isna().to_numpy(), name, "date", writing)
    # in the unit of the dates: nanoseconds do not reach 9999-12-31, which stands for no end in databases
    start = pd.Timestamp(0, tz="UTC").as_unit(dates.dt.unit)
    seconds: pd.Series[float] = (dates - start).dt.total_seconds()
    parts: list[Any] = [seconds]
    parts += [getattr(dates.dt, part) for part in ("month", "day_of_week", "hour")]
    return np.stack([part.to_numpy(np.float64, na_value=np.nan) for part in parts], axis=1)


def as_words(values: pd.Series) -> np.ndarray:
    """(N,) text, or None where missing; 1, 1.0 and "1" are one word, as are Steel, "STEEL " and steel."""
    plain = values.astype(object)
    words = np.empty(len(plain), dtype=object)
    words[:] = [_word(value) for value in plain]
    return words


def looks_like_id(frame: pd.DataFrame, name: str, kind: ColumnKind) -> bool:
    """Whether a column seems to name the rows: all different, and counted, single words or called an id.

    Part of a table that was counted counts as well. Of rows that are copies of one another, one counts.
    """
    kind, values = split_kind(kind)[0], frame[name]
    if len(values) < _ID_ROWS or kind not in ("number", "category"):
        return False
    is_named = _ID_NAME.search(name) is not None
    counts = pd.api.types.is_integer_dtype(values.dtype)
    if kind == "number" and not (is_named or counts):
        return False  # before the values are looked at, of which a wide table has many
    if values.isna().any():
        return False
    if not values.is_unique:
        if values.nunique() < _MOSTLY_DIFFERENT * len(values):
            return False
        values = values[~frame.duplicated().to_numpy()]
        if not values.is_unique:
            return False
    if is_named:
        return True
    if kind == "category":  # sentences are unique by nature, and so are many prices and days
        spaced = sum(re.search(r"\s", str(value)) is not None for value in values)
        return spaced < 0.5 * len(values) and not looks_measured(values)
    # as many whole numbers drawn from as wide a range would meet so often, and these never do
    pairs, width = len(values) * (len(values) - 1) / 2, int(values.max()) - int(values.min()) + 1
    return pairs / width >= _MEETINGS or width == len(values)


def learned_columns(
    frame: pd.DataFrame, kinds: Mapping[str, ColumnKind], id_like: Literal["keep", "drop"]
) -> list[str]:
    """The columns to learn from, with a warning of those that seem to name the rows.

    Those are left out where `id_like` is "drop" and there are others.
    """
    ids = [name for name, kind in kinds.items() if looks_like_id(frame, name, kind)]
    drops = id_like == "drop" and len(ids) < len(kinds)
    if ids:
        seem, they = ("seems", "it") if len(ids) == 1 else ("seem", "them")
        problem = f"{_named(ids)} {seem} to name the rows, which tells nothing about new ones"
        if drops:
            told = (
                f"{problem}, and {are(len(ids))} left out;",
                Hint("id_like", "keep", f"to learn from {they}"),
            )
        else:
            told = (f"{problem};", Hint("id_like", "drop", f"to leave {they} out"))
        warn(IdLikeColumnWarning(*told))
    return [name for name in kinds if not (drops and name in ids)]


def _date_kind(present: pd.Series, name: str, writing: str, readings: _Readings) -> ColumnKind:
    """The kind of a column of text that is dates."""
    if writing:
        first = {"d": "day", "m": "month", "y": "year"}[writing[0]]
        words = f"{{columns}} {{are}} text, read as dates with the {first} first, as in {{shown}}"
        readings.setdefault((words, writing), []).append((name, str(present.iloc[0]), 0))
        return f"date {writing}"
    dates = pd.to_datetime(present, errors="coerce", utc=True, format="ISO8601")
    if dates.isna().any():
        _note_faulty(present[dates.isna()], name, "dates", readings)
    return "date"


def _is_measured_or_unknown(present: pd.Series, good: pd.Series) -> bool:
    """Whether most are numbers, many different ones, and the others a few words: unknown, not measured."""
    if good.mean() <= 0.5 or present[good].nunique() <= _FEW:
        return False
    words = {str(word) for word in present[~good]}
    return len(words) <= _WORDS_FOR_MISSING and not any(re.search(r"\d", word) for word in words)


def _note_faulty(faults: pd.Series, name: str, what: str, readings: _Readings) -> None:
    words = f"{{columns}} {{are}} text but mostly {what}; {{others}} taken as missing"
    readings.setdefault((words, ""), []).append((name, str(faults.iloc[0]), len(faults)))


def _other_kind(name: str, learned: str, others: pd.Series) -> DataError:
    """What is said of new rows whose column holds something else than was learned from."""
    return DataError(
        f"column {name!r} held {learned}s when the encoder was fitted but now holds values such as "
        f"{str(others.iloc[0])!r}: write {learned}s there, and nothing where they are unknown, or fit anew"
    )


def _check_lost(values: pd.Series, is_missing: np.ndarray, name: str, kind: str, writing: str) -> None:
    """Refuse values none of which is of the kind, and warn where some of a known writing are not."""
    lost = values[values.notna().to_numpy() & is_missing]
    if len(lost) and is_missing.all():
        raise _other_kind(name, kind, lost)
    if len(lost) and writing:
        told = f"column {name!r} holds {counted(len(lost), 'value')} that {are(len(lost))} no {kind}, such as"
        about = f"column {name!r} holds no {kind}"  # large data are read in many blocks
        warn(f"{told} {str(lost.iloc[0])!r}: taken as missing", about=about)


def note_sentences(name: str, learned: bool | None) -> None:
    """Tell what becomes of a column of sentences; learned: None where no labels said whether they help."""
    column = shlex.quote(name)
    if learned is None:
        told = f"of which only letters are learned: it may cost more than it tells (--without {column})"
    elif learned:
        told = "of which the letters are learned, not what they mean"
    else:
        told = "whose letters tell no more of the labels than the other columns do: it is left out"
    warn(
        f"column {name!r} holds sentences, {told}; --text {column} (in Python: embed_text) learns what they "
        "mean, and no other column"
    )


def note_infinite(values: np.ndarray, names: Sequence[object], taken: str) -> None:
    """Warn of infinite values in numbers (N, M), whose columns have names; taken: as what, and what else."""
    low, high = (each.reduce(values, axis=0, initial=0.0) for each in (np.fmin, np.fmax))
    columns = np.flatnonzero(np.isinf(low) | np.isinf(high))
    if len(columns):
        count = int(np.isinf(values[:, columns]).sum())
        where = first_few([repr(names[column]) for column in columns.tolist()], 5)
        told = f"{counted(count, 'infinite value')} in column{'s' * (len(columns) > 1)} {where}"
        # of a large set it is a part of the rows
        warn(f"{told} among {counted(len(values), 'row')}: {taken}")


def _word(value: Any) -> str | None:
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else str(int(value)) if float(value).is_integer() else str(value)
    text = str(value).strip().casefold()
    # halves of characters, which stand for bytes that were no text, cannot be hashed
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _number_or_text(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal | np.number) else value
