"""Feather, the file format of Arrow."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.feather

from graylearn.data.formats._arrow import changed, read_arrow
from graylearn.data.formats._base import Change, Format, Origin, read_bytes, write_bytes
from graylearn.data.options import ReadOptions
from graylearn.data.tables import RawTable


class Feather(Format):
    """A table; ids are row numbers or the index that pandas kept."""

    name = "feather"
    suffixes = (".feather", ".arrow", ".ipc")

    def read(self, path: Path, options: ReadOptions) -> RawTable:
        """The rows."""
        return read_arrow(path, "Feather", pa.feather.read_table)

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same schema, with fewer rows and other labels."""
        table = pa.feather.read_table(pa.BufferReader(read_bytes(path)))
        written = pa.BufferOutputStream()
        labels = table.column(origin.columns.label).take(pa.array(change.label_of))
        pa.feather.write_feather(changed(table, path, out, origin, labels, change.kept), written)
        write_bytes(out, written.getvalue().to_pybytes())


FORMAT = Feather()
