"""From a table whose columns are known to `Samples`: labels, ids, groups, and features, texts or vectors."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from graylearn.data.groups import group_numbers
from graylearn.data.options import Column, Columns, ReadOptions
from graylearn.data.samples import Label, Samples, all_repeated, encode_labels
from graylearn.data.tables import RawTable, is_text_type, plain_ids
from graylearn.errors import DataError, Hint, are, first_few, warn


def samples_from_table(table: RawTable, columns: Columns, options: ReadOptions) -> Samples:
    """Samples of kind "table"; "text" with a text column; "array" where one column holds vectors."""
    if not len(table.frame):
        raise DataError(f"{table.name} has columns ({table.columns_text()}) but no rows")
    if columns.id is not None:
        table = replace(table, ids=_ids_from(table, columns.id), unit="id")
    elif len(twice := np.flatnonzero(pd.Index(table.ids).duplicated())):
        raise DataError(
            f"{table.name}: the index holds {str(table.ids[twice[0]])!r} more than once "
            f"(again at row {twice[0]}){all_repeated(pd.Index(table.ids))}; name an id column",
            Hint("id", False, "to count the rows instead"),
        )
    y, known = _labels(table, columns.label, options)
    groups = _groups(table, columns.group)
    if columns.text is not None:
        return Samples(_texts(table, columns.text), y, known, table.ids, "text", groups=groups)
    others = (columns.label, columns.id, columns.group)
    features = [name for name in table.frame.columns if name not in others]
    if not features:
        raise DataError(
            f"{table.name} has no column besides {table.columns_text()}; nothing is left to learn from"
        )
    if len(features) == 1:
        stacked = _stacked(table, features[0])
        if stacked is not None:
            return Samples(stacked, y, known, table.ids, "array", groups=groups)
    x = table.frame[features] if len(features) < table.frame.shape[1] else table.frame
    _check_plain(table, x)
    x = _with_missing(x, table.missing_words)
    # The row names live in `ids`; a plain index keeps later joins from aligning on them by accident.
    return Samples(x.reset_index(drop=True), y, known, table.ids, "table", groups=groups)


def with_labels(table: RawTable, columns: Columns, options: ReadOptions) -> np.ndarray:
    """(M,) the rows to read: all, or where that was asked for the labelled ones, some at least."""
    rows = rows_to_read(table, columns, options)
    if not len(rows) and len(table.frame):
        raise none_labelled(table, columns.label)
    return rows


def check_header(table: RawTable, column: Column) -> None:
    """Refuse rows that repeat the names of the columns, as files do that were joined with their headers."""
    names = list(table.frame.columns)
    if column is None or not is_text_type(table.frame[column].dtype):
        return
    rows = np.flatnonzero((table.frame[column] == column).to_numpy(dtype=bool, na_value=False))
    again = [row for row in rows if [str(cell).strip() for cell in table.frame.iloc[row]] == names]
    if again:
        where = f"{table.unit}{'s' * (len(again) > 1)} {first_few(table.ids[again], 5)}"
        raise DataError(
            f"{table.name}: the names of the columns stand again in {where}; remove what is there"
        )


def rows_to_read(table: RawTable, columns: Columns, options: ReadOptions) -> np.ndarray:
    """(M,) the same, also where there is none: a part of a table may have no label."""
    if options.missing_labels == "stop" or columns.label is None or not options.labelled:
        return np.arange(len(table.frame))
    labels: Any = table.frame[columns.label]
    return np.flatnonzero(~is_missing(labels))


def none_labelled(table: RawTable, column: Column) -> DataError:
    """What is said of a table without any label."""
    return DataError(
        f"{table.name}, column {str(column)!r}: every label is missing; fill them in",
        Hint("label", None, "to name the column that has them"),
    )


# What may be read as a number and lose nothing: of whole numbers all but 007 and times of day; of others, as
# ids what has no exponent and at most 15 digits, as labels also exponents, for 1e0 and 1.0 are one class.
WHOLE = r"^\s*[+-]?(0|[1-9][0-9]*)\s*$"
_ID_FRACTION = r"^\s*[+-]?(0|[1-9][0-9]{0,14})?([.,][0-9]*)?\s*$"
_LABEL_FRACTION = r"^\s*[+-]?((0|[1-9][0-9]{0,14})?([.,][0-9]*)?([eE][+-]?[0-9]+)?|[iI]nf.*)\s*$"


def _names(
    table: RawTable, column: Hashable, fraction: str, classes: Sequence[Label] | None = None
) -> pd.Series:
    """A column of ids or labels: as it was written, where the numbers that were read of it lost something.

    Labels are also as written where the known `classes` are text.
    """
    values = table.frame[column]
    if table.as_written is None or is_text_type(values.dtype) or pd.api.types.is_bool_dtype(values.dtype):
        return values
    text = table.as_written(str(column))
    are_text = bool(classes) and all(isinstance(label, str) for label in classes or ())
    if pd.api.types.is_numeric_dtype(values.dtype) and not are_text:
        is_float = pd.api.types.is_float_dtype(values.dtype)
        present = pc.filter(text, pa.array(values.notna()))
        fits = pc.match_substring_regex(present, fraction if is_float else WHOLE)
        may_differ = is_float and fraction == _LABEL_FRACTION and classes is None
        lost = pc.all(fits).as_py() is False or (may_differ and _has_two_spellings(table, column, present))
        if not lost:
            return values
    return pd.Series(text.to_pylist(), dtype=object).mask(values.isna().to_numpy(), None)


def _has_two_spellings(table: RawTable, column: Hashable, text: pa.ChunkedArray) -> bool:
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
            warn(
                f"{table.name}, column {str(column)!r}: labels {other} and {label} are the same number; "
                "all labels are kept as text, so that these are two classes"
            )
            return True
    return False


def _ids_from(table: RawTable, column: Hashable) -> np.ndarray:
    values = _names(table, column, _ID_FRACTION)
    missing = np.flatnonzero(values.isna())
    if len(missing):
        raise DataError(
            f"{table.name}, {table.where(missing[0])}: the id in column {str(column)!r} is missing; "
            "fill it in",
            Hint("id", False, "to count the rows instead"),
        )
    twice = np.flatnonzero(values.duplicated(keep=False))
    if len(twice):
        first = values.iloc[twice[0]]
        again = int(np.flatnonzero((values == first).to_numpy())[1])
        raise DataError(
            f"{table.name}: id {str(first)!r} in column {str(column)!r} stands at {table.where(twice[0])} "
            f"and again at {table.where(again)}{all_repeated(pd.Index(values))}; make ids unique",
            Hint("id", False, "to count the rows instead"),
        )
    return plain_ids(values.to_numpy())


def group_names(table: RawTable, column: Hashable) -> pd.Series:
    """What the group of each row is called; None or NaN where it is missing."""
    names = _names(table, column, _ID_FRACTION)
    if (nested := _first_nested(names)) is not None:
        raise DataError(
            f"{table.name}, column {str(column)!r}: holds {nested} values; a group is one name or number"
        )
    return names.mask(names.isin(list(table.missing_words)), None) if is_text_type(names.dtype) else names


def _groups(table: RawTable, column: Hashable | None) -> np.ndarray | None:
    """(N,) the number of each row's group; None where no column tells it."""
    return None if column is None else group_numbers(group_names(table, column), len(table.frame))


