"""What Parquet and Feather have in common: a schema that stays, with fewer rows and other labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from graylearn.data.formats._base import Origin, moved_path, read_bytes, told_as
from graylearn.data.tables import RawTable, table_from_arrow
from graylearn.errors import DataError

NOTHING = pa.list_(pa.string())
"""The type of columns that are not read."""


def read_arrow(path: Path, kind: str, read: Callable[[bytes, Path], pa.Table]) -> RawTable:
    """The table of a file, which `read` takes from its decompressed bytes; the path tells their limit.

    It validates what it read: damaged offsets would be followed out of the file's memory.
    """
    raw = read_bytes(path)
    if not len(raw):
        raise DataError(f"{path} is empty")
    with told_as(f"{path} is damaged or not a {kind} file"):
        return table_from_arrow(read(raw, path), str(path))


def nothing(rows: int) -> pa.Array:
    """What stands for a column of which nothing can be learned, and which might fill the memory."""
    return pa.repeat(pa.scalar([""], NOTHING), rows)


def changed(
    table: pa.Table, path: Path, out: Path, origin: Origin, labels: pa.ChunkedArray, kept: Sequence[int]
) -> pa.Table:
    """The rows that are `kept`, with new `labels`, and image paths as `out` has to write them."""
    label = table.column_names.index(origin.columns.label)
    table = table.set_column(label, table.schema.field(label), labels)
    if origin.columns.path is not None:
        index = table.column_names.index(origin.columns.path)
        field = table.schema.field(index)
        moved = [moved_path(image, path, out) for image in table.column(index).to_pylist()]
        table = table.set_column(index, field, pa.array(moved, pa.string()).cast(field.type))
    return table.take(pa.array(kept, pa.int64()))
