"""From a table to `Samples`: which column means what; labels, ids, groups, and features, texts or images.

A column is guessed only where its name leaves no doubt; otherwise the error lists the columns to choose from.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Hashable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.data.cells import guessed_separator
from graylearn.data.images import (
    CHANNELS,
    IMAGE_SUFFIXES,
    NoImagesError,
    UnreadableImageError,
    cache_images,
    decode_image,
    readable,
)
from graylearn.data.samples import Kind, Label, Samples, encode_labels, numbered
from graylearn.data.splits import group_numbers
from graylearn.data.tables import Column, Columns, RawTable, ReadOptions, is_text_type, plain_ids
from graylearn.errors import DataError, Hint, are, counted, first_few, meant, warn

LABEL_NAMES = frozenset({"label", "labels", "target", "class", "y"})
"""Column names, in lower case, that mean the label where exactly one column bears one of them."""
TEXT_NAMES = frozenset({"text", "sentence", "document"})
"""Column names, in lower case, that mean the text where the table holds nothing else but labels and ids."""
PATH_NAMES = frozenset(
    {"path", "file", "filename", "file_name", "filepath", "file_path", "image", "image_path"}
)
"""Column names, in lower case, that mean the path of an image where most values end like one."""
_ENDINGS = tuple(IMAGE_SUFFIXES)


def without_columns(table: RawTable, names: Any, why: str = "to leave out") -> RawTable:
    """The table less some columns; `why` says in the error what for."""
    dropped = [_find(table, name, why) for given in names for name in _separated(table, given)]
    return replace(table, frame=table.frame.drop(columns=dropped)) if dropped else table


def _separated(table: RawTable, given: Column) -> list[Column]:
    """Columns that were given as one text, with commas between, where no column is called that."""
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else []
    columns = table.frame.columns
    return names if given not in columns and all(name in columns for name in names) and names else [given]


def find_columns(table: RawTable, options: ReadOptions) -> Columns:
    """Which column means what: as the options say, or as the names leave no doubt."""
    if options.columns is not None:
        return _columns_again(table, options.columns, options)
    label = None if options.labels is not None else options.label
    if not options.labelled and label not in table.frame.columns and not isinstance(label, int):
        label = None  # new data need not have the column that a model learned to predict
    if options.labels is None and options.labelled:
        _check_separator(table)
    if isinstance(label, str) and len(several := _separated(table, label)) > 1:
        given = " ".join(f"--annotators {shlex.quote(str(name))}" for name in several)
        raise DataError(
            f"{table.name} has no column {label!r} to take the label from, but one of each of these names: "
            f"labels of several people are to be brought together (on the command line with {given})"
        )
    label = _find(table, label, "to take the label from")
    text = _find(table, options.text, "to take the texts from")
    path = _find(table, options.path, "to take the image paths from")
    group = _find(table, options.group, "to take the groups from")
    if path is None and text is None:
        path = _guessed_path(table, (label, group))
    if options.id is None:
        name = _guessed_id(table, (label, group))
    else:
        name = None if options.id is False else _find(table, options.id, "to take the ids from")
    wanted = options.labelled and label is None and options.labels is None
    rest = [column for column in table.frame.columns if column not in (label, name, path, group)]
    if text is None and path is None:
        text = _guessed_text(table, rest, wanted)
    if wanted:
        label = _guessed_label(
            table, [column for column in rest if column != text], text is not None or path is not None
        )
    found = Columns(label, name, text, path, group)
    _check_apart(table, found)
    return found


def _check_apart(table: RawTable, found: Columns) -> None:
    """Refuse a label or a group that is something else as well."""
    for role in ("label", "group"):
        for other, column in vars(found).items():
            if other != role and column is not None and column == getattr(found, role):
                both = f"column {str(column)!r} is to be both the {role} and the {other}"
                raise DataError(f"{table.name}: {both}; name two columns")


def _columns_again(table: RawTable, before: Columns, options: ReadOptions) -> Columns:
    """The columns of data that were read before, in more of their kind, which need have no ids or groups, nor
    labels where none are asked for."""
    there = set(table.frame.columns)
    return Columns(
        _find(table, before.label, "to take the label from")
        if options.labelled or before.label in there
        else None,
        before.id if before.id in there and options.id is not False else None,
        _find(table, before.text, "to take the texts from"),
        _find(table, before.path, "to take the image paths from"),
        before.group if before.group in there else None,
    )


def _check_separator(table: RawTable) -> None:
    """Raise where all columns stand in one: the ending promised another separator, or blanks part them."""
    only = str(table.frame.columns[0]) if len(table.frame.columns) == 1 else ""
    told = f"{table.name} has one column, {only!r}: its cells seem to be separated by"
    mark = guessed_separator(only)
    if mark in only:
        raise DataError(f"{told} {mark!r};", Hint("separator", mark))
    words = len(only.split())
    rows = [str(row) for row in table.frame.iloc[:20, 0]] if words > 2 else []
    if len(rows) > 1 and all(len(row.split()) == words for row in rows):
        if all(row.count(" ") == words - 1 for row in (only, *rows)):
            raise DataError(f"{told} ' ';", Hint("separator", " "))
        mend = r"write it with commas, as pandas.read_csv(path, sep=r'\s+').to_csv(new, index=False) does"
        raise DataError(f"{told} blanks; {mend}")


def _find(table: RawTable, given: Column, purpose: str) -> Column:
    """The name of the column that was given by name, or by index where no column has that name."""
    columns = table.frame.columns
    if given is None or (isinstance(given, Hashable) and given in columns):
        return given
    number = int(given) if isinstance(given, str) and re.fullmatch(r"-?\d+", given) else given
    if isinstance(number, int) and not isinstance(number, bool) and -len(columns) <= number < len(columns):
        return columns[number]
    close = meant(str(given), map(str, columns))
    known = f": did you mean {close!r}?" if close is not None else f"; its columns are {table.columns_text()}"
    raise DataError(f"{table.name} has no column {given!r} {purpose}{known}")


def _only_one_called(names: Collection[str], columns: Iterable[Column]) -> Column:
    """The one of the columns that bears one of the names, in lower case; None where none or several do."""
    named = [column for column in columns if str(column).lower() in names]
    return named[0] if len(named) == 1 else None


def _guessed_path(table: RawTable, taken: tuple[Column, ...]) -> Column:
    """The column that holds paths of images: it is called so, and most of its values end so."""
    frame = table.frame
    named = _only_one_called(PATH_NAMES, [name for name in frame.columns if name not in taken])
    if named is None:
        return None
    images = sum(isinstance(cell, str) and cell.lower().endswith(_ENDINGS) for cell in frame[named])
    return named if 2 * images > len(frame) else None


def _guessed_id(table: RawTable, taken: tuple[Column, ...]) -> Column:
    columns = table.frame.columns
    first = columns[0] if len(columns) else None
    # what pandas calls an index that it wrote without a name
    if first in ("", "Unnamed: 0") and first not in taken and table.frame[first].is_unique:
        return first
    return _only_one_called({"id"}, [name for name in columns if name not in taken])


def _guessed_text(table: RawTable, rest: list[Column], label_is_among: bool) -> Column:
    """A text alone with its label is the sample; beside other features it is one column of a table."""
    named = _only_one_called(TEXT_NAMES, rest)
    is_alone = named is not None and len(rest) == 1 + label_is_among
    return named if is_alone and is_text_type(table.frame[named].dtype) else None


def _guessed_label(table: RawTable, rest: list[Column], all_else_is_known: bool) -> Column:
    if all_else_is_known and len(rest) == 1:
        return rest[0]
    named = [name for name in rest if str(name).lower() in LABEL_NAMES]
    if len(named) == 1:
        return named[0]
    if not rest:
        there = table.columns_text() and f", only {table.columns_text()}"
        raise DataError(f"{table.name} has no column that could be the label{there or ', nor any other'}")
    doubt = f"both {named[0]!r} and {named[1]!r} could be" if named else "no column is plainly"
    likely = _likely_labels(table, rest, named)
    if len(likely) == 1:
        ((name, values),) = likely.items()
        hint = Hint("label", name, f"if it is that column ({values})")
    else:
        shown = [f"{name} ({values})" for name, values in likely.items()] or list(map(str, rest[:20]))
        hint = Hint("label", None, f"with one of: {', '.join(shown)}")
    raise DataError(f"{table.name}: {doubt} the label;", hint)


def _likely_labels(table: RawTable, columns: list[Column], named: list[Column]) -> dict[Column, str]:
    """Columns that repeat few values, or those that are named like labels, and how many each has, the fewest
    first."""
    texts = {name: table.frame[name].dropna().astype(str) for name in named or columns}
    distinct = {name: len(set(each.str.strip()) - {""}) for name, each in texts.items()}
    most = max(2, min(200, len(table.frame) // 3))
    likely = named or [name for name in distinct if 2 <= distinct[name] <= most]
    ordered = sorted(likely, key=distinct.__getitem__)[:10]
    return {name: f"{distinct[name]} different values" for name in ordered}


def of_table(
    table: RawTable, root: Path, options: ReadOptions, *, whole: bool = True
) -> tuple[Samples, Columns, np.ndarray]:
    """(samples, what the columns mean, the rows that became samples); root: where paths of images begin.

    Rows without a label are left out, with a warning if this is the `whole` table.
    """
    if options.id is False and not pd.Index(table.ids).is_unique:
        table = replace(table, ids=np.arange(len(table.frame)))  # an index that repeats names no row
    table = without_columns(table, options.without)
    columns = columns_of(table, options)
    check_header(table, columns.label)
    rows = rows_to_read(table, columns, options)
    if len(rows) < len(table.frame):
        if whole:
            left_out = np.setdiff1d(np.arange(len(table.frame)), rows)
            where = table.where(left_out)
            tell_unlabelled(table.name, columns.label, options, len(left_out), len(table.frame), where)
        table = table.take(rows)
    if table.images is None and columns.path is not None:
        there = _with_path(table, columns.path)
        table, rows = table.take(there), rows[there]
    if not len(table.frame):
        raise DataError(f"{table.name} has columns ({table.columns_text()}) but no rows")
    table = _with_ids(table, columns.id)
    y, known = _labels(table, columns.label, options)
    groups = None
    if columns.group is not None:
        groups = group_numbers(group_names(table, columns.group), len(table.frame), table.ids)
    x, kind, kept = _contents(table, columns, root, options)
    ids = table.ids
    if columns.path is not None and columns.id is None:
        ids = np.array([str(path) for path in table.frame[columns.path]], dtype=object)
    y, ids, groups = y[kept], ids[kept], None if groups is None else groups[kept]
    return Samples(x, y, known, ids, kind, groups=groups), columns, rows[kept]


def columns_of(table: RawTable, options: ReadOptions) -> Columns:
    """Which column of the table means what."""
    if table.images is None:
        return find_columns(table, options)
    # A text in place of the images: what remains holds the labels and the ids.
    others = replace(table, frame=table.frame.assign(**{table.images: ""}))
    return replace(find_columns(others, replace(options, text=table.images, path=None)), text=None)


def _contents(
    table: RawTable, columns: Columns, root: Path, options: ReadOptions
) -> tuple[Any, Kind, NDArray[np.int64] | slice]:
    """(x, what it is, which of the rows it is made of): vectors where one column holds them.

    Columns besides the image or the text, label, id and group are passed over.
    """
    if table.images is not None:
        pixels, kept = _decoded(list(table.frame[table.images]), table.name, options.size)
        return pixels, "image", kept
    if columns.path is not None:
        files = [root / str(path) for path in table.frame[columns.path]]
        if not any(file.exists() for file in files):
            raise NoImagesError(
                f"{table.name}: none of the images in column {str(columns.path)!r} is there; paths begin at "
                f"the folder of the table, so that the first is {files[0]}"
            )
        pixels, kept = cache_images(files, size=options.size, folder=options.cache, workers=options.workers)
        return pixels, "image", kept
    if columns.text is not None:
        return _texts(table, columns.text), "text", slice(None)
    others = (columns.label, columns.id, columns.group)
    features = [name for name in table.frame.columns if name not in others]
    if not features:
        raise DataError(f"{table.name} has only {table.columns_text()}; nothing is left to learn from")
    if len(features) == 1 and (stacked := _stacked(table, features[0])) is not None:
        return stacked, "array", slice(None)
    x = table.frame[features] if len(features) < table.frame.shape[1] else table.frame
    _check_plain(table, x)
    # The row names live in `ids`; a plain index keeps later joins from aligning on them by accident.
    return _with_missing(x, table.missing_words).reset_index(drop=True), "table", slice(None)


def _with_path(table: RawTable, column: Hashable) -> np.ndarray:
    """(M,) the rows that have a path, with a warning of others."""
    paths = table.frame[column]
    is_missing = (paths.isna() | (paths == "")).to_numpy(dtype=bool)
    if count := int(is_missing.sum()):
        told = f"{table.name}: {counted(count, 'path')} in column {str(column)!r} {are(count)} missing"
        told += f" ({table.where(is_missing)})"
        if count == len(paths):
            raise DataError(f"{told}; fill them in")
        warn(f"{told}: left out")
    return np.flatnonzero(~is_missing)


def _decoded(records: list[Any], name: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(pixels, which of the records they are) of images as Hugging Face keeps them: bytes or a path."""
    pixels, failed = [], {}
    for row, record in enumerate(records):
        try:
            data = record["bytes"] if record["bytes"] is not None else Path(record["path"]).read_bytes()
            pixels.append(np.frombuffer(decode_image(data, size), np.uint8))
        except (UnreadableImageError, OSError, TypeError) as error:
            failed[row] = f"row {row} ({error})"
    kept = readable(failed, len(records), f" of {name}")
    return np.stack(pixels).reshape(-1, size, size, CHANNELS), kept