def _labels(
    table: RawTable, column: Hashable | None, options: ReadOptions
) -> tuple[np.ndarray, tuple[Label, ...]]:
    """(y, classes); -1 throughout and no classes where there are no labels."""
    if not options.labelled:
        if options.classes is not None:
            raise DataError(
                "classes are given but labelled=False says there are no labels; drop one of the two"
            )
        return np.full(len(table.frame), -1, dtype=np.int64), ()
    called = table.name if column is None else f"{table.name}, column {str(column)!r}"
    raw = options.labels
    if column is not None:
        raw = _names(table, column, _LABEL_FRACTION, options.classes)
    elif len(raw) != len(table.frame):
        raise DataError(f"{table.name} has {len(table.frame)} rows but {len(raw)} labels were given")
    if isinstance(raw, pd.Series):
        if (nested := _first_nested(raw)) is not None:
            raise DataError(f"{called}: holds {nested} values; a label is text, a number or a bool")
        rows = np.flatnonzero(is_missing(raw))
        if column is not None and 0 < len(rows) == len(raw):
            raise none_labelled(table, column)
        if len(rows):
            raise DataError(
                f"{called}: {len(rows)} of {len(raw)} labels {are(len(rows))} missing "
                f"({table.unit}{'s' * (len(rows) > 1)} {first_few(table.ids[rows], 5)}); "
                "fill them in",
                Hint("missing_labels", "skip", "to leave those rows out"),
            )
    try:
        return encode_labels(raw, options.classes)
    except DataError as error:
        raise DataError(f"{called}: {error}") from error


def is_missing(labels: pd.Series) -> np.ndarray:
    """(N,) where a label is missing, or text without a visible character."""
    if not is_text_type(labels.dtype) or _first_nested(labels) is not None:
        return labels.isna().to_numpy()
    blank = [label for label in labels.unique() if isinstance(label, str) and not label.strip()]
    return (labels.isna() | labels.isin(blank)).to_numpy()


def _texts(table: RawTable, column: Hashable) -> np.ndarray:
    """The texts as str; a missing one is the empty text, which a dirty data set may well hold."""
    values = table.frame[column]
    if not is_text_type(values.dtype):
        raise DataError(f"{table.name}: column {str(column)!r} holds {values.dtype}, not text")
    texts: np.ndarray = values.astype(object).where(values.notna(), "").to_numpy(dtype=object)
    for row, value in enumerate(texts):
        if not isinstance(value, str):
            raise DataError(
                f"{table.name}, {table.where(row)}: column {str(column)!r} holds "
                f"{type(value).__name__}, not text"
            )
    return texts


def _stacked(table: RawTable, column: Hashable) -> np.ndarray | None:
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
    for column in [name for name, kind in x.dtypes.items() if words and is_text_type(kind)]:
        values = x[column]
        if (missing := values.isin(list(words))).any():
            changed[column] = values.mask(missing, None)
    return x.assign(**{str(name): values for name, values in changed.items()}) if changed else x


def _check_plain(table: RawTable, x: pd.DataFrame) -> None:
    """Refuse features that are themselves lists or records, by their first values."""
    objects = [name for name, kind in x.dtypes.items() if pd.api.types.is_object_dtype(kind)]
    if nested := {name: kind for name in objects if (kind := _first_nested(x[name])) is not None}:
        named = first_few([f"{str(name)!r} ({kind})" for name, kind in nested.items()])
        raise DataError(
            f"{table.name}: features that are no number, text, bool or date: {named}; "
            "spread each over columns of its own",
            Hint("without", tuple(map(str, nested)), "to do without"),
        )


def _first_nested(values: pd.Series) -> str | None:
    """The type of the first value where that is a list, a record or bytes, which are no plain values."""
    if not pd.api.types.is_object_dtype(values.dtype):
        return None
    present = values.dropna()
    nested = len(present) and isinstance(present.iloc[0], dict | list | set | tuple | np.ndarray | bytes)
    return type(present.iloc[0]).__name__ if nested else None
