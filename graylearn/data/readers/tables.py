"""From a table to `Samples`: which column is the label, which names the rows, which is text.

A column is guessed only where its name leaves no doubt; otherwise the error lists the columns to choose from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from graylearn.data.encoding.columns import DataWarning
from graylearn.data.samples import Label, Samples, encode_labels
from graylearn.errors import DataError

LABEL_NAMES = frozenset({"label", "labels", "target", "class", "y"})
"""Column names, in lower case, that mean the label where exactly one column bears one of them."""
TEXT_NAMES = frozenset({"text", "sentence", "document"})
"""Column names, in lower case, that mean the text where the table holds nothing else but labels and ids."""

ColumnName: TypeAlias = Any
"""A column's name, or its place counted from 0 (-1 is the last) where no column has that name."""


@dataclass(frozen=True)
class Table:
    """Rows as they were read, before anyone knows what the columns mean."""

    frame: pd.DataFrame
    """The rows, every column still among them."""
    name: str
    """What to call the table in an error: the file's path or the type of the object."""
    ids: np.ndarray
    """(N,) what to call each row, unless a column is chosen for that."""
    place: Literal["line", "row", "id"] = "row"
    """What an id is, for errors: a line of a file, a row, or what a column of ids says."""
    missing_words: frozenset[str] = frozenset()
    """What stands for a missing value where a feature is text; a file of text has no other way to say it."""
    as_written: Callable[[str], pa.ChunkedArray] | None = None
    """A column as text, where the table was read from text: numbers do not tell 007 from 7."""

    def columns_text(self, limit: int = 30) -> str:
        """The names of the columns, for an error message."""
        names = [str(name) for name in self.frame.columns[:limit]]
        more = self.frame.shape[1] - limit
        return ", ".join(names) + (f" and {more} more" if more > 0 else "")

    def where(self, row: int) -> str:
        """Where a row is to be found, for an error message."""
        return f"{self.place} {self.ids[row]}"


def table_from_arrow(arrow: pa.Table, name: str, place: Literal["line", "row"] = "row") -> Table:
    """An Arrow table as rows of plain numbers, text, bools and dates."""
    check_unique_names(arrow.column_names, name)
    for place_of, field in enumerate(arrow.schema):
        kind = field.type
        if pa.types.is_null(kind) or pa.types.is_decimal(kind):
            target = pa.float64()
        elif pa.types.is_time32(kind):
            target = pa.int32()  # the time of day as its number of seconds or milliseconds
        elif pa.types.is_time64(kind):
            target = pa.int64()
        else:
            continue
        arrow = arrow.set_column(place_of, field.name, arrow.column(place_of).cast(target))
    frame = arrow.to_pandas(date_as_object=False)
    return replace(table_from_pandas(frame, name), place=place)


def table_from_pandas(frame: pd.DataFrame, name: str) -> Table:
    """A pandas frame; its index names the rows."""
    check_unique_names(list(frame.columns), name)
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError(f"{name} has columns of {frame.columns.nlevels} levels; flatten them into one")
    index = frame.index
    if isinstance(index, pd.MultiIndex):
        ids = np.array(["/".join(map(str, parts)) for parts in index], dtype=object)
    else:
        ids = index.to_numpy()
    return Table(frame, name, _plain_ids(ids))


def check_unique_names(names: Sequence[Hashable], name: str) -> None:
    """Refuse two columns of one name: which one is meant could not be told."""
    seen: set[Hashable] = set()
    for column in names:
        if column in seen:
            raise DataError(f"{name} has two columns called {str(column)!r}; rename one of them")
        seen.add(column)


