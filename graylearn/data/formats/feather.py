"""Feather, the file format of Arrow, and Arrow's streams."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.feather

from graylearn.data.formats._arrow import changed, check_repeated, is_stream, read_ipc, slices_of
from graylearn.data.formats._base import Change, Format, Origin, read_bytes, write_bytes
from graylearn.data.options import ReadOptions
from graylearn.data.tables import ArrowTable, Table
from graylearn.errors import DataError, told_as
from graylearn.paths import Limit


class Feather(Format):
    """A table; ids are row numbers or the index that pandas kept."""

    name = "feather"
    suffixes = (".feather", ".arrow", ".ipc")

    def open(self, path: Path, options: ReadOptions) -> Table:
        """The rows."""
        raw, limit, damaged = read_bytes(path), Limit(path), f"{path} is damaged or not a Feather file"
        if not raw:
            raise DataError(f"{path} is empty")
        with told_as(damaged):
            table = read_ipc(raw, limit)
            check_repeated(table, limit)
        return ArrowTable(str(path), options, partial(slices_of, table), damaged, has_index=True)

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same schema, with fewer rows and other labels."""
        raw, written = read_bytes(path), pa.BufferOutputStream()
        table = read_ipc(raw, Limit(path))
        change.check_count(path, len(table))
        table = changed(table, path, out, origin, change.label_of, change.kept)
        if is_stream(raw):
            with pa.ipc.new_stream(written, table.schema) as stream:
                stream.write_table(table)
        else:
            pa.feather.write_feather(table, written)
        write_bytes(out, written.getvalue().to_pybytes())


FORMAT = Feather()
