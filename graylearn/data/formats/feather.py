"""Feather, the file format of Arrow, and Arrow's streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.feather

from graylearn.data.formats._base import Change, Format, Origin, read_bytes, write_bytes
from graylearn.data.formats._tables import rewritten, slices_of
from graylearn.data.tables import ArrowTable, ReadOptions, Table
from graylearn.errors import DataError

_FILE, _OLD_FILE = b"ARROW1", b"FEA1"
"""How files begin, those of today and of the first version; a stream has nothing around its batches."""


class Feather(Format):
    """A table; ids are row numbers or the index that pandas kept."""

    name = "feather"
    suffixes = (".feather", ".arrow", ".ipc")

    def open(self, path: Path, options: ReadOptions) -> Table:
        """The rows."""
        raw = read_bytes(path)
        if not raw:
            raise DataError(f"{path} is empty")
        damaged = f"{path} is damaged or not a Feather file"
        return ArrowTable(str(path), options, partial(_blocks, raw), damaged, files=[path])

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same schema, with fewer rows and other labels."""
        raw, written = read_bytes(path), pa.BufferOutputStream()
        table = pa.concat_tables(rewritten(partial(_blocks, raw), path, out, origin, change))
        if raw.startswith((_FILE, _OLD_FILE)):
            pa.feather.write_feather(table.unify_dictionaries(), written)
        else:
            with pa.ipc.new_stream(written, table.schema) as stream:
                stream.write_table(table)
        write_bytes(out, written.getvalue().to_pybytes())


def _blocks(raw: bytes, columns: Sequence[str] | None) -> Iterator[pa.Table]:
    """The rows of a file or a stream, unpacked as they are asked for."""
    source = pa.BufferReader(raw)
    if raw.startswith(_OLD_FILE):
        yield from slices_of(pa.feather.read_table(source), columns)
        return
    is_file = raw.startswith(_FILE)
    with pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source) as file:
        batches = map(file.get_batch, range(file.num_record_batches)) if is_file else file
        for batch in batches:
            yield from slices_of(pa.Table.from_batches([batch]), columns)
        yield from slices_of(
            pa.Table.from_batches([], file.schema), columns
        )  # so that one without rows has columns


FORMAT = Feather()
