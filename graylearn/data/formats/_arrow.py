"""What formats that hold Arrow tables share: what is read of them, and the same schema with fewer rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
from numpy.typing import NDArray

from graylearn.data.formats._base import Origin, moved_path
from graylearn.data.tables import bytes_of
from graylearn.errors import DataError
from graylearn.paths import Limit

ROWS, BYTES = 20_000, 16 << 20
"""Rows and about bytes of one block at most."""
_FILE, _OLD_FILE = b"ARROW1", b"FEA1"
"""How files begin, those of today and of the first version; a stream has nothing around its batches."""
_REPEATS = re.compile("list_view|string_view|binary_view|run_end_encoded")
"""In the names of types whose values may stand in the file once for many rows."""


def slices_of(table: pa.Table, columns: Sequence[str] | None) -> Iterator[pa.Table]:
    """A table that is held whole, a block at a time."""
    chosen = table if columns is None else table.select(list(columns))
    for start in range(0, max(len(table), 1), ROWS):
        yield chosen.slice(start, ROWS)


def is_stream(raw: bytes) -> bool:
    """Whether these are Arrow's batches alone, without what a file has around them."""
    return not raw.startswith((_FILE, _OLD_FILE))


def read_ipc(raw: bytes, limit: Limit) -> pa.Table:
    """The table of a file or a stream, where it unpacks to no more than it may."""
    if raw.startswith(_OLD_FILE):
        return pa.feather.read_table(pa.BufferReader(raw))  # nothing in it is compressed
    open_ = pa.ipc.open_stream if is_stream(raw) else pa.ipc.open_file
    with open_(pa.BufferReader(raw)) as file:
        each = file if is_stream(raw) else map(file.get_batch, range(file.num_record_batches))
        batches = [_checked(batch, limit) for batch in each]
        return pa.Table.from_batches(batches, file.schema)


def _checked(batch: pa.RecordBatch, limit: Limit) -> pa.RecordBatch:
    batch.validate(full=True)  # damaged offsets would be followed out of the file's memory
    limit.take(bytes_of(batch))
    return batch


def check_repeated(table: pa.Table, limit: Limit) -> None:
    """Refuse columns that name one place in the file again and again if they take more than they may.

    Views of texts do, as Polars writes all its texts, and runs of a value. What nobody measures is refused.
    """
    for column, field in zip(table.columns, table.schema, strict=True):
        for values in (values for chunk in column.chunks for values in _innermost(chunk)):
            kind = values.type
            if _is_view(kind):
                limit.take(int(_lengths(values).sum()))
            elif pa.types.is_dictionary(kind) and _is_view(kind.value_type):
                limit.take(int(_lengths(values.dictionary)[values.indices.drop_null().to_numpy()].sum()))
            elif pa.types.is_run_end_encoded(kind) and pa.types.is_primitive(kind.value_type):
                limit.take(8 * len(values))
            elif _REPEATS.search(str(kind)):
                raise DataError(
                    f"column {field.name!r} is of type {field.type}, "
                    "which is not read: write it as plain lists"
                )


def _innermost(values: pa.Array) -> Iterator[pa.Array]:
    """What lists and records hold; the values themselves where they are neither."""
    kind = values.type
    if pa.types.is_struct(kind):
        for part in values.flatten():
            yield from _innermost(part)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _innermost(values.flatten())
    else:
        yield values


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _lengths(values: pa.Array) -> NDArray[np.int64]:
    """Of the texts that views show, each of which begins with its length; 0 of those that are missing."""
    views = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, 4)[values.offset :][: len(values), 0]
    return np.where(values.is_valid().to_numpy(zero_copy_only=False), views, 0).astype(np.int64)


def changed(
    table: pa.Table, path: Path, out: Path, origin: Origin, label_of: Sequence[int], kept: Sequence[int]
) -> pa.Table:
    """The rows that are `kept`, each with the label of the row in `label_of`, and image paths as `out` has to
    write them."""
    label = table.column_names.index(origin.columns.label)
    labels = picked(table.column(label), np.asarray(label_of, dtype=np.int64))
    return only(table.set_column(label, table.schema.field(label), labels), path, out, origin, kept)


def only(
    table: pa.Table, path: Path, out: Path, origin: Origin, kept: Sequence[int] | NDArray[np.int64]
) -> pa.Table:
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
