"""What is read and never rewritten: tables of databases, sheets of workbooks, splits of datasets.

Formulas, triggers, indices and other tables would have to follow the rows that go. Of the rows that stay, a
copy is written as CSV or Parquet.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from graylearn.data.formats._arrow import rewritten, slices_of
from graylearn.data.formats._base import Change, Format, Origin
from graylearn.data.formats._files import suffix_of, write_bytes
from graylearn.data.options import ReadOptions
from graylearn.data.tables import ArrowTable, Table
from graylearn.errors import DataError, Hint, told_as

COPIES = (".csv", ".parquet")
"""How names of copies end."""


class Rows(NamedTuple):
    """All rows of one of its tables, N."""

    name: str
    """What to call the table in an error."""
    table: pa.Table
    numbers: Sequence[int]
    """(N,) what to call them."""


class ReadOnly(Format):
    """Several tables in one; `split` names one. Ids are the numbers of rows."""

    compressed = False
    has_splits = True

    @abstractmethod
    def rows(self, path: Path, split: str | None) -> Rows:
        """The rows of the table that `split` names, or of the only one."""

    def open(self, path: Path, options: ReadOptions) -> Table:
        """The same as a table."""
        found = self.rows(path, options.split)
        if not len(found.table):
            raise DataError(f"{found.name} is empty")
        blocks, damaged = partial(slices_of, found.table), f"{found.name} cannot be read"
        return ArrowTable(found.name, options, blocks, damaged, numbers=found.numbers)

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> str:
        """A copy of the rows that stay."""
        found = self.rows(path, origin.split)
        return write_copy(found.table, path, out, origin, change)

    def endings(self, path: Path) -> tuple[str, ...]:
        """Those of copies."""
        return COPIES


def write_copy(table: pa.Table, path: Path, out: Path, origin: Origin, change: Change) -> str:
    """Write the rows that stay as CSV or Parquet; gives the sentence that says so."""
    is_csv = suffix_of(out) == ".csv"
    written = pa.BufferOutputStream()
    mend = "; let the name end in .parquet" * is_csv
    with told_as(f"{suffix_of(out)} cannot hold the columns of {path}{mend}"):
        table = pa.concat_tables(rewritten(partial(slices_of, table), path, out, origin, change))
        (pa.csv.write_csv if is_csv else pa.parquet.write_table)(table, written)
    write_bytes(out, written.getvalue().to_pybytes())
    return f"{path.name} is not rewritten: of it the rows that stay are copied, and no more"


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
