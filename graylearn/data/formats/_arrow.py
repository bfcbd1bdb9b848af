"""What formats that hold Arrow tables share: blocks of them, and the same schema with fewer rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graylearn.data.formats._base import Change, Origin
from graylearn.data.formats._files import moved_path

ROWS, BYTES = 20_000, 16 << 20
"""Rows and about bytes of one block at most."""

Arrows = Callable[[Sequence[str] | None], Iterable[pa.Table]]
"""Gives the blocks of a table in order, of some columns or of all."""


def slices_of(table: pa.Table, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """A table that is held whole, a block at a time."""
    chosen = table if columns is None else table.select(list(columns))
    for start in range(0, max(len(table), 1), ROWS):
        yield chosen.slice(start, ROWS)


def rewritten(arrows: Arrows, path: Path, out: Path, origin: Origin, change: Change) -> Iterator[pa.Table]:
    """The rows that stay, a block at a time, with their new labels, and image paths as `out` has to write
    them."""
    label, images = origin.columns.label, origin.columns.path
    keep, label_of = np.asarray(change.keep), np.asarray(change.label_of, dtype=np.int64)
    bearers = np.unique(label_of[label_of != np.arange(len(label_of))])
    pool = _at(arrows([label]), bearers) if len(bearers) else []
    start = 0
    for table in arrows(None):
        own, end = np.arange(start, start + len(table)), start + len(table)
        if end > len(keep):
            change.check_count(path, end)
        index, of = table.column_names.index(label), label_of[start:end]
        field = table.schema.field(index)
        every = pa.chunked_array([*table[index].chunks, *pool], field.type).unify_dictionaries()
        at = np.where(of == own, own - start, len(table) + np.searchsorted(bearers, of))
        table = table.set_column(index, field, _picked(every, at))
        if images is not None:
            index = table.column_names.index(images)
            field = table.schema.field(index)
            moved = [moved_path(image, path, out) for image in table[index].to_pylist()]
            table = table.set_column(index, field, pa.array(moved, pa.string()).cast(field.type))
        rows = np.flatnonzero(keep[start:end])
        yield pa.table([_picked(column, rows) for column in table.columns], schema=table.schema)
        start = end
    change.check_count(path, start)


def _at(blocks: Iterable[pa.Table], rows: NDArray[np.int64]) -> list[pa.Array]:
    """The values of the one column of some blocks at some rows, which rise."""
    found: list[pa.Array] = []
    start = 0
    for block in blocks:
        inside = rows[(rows >= start) & (rows < start + len(block))] - start
        found += _picked(block.column(0), inside).chunks
        start += len(block)
    return found


def _picked(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.ChunkedArray:
    """The values in some rows of a column of any type."""
    try:
        return column.take(pa.array(rows))
    except pa.ArrowNotImplementedError:  # of views, as Polars writes texts, and of runs of a value
        values = column.combine_chunks()
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else []
        parts = [values.slice(int(run[0]), len(run)) for run in runs]
        return pa.chunked_array([pa.concat_arrays(parts)] if parts else [], column.type)