def check_header(table: RawTable, column: Column) -> None:
    """Refuse rows that repeat the names of the columns, as files do that were joined with their headers."""
    names = list(table.frame.columns)
    if column is None or not is_text_type(table.frame[column].dtype):
        return
    rows = np.flatnonzero((table.frame[column] == column).to_numpy(dtype=bool, na_value=False))
    again = [row for row in rows if [str(cell).strip() for cell in table.frame.iloc[row]] == names]
    if again:
        told = f"the names of the columns stand again in {table.where(again)}; remove what is there"
        raise DataError(f"{table.name}: {told}")


def rows_to_read(table: RawTable, columns: Columns, options: ReadOptions) -> np.ndarray:
    """(M,) the rows to read: all, or those that have a label if labels are read, of a part perhaps none."""
    if columns.label is None or not options.labelled:
        return np.arange(len(table.frame))
    labels: Any = table.frame[columns.label]
    return np.flatnonzero(~is_missing(labels))


def none_labelled(name: str, column: Column) -> DataError:
    """What is said of a table without any label."""
    return DataError(
        f"{name}, column {str(column)!r}: every label is missing; fill them in",
        Hint("label", None, "to name the column that has them"),
    )


def tell_unlabelled(
    name: str, column: Column, options: ReadOptions, missing: int, rows: int, where: str = ""
) -> None:
    """Warn that `missing` of the `rows` of a table have no label and are left out.

    Refused if none has one, or if most have none in a column that nobody named: it may be another.
    """
    if missing == rows:
        raise none_labelled(name, column)
    told = f"{name}, column {str(column)!r}: {missing:,} of {rows:,} labels {are(missing)} missing"
    told += f" ({where})" if where else ""
    if options.label is None and 2 * missing > rows:
        raise DataError(f"{told}; fill them in", Hint("label", column, "to leave these rows out"))
    warn(f"{told}; {'this row is' if missing == 1 else 'these rows are'} left out, and stay in your file")


