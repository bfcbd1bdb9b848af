"""Which column of a table is the label, which names the rows or their groups, which holds texts or paths.

A column is guessed only where its name leaves no doubt; otherwise the error lists the columns to choose from.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from graylearn.data.cells import guessed_separator
from graylearn.data.images import IMAGE_SUFFIXES
from graylearn.data.tables import Column, Columns, RawTable, ReadOptions, is_text_type
from graylearn.errors import DataError, Hint, meant

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


def _guessed_path(table: RawTable, taken: tuple[Column, ...]) -> Column:
    """The column that holds paths of images: it is called so, and most of its values end so."""
    frame = table.frame
    named = [name for name in frame.columns if str(name).lower() in PATH_NAMES and name not in taken]
    if len(named) != 1:
        return None
    images = sum(isinstance(cell, str) and cell.lower().endswith(_ENDINGS) for cell in frame[named[0]])
    return named[0] if 2 * images > len(frame) else None


def _guessed_id(table: RawTable, taken: tuple[Column, ...]) -> Column:
    columns = table.frame.columns
    first = columns[0] if len(columns) else None
    # what pandas calls an index that it wrote without a name
    if first in ("", "Unnamed: 0") and first not in taken and table.frame[first].is_unique:
        return first
    named = [name for name in columns if str(name).lower() == "id" and name not in taken]
    return named[0] if len(named) == 1 else None


def _guessed_text(table: RawTable, rest: list[Column], label_is_among: bool) -> Column:
    """A text alone with its label is the sample; beside other features it is one column of a table."""
    named = [name for name in rest if str(name).lower() in TEXT_NAMES]
    if len(named) != 1 or len(rest) != 1 + label_is_among or not is_text_type(table.frame[named[0]].dtype):
        return None
    return named[0]


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