def samples_from_table(
    table: Table,
    *,
    label: Any = None,
    id: Any = None,
    text: ColumnName | None = None,
    labelled: bool = True,
    classes: Sequence[Label] | None = None,
) -> Samples:
    """Samples of kind "table"; "text" with a text column; "array" where one column holds vectors."""
    if not len(table.frame):
        raise DataError(f"{table.name} has columns ({table.columns_text()}) but no rows")
    label, raw = _split_labels(table, label)
    id_column = _id_column(table, id, label)
    if id_column is not None:
        table = replace(table, ids=_ids_from(table, id_column), place="id")
    rest: list[Hashable] = [name for name in table.frame.columns if name not in (label, id_column)]
    text_column = _text_column(table, text, rest, labelled and label is None and raw is None)
    if labelled and raw is None:
        label = label if label is not None else _label_column(table, rest, text_column)
    if labelled and label is not None:
        raw = _names(table, label, _LABEL_FRACTION, classes)
    features = [name for name in rest if name != label]
    y, known = _labels(table, raw, label, classes) if labelled else _no_labels(len(table.frame), classes)
    if text_column is not None:
        return Samples(_texts(table, text_column), y, known, _unique(table, id_column), "text")
    if not features:
        raise DataError(
            f"{table.name} has no column besides {table.columns_text()}; nothing is left to learn from"
        )
    if len(features) == 1:
        stacked = _stacked(table, features[0])
        if stacked is not None:
            return Samples(stacked, y, known, _unique(table, id_column), "array")
    x = table.frame[features] if len(features) < table.frame.shape[1] else table.frame
    _check_plain(table, x)
    x = _with_missing(x, table.missing_words)
    # The row names live in `ids`; a plain index keeps later joins from aligning on them by accident.
    return Samples(x.reset_index(drop=True), y, known, _unique(table, id_column), "table")


def find_column(table: Table, given: ColumnName, meaning: str) -> Hashable:
    """The name of the column that the user gave by name or by place."""
    columns = table.frame.columns
    if isinstance(given, Hashable) and given in columns:
        return given
    if isinstance(given, int) and not isinstance(given, bool) and -len(columns) <= given < len(columns):
        found: Hashable = columns[given]
        return found
    raise DataError(
        f"{table.name} has no column {given!r} to take the {meaning} from; "
        f"its columns are {table.columns_text()}"
    )


def _split_labels(table: Table, label: Any) -> tuple[Hashable | None, Any]:
    """(column name, None), (None, the labels themselves) or, where nothing was given, (None, None)."""
    if label is None:
        return None, None
    if isinstance(label, str | int):
        return find_column(table, label, "label"), None
    if hasattr(label, "__len__") and not isinstance(label, tuple):
        if len(label) != len(table.frame):
            raise DataError(f"{table.name} has {len(table.frame)} rows but {len(label)} labels were given")
        return None, label
    return find_column(table, label, "label"), None


def _id_column(table: Table, id: Any, label: Hashable | None) -> Hashable | None:
    if id is False:
        return None
    if id is not None:
        return find_column(table, id, "ids")
    columns = table.frame.columns
    # What pandas calls an index it wrote without a name.
    if len(columns) and columns[0] in ("", "Unnamed: 0") and table.frame[columns[0]].is_unique:
        first: Hashable = columns[0]
        return first
    named = [name for name in columns if str(name).lower() == "id" and name != label]
    return named[0] if len(named) == 1 else None


# What may be read as a number and lose nothing: of whole numbers all but 007 and times of day; of others, as
# ids what has no exponent and at most 15 digits, as labels also exponents, for 1e0 and 1.0 are one class.
_WHOLE = r"^\s*[+-]?(0|[1-9][0-9]*)\s*$"
_ID_FRACTION = r"^\s*[+-]?(0|[1-9][0-9]{0,14})?([.,][0-9]*)?\s*$"
_LABEL_FRACTION = r"^\s*[+-]?((0|[1-9][0-9]{0,14})?([.,][0-9]*)?([eE][+-]?[0-9]+)?|[iI]nf.*)\s*$"


def _names(
    table: Table, column: Hashable, fraction: str, classes: Sequence[Label] | None = None
) -> pd.Series:
    """A column of ids or labels: as it was written, where the numbers that were read of it lost something.

    Labels are also as written where the known `classes` are text.
    """
    values = table.frame[column]
    if table.as_written is None or _is_text_type(values.dtype) or pd.api.types.is_bool_dtype(values.dtype):
        return values
    text = table.as_written(str(column))
    are_text = bool(classes) and all(isinstance(label, str) for label in classes or ())
    if pd.api.types.is_numeric_dtype(values.dtype) and not are_text:
        is_float = pd.api.types.is_float_dtype(values.dtype)
        present = pc.filter(text, pa.array(values.notna()))
        fits = pc.match_substring_regex(present, fraction if is_float else _WHOLE)
        may_differ = is_float and fraction == _LABEL_FRACTION and classes is None
        lost = pc.all(fits).as_py() is False or (may_differ and _has_two_spellings(table, column, present))
        if not lost:
            return values
    return pd.Series(text.to_pylist(), dtype=object).mask(values.isna().to_numpy(), None)


