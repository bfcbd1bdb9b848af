"""What formats that hold tables share: blocks of rows, the rows that stay, and copies of them.

Of databases, workbooks and datasets a copy is written as CSV or Parquet: formulas, triggers and other
tables would have to follow the rows that go.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from graylearn.data.formats._base import Change, Format, Origin, moved_path, suffix_of, write_bytes
from graylearn.data.tables import ArrowTable, ReadOptions
from graylearn.errors import DataError, Hint, told_as

ROWS, BYTES = 20_000, 16 << 20
"""Rows and about bytes of one block at most."""
COPIES = (".csv", ".parquet")
"""How names of copies end."""

Arrows = Callable[[Sequence[str] | None], Iterable[pa.Table]]
"""Gives the blocks of a table in order, of some columns or of all."""


class Copied(Format):
    """Several tables in one, of which `split` names one; of the rows that stay a copy is written."""

    compressed = False
    has_splits = True

    @abstractmethod
    def open(self, path: Path, options: ReadOptions) -> ArrowTable:
        """The rows of the table that is named, or of the only one."""

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> str:
        """A copy of the rows that stay."""
        arrows = self.open(path, ReadOptions(split=origin.split, labelled=False)).arrows
        return write_copy(arrows, path, out, origin, change)

    def endings(self, path: Path) -> tuple[str, ...]:
        """Those of copies."""
        return COPIES


def write_copy(arrows: Arrows, path: Path, out: Path, origin: Origin, change: Change) -> str:
    """Write the rows that stay as CSV or Parquet; gives the sentence that says so."""
    is_csv = suffix_of(out) == ".csv"
    written = pa.BufferOutputStream()
    mend = "; let the name end in .parquet" * is_csv
    with told_as(f"{suffix_of(out)} cannot hold the columns of {path}{mend}"):
        table = pa.concat_tables(rewritten(arrows, path, out, origin, change))
        (pa.csv.write_csv if is_csv else pa.parquet.write_table)(table, written)
    write_bytes(out, written.getvalue().to_pybytes())
    return f"{path.name} is not rewritten: of it the rows that stay are copied, and no more"


def in_memory(name: str, options: ReadOptions, table: pa.Table, numbers: Sequence[int]) -> ArrowTable:
    """A table that is held whole; numbers: (N,) what to call its rows."""
    if not len(table):
        raise DataError(f"{name} is empty")
    return ArrowTable(name, options, partial(slices_of, table), f"{name} cannot be read", numbers=numbers)


def slices_of(table: pa.Table, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """A table that is held whole, a block at a time."""
    chosen = table if columns is None else table.select(list(columns))
    for start in range(0, max(len(table), 1), ROWS):
        yield chosen.slice(start, ROWS)


def rewritten(arrows: Arrows, path: Path, out: Path, origin: Origin, change: Change) -> Iterator[pa.Table]:
    """The rows that stay, a block at a time, with their new labels, and image paths as `out` has to write
    them."""
    label, images = origin.columns.label, origin.columns.path
    given = pa.concat_tables(arrows([label])).column(0).unify_dictionaries()
    change.check_count(path, len(given))
    labels = _picked(given, np.asarray(change.label_of, dtype=np.int64))
    start = 0
    for table in arrows(None):
        index = table.column_names.index(label)
        table = table.set_column(index, table.schema.field(index), labels.slice(start, len(table)))
        if images is not None:
            index = table.column_names.index(images)
            field = table.schema.field(index)
            moved = [moved_path(image, path, out) for image in table[index].to_pylist()]
            table = table.set_column(index, field, pa.array(moved, pa.string()).cast(field.type))
        rows = np.flatnonzero(change.keep[start : start + len(table)])
        start += len(table)
        yield pa.table([_picked(column, rows) for column in table.columns], schema=table.schema)


def _picked(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.ChunkedArray:
    """The values in some rows of a column of any type."""
    try:
        return column.take(pa.array(rows))
    except pa.ArrowNotImplementedError:  # of views, as Polars writes texts, and of runs of a value
        values = column.combine_chunks()
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else []
        parts = [values.slice(int(run[0]), len(run)) for run in runs]
        return pa.chunked_array([pa.concat_arrays(parts)] if parts else [], column.type)


def of_cells(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> pa.Table:
    """A table of Python's values; a column that mixes types is text."""
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.Table.from_arrays(list(map(_column, columns)), names=list(names))


def _column(cells: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def chosen_part(path: Path | str, wanted: str | None, names: Sequence[str], what: str) -> str:
    """The table or sheet that `split` names, or the only one."""
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    told = ", ".join(names) if names else "none"
    asked = "" if wanted is None else f", not {wanted!r}"
    raise DataError(f"{path} holds the {what} {told}{asked};", Hint("split", None, "to choose one"))


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def check_not_empty(path: Path) -> None:
    """Refuse a file of no bytes, which is a database without tables to some."""
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty")
