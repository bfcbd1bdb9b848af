"""Parquet: a file, or a folder of files that together are one table."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from graylearn.data.formats._arrow import changed, read_arrow
from graylearn.data.formats._base import (
    Change,
    Format,
    Origin,
    file_fingerprint,
    first_line,
    read_bytes,
    suffix_of,
    write_bytes,
)
from graylearn.data.options import ReadOptions
from graylearn.data.tables import RawTable, table_from_arrow
from graylearn.errors import DataError
from graylearn.paths import matching


class Parquet(Format):
    """A table; ids are row numbers or the index that pandas kept."""

    name = "parquet"
    suffixes = (".parquet", ".pq")

    def takes(self, path: Path) -> bool:
        """Whether it ends like one, as a glob may, or is a folder that holds some."""
        return bool(parts_of(path)) if path.is_dir() else super().takes(path)

    def read(self, path: Path, options: ReadOptions) -> RawTable:
        """The rows; those of a folder or a glob in the order of the files' names."""
        if path.is_file():
            return read_arrow(path, "Parquet", pa.parquet.read_table)
        return table_from_arrow(_read_folder(path), str(path))

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same schema and compression, with fewer rows and other labels; a folder becomes one file."""
        first = pa.parquet.ParquetFile(pa.BufferReader(read_bytes(parts_of(path)[0])))
        table = first.read() if path.is_file() else _read_folder(path)
        codec = "snappy"
        if first.metadata.num_row_groups and first.metadata.num_columns:
            codec = first.metadata.row_group(0).column(0).compression.lower()
        written = pa.BufferOutputStream()
        table = changed(table, path, out, origin, change)
        pa.parquet.write_table(table, written, compression="none" if codec == "uncompressed" else codec)
        write_bytes(out, written.getvalue().to_pybytes())

    def fingerprint(self, path: Path, ids: Sequence[Any] | np.ndarray) -> tuple[dict[str, Any], None]:
        """Size and hash of the file, or of all files of a folder together."""
        if path.is_file():
            return file_fingerprint(path), None
        joint, size = hashlib.sha256(), 0
        for part in parts_of(path):
            found = file_fingerprint(part)
            joint.update(f"{part.name}\0{found['sha256']}\0".encode())
            size += found["bytes"]
        return {"bytes": size, "sha256": joint.hexdigest()}, None


def parts_of(path: Path) -> list[Path]:
    """The files that are one table: the file itself, or those of a folder or a glob, by name.

    A dot or an underscore begins what only their writer needs.
    """
    if path.is_file():
        return [path]
    inside = path.iterdir() if path.is_dir() else matching(path)
    ours = (each for each in inside if suffix_of(each) in Parquet.suffixes)
    return sorted(each for each in ours if each.is_file() and each.name[0] not in "._")


def _read_folder(folder: Path) -> pa.Table:
    tables: list[pa.Table] = []
    for part in parts_of(folder):
        try:
            tables.append(pa.parquet.ParquetFile(pa.BufferReader(read_bytes(part))).read())
            tables[-1].validate(full=True)
        except DataError:
            raise
        except Exception as error:
            raise DataError(f"{part} is damaged or not a Parquet file ({first_line(error)})") from error
        if set(tables[-1].column_names) != set(tables[0].column_names):
            raise DataError(
                f"{part} has the columns {', '.join(tables[-1].column_names)} but the first file of {folder} "
                f"{', '.join(tables[0].column_names)}; the files of one table have the same"
            )
    try:
        # the index that pandas kept with each part counts from 0 again: rows are counted through instead
        return pa.concat_tables(tables, promote_options="permissive").replace_schema_metadata(None)
    except pa.ArrowException as error:
        raise DataError(f"the files of {folder} hold different types ({first_line(error)})") from error


FORMAT = Parquet()
