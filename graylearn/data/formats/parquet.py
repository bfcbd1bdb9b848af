"""Parquet: a file, or a folder of files that together are one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from graylearn.data.atomic import replacing
from graylearn.data.formats._base import TABLES, Change, Format, Origin
from graylearn.data.formats._files import suffix_of
from graylearn.data.formats._tables import BYTES, ROWS, rewritten
from graylearn.data.options import ReadOptions
from graylearn.data.tables import ArrowTable, Table, bytes_of, check_unique_names, without_views
from graylearn.errors import DataError, first_few, first_line, told_as, warn
from graylearn.paths import Limit, matching

_DICTIONARY = ("RLE_DICTIONARY", "PLAIN_DICTIONARY")
"""Of columns that name values which stand in the file once."""
_FEW = 100
"""Rows that are read at once at least."""


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
        return ArrowTable(
            str(path),
            options,
            partial(_blocks, files, schema),
            f"{path} is damaged or not a Parquet file",
            files=files,
            has_index=path.is_file(),
        )

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same schema and compression, with fewer rows and other labels; a folder becomes one file."""
        files = parts_of(path)
        schema = _schema_of(files, path)
        with _opened(files[0]) as first:
            codec = "snappy"
            if first.metadata.num_row_groups and first.metadata.num_columns:
                codec = first.metadata.row_group(0).column(0).compression.lower()
        codec = "none" if codec == "uncompressed" else codec
        with (
            replacing(out) as partial_file,
            pa.parquet.ParquetWriter(partial_file, schema, compression=codec) as writer,
        ):
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
    plain = pa.schema([field.with_type(without_views(field.type)) for field in chosen], schema.metadata)
    for path in files:
        with told_as(f"{path} is damaged or not a Parquet file"):
            most, texts = _at_once(path)
            with _opened(path, texts) as file:
                # categories within lists do not go on from one row group to the next
                each = [[number] for number in range(file.metadata.num_row_groups)] if texts else [None]
                for groups in each:
                    for batch in file.iter_batches(most, groups, names, use_threads=False):
                        for part in _parts(pa.Table.from_batches([batch]).select(names)):
                            yield part.cast(plain).cast(chosen)  # no view is made of a category at once


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    """The rows in parts of about BYTES: many may name one long text, which stands in the file once."""
    half = len(table) // 2
    if half and bytes_of(table, written_out=True) > BYTES:
        for rows in (range(half), range(half, len(table))):
            yield from _parts(table.take(pa.array(rows)))  # a slice of lists still holds all that they list
    else:
        yield table


def _at_once(path: Path) -> tuple[int, list[str]]:
    """(rows to read at once, columns to read as categories), as many rows may name one text of a dictionary.

    Only texts within lists are read as categories, for which all different ones are held at once. No column
    of a row group may take more than the limit: one row may list a number any number of times.
    """
    limit, most = Limit(path), ROWS
    flat: list[str] = []
    listed: list[str] = []
    with _opened(path) as file:
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        size, rows = sum(group.total_byte_size for group in groups), file.metadata.num_rows
        for number in range(len(file.schema)):
            leaf, chunks = file.schema.column(number), [group.column(number) for group in groups]
            for chunk in chunks:
                limit.taken = 0
                limit.take(chunk.total_uncompressed_size)
                if leaf.max_repetition_level or leaf.length > 8:
                    limit.take(chunk.num_values * max(8, leaf.length))
                    size += limit.taken
            if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "DECIMAL":
                ways = {way for chunk in chunks for way in chunk.encodings}
                if not ways & {*_DICTIONARY, "DELTA_BYTE_ARRAY"}:
                    continue
                if ways <= {*_DICTIONARY, "PLAIN", "RLE", "BIT_PACKED"}:
                    (listed if leaf.max_repetition_level else flat).append(leaf.path)
                else:  # as categories these are not read
                    most = _FEW
    longest = 0
    if flat:
        with _opened(path, flat) as file:
            for number in range(len(groups)):  # with the first row comes the whole dictionary
                for batch in file.iter_batches(1, row_groups=[number], columns=flat, use_threads=False):
                    longest = max(longest, *map(_longest, batch.columns))
                    break
    most = min(most, max(_FEW, BYTES * rows // max(1, size)))
    return max(1, min(most, BYTES // max(1, longest))), listed


def _longest(values: pa.Array) -> int:
    """Bytes of the longest text of a dictionary."""
    if pa.types.is_struct(values.type):
        return max(map(_longest, values.flatten()), default=0)
    is_category = pa.types.is_dictionary(values.type)
    return pc.max(pc.binary_length(values.dictionary)).as_py() or 0 if is_category else 0


def _opened(path: Path, texts: Sequence[str] = ()) -> pa.parquet.ParquetFile:
    """The file; texts: columns to read as the values that stand in it and the number of each row's."""
    # a buffer of its own for each column: a row group may be larger than the memory
    return pa.parquet.ParquetFile(path, read_dictionary=texts, buffer_size=1 << 20, pre_buffer=False)


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