def _with_ids(table: RawTable, column: Hashable | None) -> RawTable:
    """The table with ids of a column; without one they stay, once no two are equal."""
    values, mend = pd.Series(table.ids), Hint("id", False, "to count the rows instead")
    if column is not None:
        values = table.frame[column]
        if len(missing := np.flatnonzero(values.isna())):
            told = f"the id in column {str(column)!r} is missing; fill it in"
            raise DataError(f"{table.name}, {table.where(missing[0])}: {told}", mend)
    if len(twice := np.flatnonzero(values.duplicated())):
        again, id_ = twice[0], str(values.iloc[twice[0]])
        if column is None:
            told = f"the index holds {id_!r} more than once (again at row {again}); name an id column"
            raise DataError(f"{table.name}: {told}", mend)
        first = np.flatnonzero((values == values.iloc[again]).to_numpy())[0]
        told = f"stands at {table.where(first)} and again at {table.where(again)}; make ids unique"
        raise DataError(f"{table.name}: id {id_!r} in column {str(column)!r} {told}", mend)
    return table if column is None else replace(table, ids=plain_ids(values.to_numpy()), unit="id")


def group_names(table: RawTable, column: Hashable) -> pd.Series:
    """What the group of each row is called; None or NaN where it is missing."""
    names = table.frame[column]
    if (nested := _first_nested(names)) is not None:
        raise DataError(f"{table.name}, column {str(column)!r}: holds {nested}; a group is a name or number")
    return names.mask(names.isin(list(table.missing_words)), None) if is_text_type(names.dtype) else names


