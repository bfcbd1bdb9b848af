"""What Parquet and Feather have in common: a schema that stays, with fewer rows and other labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from graylearn.data.formats._base import Origin, moved_path

NOTHING = pa.list_(pa.string())
"""The type of columns that are not read."""


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
