"""Feather, the file format of Arrow, and Arrow's streams."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.feather

from graylearn.data.formats._arrow import changed
from graylearn.data.formats._base import Change, Format, Origin, read_bytes, told_as, write_bytes
from graylearn.data.formats._ipc import check_repeated, is_stream, read_ipc
from graylearn.data.options import ReadOptions
from graylearn.data.tables import RawTable, table_from_arrow
from graylearn.errors import DataError


class Feather(Format):
    """A table; ids are row numbers or the index that pandas kept."""

    name = "feather"
    suffixes = (".feather", ".arrow", ".ipc")

    def read(self, path: Path, options: ReadOptions) -> RawTable:
        """The rows."""
        raw = read_bytes(path)
        if not raw:
            raise DataError(f"{path} is empty")
        with told_as(f"{path} is damaged or not a Feather file"):
            table = read_ipc(raw, path)
            table.validate(full=True)  # damaged offsets would be followed out of the file's memory
            return table_from_arrow(check_repeated(table, path), str(path))

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same schema, with fewer rows and other labels."""
        raw, written = read_bytes(path), pa.BufferOutputStream()
        table = read_ipc(raw, path)
        change.check_count(path, len(table))
        table = changed(table, path, out, origin, change.label_of, change.kept)
        if is_stream(raw):
            with pa.ipc.new_stream(written, table.schema) as stream:
                stream.write_table(table)
        else:
            pa.feather.write_feather(table, written)
        write_bytes(out, written.getvalue().to_pybytes())


FORMAT = Feather()
