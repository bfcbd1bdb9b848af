"""Parquet: a file, or a folder of files that together are one table.

What is unpacked is counted as it arrives: a row that unpacks to more than the memory is not stopped before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from graylearn.data.atomic import replacing
from graylearn.data.formats._arrow import BYTES, ROWS, only, picked
from graylearn.data.formats._base import (
    TABLES,
    Change,
    Format,
    Origin,
    read_bytes,
    suffix_of,
    write_bytes,
)
from graylearn.data.formats._compressed import COMPRESSIONS
from graylearn.data.options import ReadOptions
from graylearn.data.tables import ArrowTable, Table, bytes_of
from graylearn.errors import DataError, first_few, first_line, told_as, warn
from graylearn.paths import Limit, matching

_FEW = 5_000
"""Rows at most that are unpacked at once before their bytes are counted, where those may differ much."""


class Parquet(Format):
    """A table; ids are row numbers or the index that pandas kept."""

    name = "parquet"
    suffixes = (".parquet", ".pq")

    def takes(self, path: Path) -> bool:
        """Whether it ends like one, as a glob may, or is a folder that holds some."""
        return bool(parts_of(path)) if path.is_dir() else super().takes(path)

    def open(self, path: Path, options: ReadOptions) -> Table:
        """The rows; those of a folder or a glob in the order of the files' names."""
        files = parts_of(path)
        schema = _schema_of(files, path)
        note_unread(path, schema.names)
        return ArrowTable(
            str(path),
            options,
            partial(_blocks_of_table, files, schema),
            f"{path} is damaged or not a Parquet file",
            has_index=path.is_file(),
            limit=Limit(*files),
        )

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same schema and compression, with fewer rows and other labels; a folder becomes one file.

        Block by block, unless a file is compressed as a whole.
        """
        files = parts_of(path)
        schema = _schema_of(files, path)
        with _opened(files[0]) as first:
            codec = "snappy"
            if first.metadata.num_row_groups and first.metadata.num_columns:
                codec = first.metadata.row_group(0).column(0).compression.lower()
        codec = "none" if codec == "uncompressed" else codec
        label, label_of = origin.columns.label, np.asarray(change.label_of)
        bearers = np.unique(label_of[label_of != np.arange(len(label_of))])
        pool = _at(files, schema.field(label), bearers)
        keep, start = np.asarray(change.keep), 0
        with ExitStack() as stack:
            packs = out.suffix.lower() in COMPRESSIONS
            sink: Any = pa.BufferOutputStream() if packs else stack.enter_context(replacing(out))
            with pa.parquet.ParquetWriter(sink, schema, compression=codec) as writer:
                for block in blocks_of(files):
                    table = block.select(schema.names).cast(schema)
                    own, end = np.arange(start, start + len(table)), start + len(table)
                    of = label_of[start:end]
                    local = np.where(of == own, own - start, len(table) + np.searchsorted(bearers, of))
                    every = pa.chunked_array([*table[label].chunks, *pool.chunks], schema.field(label).type)
                    labels = picked(every.unify_dictionaries(), local)
                    table = table.set_column(schema.get_field_index(label), schema.field(label), labels)
                    kept = np.flatnonzero(keep[start:end])
                    writer.write_table(only(table, path, out, origin, kept))
                    start = end
            if packs:
                write_bytes(out, sink.getvalue().to_pybytes())

    def files(self, path: Path) -> list[Path]:
        """The file, or all those of a folder."""
        return parts_of(path)


def parts_of(path: Path) -> list[Path]:
    """The files that are one table: the file itself, or those of a folder or a glob, by name.

    A dot or an underscore begins what only their writer needs.
    """
    if path.is_file():
        return [path]
    inside = path.iterdir() if path.is_dir() else matching(path)
    ours = (each for each in inside if suffix_of(each) in Parquet.suffixes)
    return sorted(each for each in ours if each.is_file() and each.name[0] not in "._")


def note_unread(path: Path, columns: Iterable[str]) -> None:
    """Say which tables of a folder are not read, and which columns that only the names of folders tell."""
    files = parts_of(path)
    inside = path.iterdir() if path.is_dir() else ()
    others = {each.name for each in inside if suffix_of(each) in TABLES and each.name[0] not in "._"}
    if others := others - {each.name for each in files}:
        told = f"of {path} the Parquet files are read, and not {first_few(sorted(others))}"
        warn(told)
    folders = {part for file in files for part in file.parent.parts if "=" in part} - set(path.parts)
    if names := {part.partition("=")[0] for part in folders} - set(columns):
        told = f"{first_few(sorted(names))}, told by the names of folders ({min(folders)}), is not read"
        warn(f"{told}: write it into the files of {path}")


def blocks_of(files: Sequence[Path], columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The rows of the files in order, at most ROWS, and about BYTES, at a time.

    What would unpack to more at once than a file may is refused.
    """
    for path in files:
        with told_as(f"{path} is damaged or not a Parquet file"), _opened(path) as file:
            metadata, schema = file.metadata, file.schema_arrow
            groups = [metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups)]
            most = max(100, min(ROWS, BYTES // max(1, sum(groups) // max(1, metadata.num_rows))))
            # rows may all name one long text, or be lists of a value that stands once
            at_once = most if all(map(pa.types.is_primitive, schema.types)) else min(most, _FEW)
            pending: list[pa.RecordBatch] = []
            limit = Limit(path)
            for batch in file.iter_batches(at_once, columns=columns, use_threads=False):
                batch.validate(full=True)
                limit.take(bytes_of(batch))
                pending.append(batch)
                if at_once * (len(pending) + 1) > most or limit.taken >= BYTES:
                    yield pa.Table.from_batches(pending)
                    pending, limit.taken = [], 0
            if pending:
                yield pa.Table.from_batches(pending)


def _blocks_of_table(
    files: Sequence[Path], schema: pa.Schema, columns: Sequence[str] | None
) -> Iterator[pa.Table]:
    """The same in the types that fit all files."""
    names = schema.names if columns is None else list(columns)
    chosen = pa.schema([schema.field(name) for name in names], schema.metadata)
    for block in blocks_of(files, columns):
        yield block.select(names).cast(chosen)


@contextmanager
def _opened(path: Path) -> Iterator[pa.parquet.ParquetFile]:
    given: Any = pa.BufferReader(read_bytes(path)) if path.suffix.lower() in COMPRESSIONS else path
    # a buffer of its own for each column: a row group may be larger than the memory
    with pa.parquet.ParquetFile(given, buffer_size=1 << 20, pre_buffer=False) as file:
        yield file


def _at(files: Sequence[Path], column: pa.Field, rows: NDArray[np.int64]) -> pa.ChunkedArray:
    """The values of a column at some rows, which rise."""
    found: list[pa.Array] = []
    start = 0
    for block in blocks_of(files, [column.name]) if len(rows) else ():
        inside = rows[(rows >= start) & (rows < start + len(block))] - start
        found += block[column.name].cast(column.type).take(pa.array(inside)).chunks
        start += len(block)
    return pa.chunked_array(found, column.type)


def _schema_of(files: Sequence[Path], path: Path) -> pa.Schema:
    """That of a file, or the one that those of a folder have in common."""
    schemas: list[pa.Schema] = []
    for part in files:
        with told_as(f"{part} is damaged or not a Parquet file"), _opened(part) as file:
            schemas.append(file.schema_arrow)
        if set(schemas[-1].names) != set(schemas[0].names):
            raise DataError(
                f"{part} has the columns {first_few(schemas[-1].names)} but the first file of {path} "
                f"{first_few(schemas[0].names)}; the files of one table have the same"
            )
    if path.is_file():
        return schemas[0]
    try:
        # the index that pandas kept with each part counts from 0 again: rows are counted through instead
        return pa.unify_schemas(schemas, promote_options="permissive").remove_metadata()
    except pa.ArrowException as error:
        raise DataError(f"the files of {path} hold different types ({first_line(error)})") from error


FORMAT = Parquet()