def _labels(
    table: RawTable, column: Hashable | None, options: ReadOptions
) -> tuple[np.ndarray, tuple[Label, ...]]:
    """(y, classes); -1 throughout and no classes where there are no labels."""
    if not options.labelled:
        if options.classes is not None:
            raise DataError("classes are given, and labelled=False says there are no labels: drop one")
        return np.full(len(table.frame), -1, dtype=np.int64), ()
    called = table.name if column is None else f"{table.name}, column {str(column)!r}"
    raw = options.labels if column is None else table.frame[column]
    if len(raw) != len(table.frame):
        raise DataError(f"{table.name} has {len(table.frame)} rows but {len(raw)} labels were given")
    try:
        return encode_labels(raw, options.classes)
    except DataError as error:
        raise DataError(f"{called}: {error}") from error


def is_missing(labels: pd.Series) -> np.ndarray:
    """(N,) where a label is missing, or text without a visible character."""
    if not is_text_type(labels.dtype) or _first_nested(labels) is not None:
        return labels.isna().to_numpy()
    return numbered(labels)[0] < 0


def _texts(table: RawTable, column: Hashable) -> np.ndarray:
    """The texts as str; a missing one is the empty text, which a dirty data set may well hold."""
    values = table.frame[column]
    if not is_text_type(values.dtype):
        raise DataError(f"{table.name}: column {str(column)!r} holds {values.dtype}, not text")
    texts: np.ndarray = values.astype(object).where(values.notna(), "").to_numpy(dtype=object)
    for row, value in enumerate(texts):
        if not isinstance(value, str):
            told = f"column {str(column)!r} holds {type(value).__name__}, not text"
            raise DataError(f"{table.name}, {table.where(row)}: {told}")
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
    """What the first value is where that is a list, a record or bytes, which are no plain values."""
    if not pd.api.types.is_object_dtype(values.dtype):
        return None
    present = values.dropna()
    first = present.iloc[0] if len(present) else None
    if isinstance(first, dict | bytes):
        return "bytes" if isinstance(first, bytes) else "records"
    return "lists" if isinstance(first, list | set | tuple | np.ndarray) else None
