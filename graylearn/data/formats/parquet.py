"""Parquet: a file, or a folder of files that together are one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from graylearn.data.formats._base import TABLES, Change, Format, Origin, suffix_of
from graylearn.data.formats._tables import BYTES, ROWS, rewritten
from graylearn.data.tables import ArrowTable, ReadOptions, Table, check_unique_names
from graylearn.errors import DataError, first_few, first_line, told_as, warn
from graylearn.paths import Limit, matching

FEW = 2_000
"""Rows that are read at once: of texts that stand in the file once, more would fill the memory uncounted."""


class Parquet(Format):
    """A table; ids are row numbers or the index that pandas kept."""

    name = "parquet"
    suffixes = (".parquet", ".pq")
    compressed = False

    def takes(self, path: Path) -> bool:
        """Whether it ends like one, as a glob may, or is a folder that holds some."""
        return bool(parts_of(path)) if path.is_dir() else super().takes(path)

    def open(self, path: Path, options: ReadOptions) -> Table:
        """The rows; those of a folder or a glob in the order of the files' names."""
        files = parts_of(path)
        schema = _schema_of(files, path)
        note_unread(path, schema.names)
        damaged = f"{path} is damaged or not a Parquet file"
        return ArrowTable(str(path), options, partial(_blocks, files, schema), damaged, files=files)

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same schema and compression, with fewer rows and other labels; a folder becomes one file."""
        files = parts_of(path)
        schema = _schema_of(files, path)
        with _opened(files[0]) as first:
            codec = "snappy"
            if first.metadata.num_row_groups and first.metadata.num_columns:
                codec = first.metadata.row_group(0).column(0).compression.lower()
        codec = "none" if codec == "uncompressed" else codec
        with pa.parquet.ParquetWriter(out, schema, compression=codec) as writer:
            for table in rewritten(partial(_blocks, files, schema), path, out, origin, change):
                writer.write_table(table)

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


def _blocks(files: Sequence[Path], schema: pa.Schema, columns: Sequence[str] | None) -> Iterator[pa.Table]:
    """The rows of the files in order, in the types that fit all, at most ROWS, and about BYTES, at a time."""
    names = schema.names if columns is None else list(columns)
    chosen = pa.schema([schema.field(name) for name in names], schema.metadata)
    for path in files:
        with told_as(f"{path} is damaged or not a Parquet file"), _opened(path) as file:
            whole = _checked_size(path, file.metadata)
            most = max(1, min(FEW, ROWS, BYTES * file.metadata.num_rows // max(1, whole)))
            block: list[pa.RecordBatch] = []
            rows = size = 0
            for batch in file.iter_batches(most, columns=names, use_threads=False):
                block.append(batch)
                rows, size = rows + len(batch), size + batch.nbytes
                if rows >= ROWS or size >= BYTES:
                    yield pa.Table.from_batches(block).select(names).cast(chosen)
                    block, rows, size = [], 0, 0
            if block:
                yield pa.Table.from_batches(block).select(names).cast(chosen)


def _checked_size(path: Path, file: pa.parquet.FileMetaData) -> int:
    """The bytes that a file says it unpacks to, refused where a column of a row group takes more than the
    limit: one row may list very many values."""
    size = 0
    for group in map(file.row_group, range(file.num_row_groups)):
        size += group.total_byte_size
        for column in map(group.column, range(file.num_columns)):
            Limit(path).take(max(column.total_uncompressed_size, 8 * column.num_values))
    return size


def _opened(path: Path) -> pa.parquet.ParquetFile:
    # a buffer of its own for each column: a row group may be larger than the memory
    return pa.parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)


def _schema_of(files: Sequence[Path], path: Path) -> pa.Schema:
    """That of a file, or the one that those of a folder have in common."""
    schemas: list[pa.Schema] = []
    for part in files:
        with told_as(f"{part} is damaged or not a Parquet file"), _opened(part) as file:
            schemas.append(file.schema_arrow)
            check_unique_names(schemas[-1].names, str(part))
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