def _has_two_spellings(table: Table, column: Hashable, text: pa.ChunkedArray) -> bool:
    """Whether labels such as 1.1 and 1.10, perhaps versions, are one number, which is told.

    1, 1.0 and 1e0 are one class however they are spelled: programs write whole numbers so.
    """
    seen: dict[str, str] = {}
    for label in pc.unique(pc.utf8_trim(text, characters=" \t+")).to_pylist():
        whole, _, rest = label.replace(",", ".").partition(".")
        if not rest.strip("0") or "e" in rest.lower():
            continue
        other = seen.setdefault(f"{whole}.{rest.rstrip('0')}", label)
        if other != label:
            warnings.warn(
                f"{table.name}, column {str(column)!r}: labels {other} and {label} are the same number; "
                "all labels are kept as text, so that these are two classes",
                DataWarning,
                stacklevel=4,
            )
            return True
    return False


def _ids_from(table: Table, column: Hashable) -> np.ndarray:
    values = _names(table, column, _ID_FRACTION)
    missing = np.flatnonzero(values.isna())
    if len(missing):
        raise DataError(
            f"{table.name}, {table.where(missing[0])}: the id in column {str(column)!r} is missing; "
            "fill it in, or pass id=False to count the rows instead"
        )
    twice = np.flatnonzero(values.duplicated(keep=False))
    if len(twice):
        first = values.iloc[twice[0]]
        again = int(np.flatnonzero((values == first).to_numpy())[1])
        raise DataError(
            f"{table.name}: id {str(first)!r} in column {str(column)!r} stands at {table.where(twice[0])} "
            f"and again at {table.where(again)}; make ids unique, or pass id=False to count the rows instead"
        )
    return _plain_ids(values.to_numpy())


def _plain_ids(ids: np.ndarray) -> np.ndarray:
    """Ids as whole numbers or text, which is all that a report can show and read back."""
    if ids.dtype.kind in "iu":
        return ids
    if (
        ids.dtype.kind == "f"
        and np.isfinite(ids).all()
        and (ids == np.floor(ids)).all()
        and (abs(ids) < 2**53).all()
    ):
        return ids.astype(np.int64)
    if all(isinstance(value, int | np.integer) and not isinstance(value, bool) for value in ids):
        return np.array([int(value) for value in ids], dtype=np.int64)
    return np.array([str(value) for value in ids], dtype=object)


def _unique(table: Table, id_column: Hashable | None) -> np.ndarray:
    """The ids, once no two are the same; ids from a column were checked when they were taken."""
    if id_column is None and len(twice := np.flatnonzero(pd.Index(table.ids).duplicated())):
        raise DataError(
            f"{table.name}: the index holds {str(table.ids[twice[0]])!r} more than once "
            f"(again at row {twice[0]}); call reset_index(drop=True), or name an id column"
        )
    return table.ids


def _text_column(
    table: Table, text: ColumnName | None, rest: list[Hashable], label_unknown: bool
) -> Hashable | None:
    if text is not None:
        return find_column(table, text, "text")
    named = [name for name in rest if str(name).lower() in TEXT_NAMES]
    # A text beside other features is one column of a table; alone with its label it is the sample.
    if (
        len(named) == 1
        and len(rest) == (2 if label_unknown else 1)
        and _is_text_type(table.frame[named[0]].dtype)
    ):
        return named[0]
    return None


def _label_column(table: Table, rest: list[Hashable], text_column: Hashable | None) -> Hashable:
    others = [name for name in rest if name != text_column]
    if text_column is not None and len(others) == 1:
        return others[0]
    named = [name for name in others if str(name).lower() in LABEL_NAMES]
    if len(named) == 1:
        return named[0]
    doubt = (
        f"both {named[0]} and {named[1]} could be the label" if named else "no column is plainly the label"
    )
    raise DataError(
        f"{table.name}: {doubt}; name it with label=, one of: {table.columns_text()} "
        "(or pass labelled=False for data without labels)"
    )


