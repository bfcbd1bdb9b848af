"""What Parquet and Feather have in common: a schema that stays, with fewer rows and other labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graylearn.data.formats._base import Origin, moved_path

NOTHING = pa.list_(pa.string())
"""The type of columns that are not read."""


def nothing(rows: int) -> pa.Array:
    """What stands for a column of which nothing can be learned, and which might fill the memory."""
    return pa.repeat(pa.scalar([""], NOTHING), rows)


def changed(
    table: pa.Table, path: Path, out: Path, origin: Origin, label_of: Sequence[int], kept: Sequence[int]
) -> pa.Table:
    """The rows that are `kept`, each with the label of the row in `label_of`, and image paths as `out` has to
    write them."""
    label = table.column_names.index(origin.columns.label)
    labels = picked(table.column(label), np.asarray(label_of, dtype=np.int64))
    return only(table.set_column(label, table.schema.field(label), labels), path, out, origin, kept)


def only(table: pa.Table, path: Path, out: Path, origin: Origin, kept: Sequence[int]) -> pa.Table:
    """The rows that are `kept`, with image paths as `out` has to write them."""
    if origin.columns.path is not None:
        index = table.column_names.index(origin.columns.path)
        field = table.schema.field(index)
        moved = [moved_path(image, path, out) for image in table.column(index).to_pylist()]
        table = table.set_column(index, field, pa.array(moved, pa.string()).cast(field.type))
    rows = np.asarray(kept, dtype=np.int64)
    return pa.table([picked(column, rows) for column in table.columns], schema=table.schema)


def picked(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.ChunkedArray:
    """The values in some rows of a column of any type."""
    try:
        return column.take(pa.array(rows))
    except pa.ArrowNotImplementedError:  # of views, as Polars writes texts, and of runs of a value
        if not len(rows):
            return column.slice(0, 0)
        values = column.combine_chunks()
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        parts = [values.slice(int(run[0]), len(run)) for run in runs]
        return pa.chunked_array([pa.concat_arrays(parts)], column.type)