def _labels(
    table: Table, raw: Any, column: Hashable | None, classes: Sequence[Label] | None
) -> tuple[np.ndarray, tuple[Label, ...]]:
    called = table.name if column is None else f"{table.name}, column {str(column)!r}"
    if isinstance(raw, pd.Series):
        if (nested := _first_nested(raw)) is not None:
            raise DataError(f"{called}: holds {nested} values; a label is text, a number or a bool")
        blank = [value for value in raw.unique() if isinstance(value, str) and not value.strip()]
        missing = raw.isna() | raw.isin(blank)
        rows = np.flatnonzero(missing)
        if len(rows):
            shown = ", ".join(str(table.ids[row]) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
            raise DataError(
                f"{called}: {len(rows)} of {len(raw)} labels are missing ({table.place}s {shown}); "
                "fill them in or leave those rows out"
            )
    try:
        return encode_labels(raw, classes)
    except DataError as error:
        raise DataError(f"{called}: {error}") from error


def _no_labels(n: int, classes: Sequence[Label] | None) -> tuple[np.ndarray, tuple[Label, ...]]:
    if classes is not None:
        raise DataError("classes are given but labelled=False says there are no labels; drop one of the two")
    return np.full(n, -1, dtype=np.int64), ()


def _texts(table: Table, column: Hashable) -> np.ndarray:
    """The texts as str; a missing one is the empty text, which a dirty data set may well hold."""
    values = table.frame[column]
    if not _is_text_type(values.dtype):
        raise DataError(f"{table.name}: column {str(column)!r} holds {values.dtype}, not text")
    texts: np.ndarray = values.astype(object).where(values.notna(), "").to_numpy(dtype=object)
    for row, value in enumerate(texts):
        if not isinstance(value, str):
            raise DataError(
                f"{table.name}, {table.where(row)}: column {str(column)!r} holds "
                f"{type(value).__name__}, not text"
            )
    return texts


def _is_text_type(kind: Any) -> bool:
    if isinstance(kind, pd.CategoricalDtype):
        kind = kind.categories.dtype
    return bool(pd.api.types.is_object_dtype(kind) or pd.api.types.is_string_dtype(kind))


def _stacked(table: Table, column: Hashable) -> np.ndarray | None:
    """A column of equally long vectors as one array, or None where it is an ordinary column."""
    values = table.frame[column]
    if values.dtype != object or not isinstance(values.iloc[0], np.ndarray | list):
        return None
    try:
        stacked = np.stack(
            [np.stack(list(value)) if _is_nested(value) else np.asarray(value) for value in values]
        )
    except (ValueError, TypeError) as error:
        raise DataError(f"{table.name}: column {str(column)!r} holds vectors of different shapes") from error
    if stacked.dtype.kind not in "biuf":
        raise DataError(f"{table.name}: column {str(column)!r} holds vectors that are not of numbers")
    return stacked


def _is_nested(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object


def _with_missing(x: pd.DataFrame, words: frozenset[str]) -> pd.DataFrame:
    """Text features with None where one of the words stood."""
    changed = {}
    # By type first: fetching each of 10,000 columns of numbers takes a second.
    for column in [name for name, kind in x.dtypes.items() if words and _is_text_type(kind)]:
        values = x[column]
        if (missing := values.isin(list(words))).any():
            changed[column] = values.mask(missing, None)
    return x.assign(**{str(name): values for name, values in changed.items()}) if changed else x


def _check_plain(table: Table, x: pd.DataFrame) -> None:
    """Refuse features that are themselves lists or records, by their first value."""
    for column in [name for name, kind in x.dtypes.items() if pd.api.types.is_object_dtype(kind)]:
        if (nested := _first_nested(x[column])) is not None:
            raise DataError(
                f"{table.name}: column {str(column)!r} holds {nested} values; "
                "a feature is a number, text, bool or date: spread it over columns of its own or drop it"
            )


def _first_nested(values: pd.Series) -> str | None:
    """The type of the first value where that is a list, a record or bytes, which are no plain values."""
    if not pd.api.types.is_object_dtype(values.dtype):
        return None
    present = values.dropna()
    nested = len(present) and isinstance(present.iloc[0], dict | list | set | tuple | np.ndarray | bytes)
    return type(present.iloc[0]).__name__ if nested else None
