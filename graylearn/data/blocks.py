"""Data sets read a block of samples at a time, in memory that does not grow with them.

Parquet files, folders and globs of them, folders of images with one folder a class, and datasets of Hugging
Face, streamed or not. Blocks end at the same rows in every reading, so that one can be gone on with.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graylearn.data.columns import find_columns, without_columns
from graylearn.data.formats import FORMATS, Origin, format_of
from graylearn.data.formats._base import first_line
from graylearn.data.formats.images import listed
from graylearn.data.formats.parquet import parts_of
from graylearn.data.hugging_face import is_hugging_face
from graylearn.data.images.files import decode
from graylearn.data.options import Columns, ReadOptions
from graylearn.data.read import of_table
from graylearn.data.remote import local
from graylearn.data.samples import Label, Samples, encode_labels
from graylearn.data.table_samples import with_labels
from graylearn.data.tables import RawTable, table_from_arrow
from graylearn.errors import DataError

ROWS, IMAGES, BYTES = 20_000, 2_000, 16 << 20
"""Samples of one block at most, and bytes of a table."""
Ints = NDArray[np.int64]
Tables = Callable[[Sequence[str] | None], Iterator[pa.Table]]
"""The rows of a table in order, a block at a time; of some columns, or of all."""


@dataclass(frozen=True)
class Block:
    """Some neighbouring samples."""

    end: int
    """The row after the last that was read for it."""
    rows: Ints
    """(n,) where each of its samples stands in the data; rows without a label may be left out."""
    samples: Samples


class Blocks(ABC):
    """A dataset that is read a block at a time, as often as asked."""

    origin: Origin
    """What is read, as a run remembers it."""

    @abstractmethod
    def label_counts(self) -> dict[Label, int]:
        """How many samples bear each label, in the order of the classes."""

    @abstractmethod
    def read(self, classes: Sequence[Label], start: int = 0) -> Iterator[Block]:
        """The blocks from row `start` on, where an earlier one ended."""

    def at(self, rows: Ints, classes: Sequence[Label]) -> Samples:
        """The samples at `rows`, which rise."""
        found: list[Samples] = []
        for block in self.read(classes):
            inside = np.flatnonzero(np.isin(block.rows, rows, assume_unique=True))
            if len(inside):
                found.append(block.samples.take(inside))
            if len(rows) == 0 or block.end > rows[-1]:
                break
        return joined(found)


def joined(parts: Sequence[Samples]) -> Samples:
    """Samples of one kind and the same classes, one after the other."""
    if len(parts) == 1:
        return parts[0]
    each = [part.x for part in parts]
    x = pd.concat(each, ignore_index=True) if isinstance(each[0], pd.DataFrame) else np.concatenate(each)
    y, ids = (np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "ids"))
    return replace(parts[0], x=x, y=y, ids=ids)


def open_blocks(source: Any, options: ReadOptions) -> Blocks:
    """What is read in blocks: a Parquet file, folder or glob, a folder of images, a Hugging Face dataset."""
    if is_hugging_face(source):
        return _TableBlocks(_stream_tables(source), "the dataset", Path(), "datasets", options)
    path = local(source)
    form = format_of(path)
    if form.name == "folder" and path.is_dir():
        return _ImageBlocks(path, options)
    if form.name != "parquet":
        raise DataError(
            f"{path} is {form.name}, which is read as a whole: data larger than the memory are read from "
            "Parquet files, folders of images and datasets of Hugging Face"
        )
    return _TableBlocks(_parquet_tables(parts_of(path)), str(path), path.parent, "parquet", options)


def count_rows(source: str | Path) -> int:
    """How many rows Parquet files or how many images a folder has, from what can be told at once; else 0."""
    path = local(source)
    form = format_of(path)
    try:
        if form is FORMATS["parquet"]:
            return sum(pq.read_metadata(part).num_rows for part in parts_of(path))
    except (OSError, pa.ArrowException):
        return 0  # reading it will tell what is wrong
    return 0


class _TableBlocks(Blocks):
    def __init__(self, tables: Tables, name: str, root: Path, form: str, options: ReadOptions) -> None:
        self.tables, self.name, self.root = tables, name, root
        first = next(tables(None), None)
        if first is None:
            raise DataError(f"{name} has no rows")
        table = self._table(first, 0)
        columns = find_columns(without_columns(table, options.without), options)
        self.options = replace(options, columns=columns)
        self.label = str(columns.label)
        kind = of_table(table, root, replace(self.options, missing_labels="skip"))[0].kind
        path = str(Path(name).absolute()) if form == "parquet" else name
        self.origin = Origin(path, form, columns, kind, names=tuple(table.frame.columns))

    def _table(self, arrow: pa.Table, start: int) -> RawTable:
        # the index that pandas kept counts from 0 in each file: rows are counted through instead
        names = [name for name in arrow.column_names if not re.fullmatch(r"__index_level_\d+__", name)]
        table = table_from_arrow(arrow.select(names).replace_schema_metadata(None), self.name)
        return replace(table, ids=np.arange(start, start + len(table.frame)))

    def label_counts(self) -> dict[Label, int]:
        counts: Counter[Label] = Counter()
        start, columns = 0, Columns(label=self.label)
        for arrow in self.tables([self.label]):
            table = self._table(arrow, start)
            rows = with_labels(table, columns, self.options)
            try:
                y, classes = encode_labels(table.frame[self.label].iloc[rows])
            except DataError as error:
                raise DataError(f"{self.name}, rows from {start:,} on: {error}") from error
            counts.update(dict(zip(classes, np.bincount(y).tolist(), strict=True)))
            start += arrow.num_rows
        classes = encode_labels(np.array(list(counts), dtype=object))[1]
        return {label: counts[label] for label in classes}

    def read(self, classes: Sequence[Label], start: int = 0) -> Iterator[Block]:
        options, begin = replace(self.options, classes=classes), 0
        for arrow in self.tables(None):
            end = begin + arrow.num_rows
            if begin >= start and arrow.num_rows:
                table = self._table(arrow, begin)
                samples, _, rows = of_table(table, self.root, options)
                yield Block(end, rows + begin, samples)
            begin = end


class _ImageBlocks(Blocks):
    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path, self.options = path, options
        self.names, self.y, self.classes = listed(path, options)
        self.origin = Origin(str(path.absolute()), "folder", Columns(), "image")

    def label_counts(self) -> dict[Label, int]:
        counts = np.bincount(self.y, minlength=len(self.classes))
        return dict(zip(self.classes, counts.tolist(), strict=True))

    def read(self, classes: Sequence[Label], start: int = 0) -> Iterator[Block]:
        for begin in range(start, len(self.names), IMAGES):
            yield self._block(np.arange(begin, min(begin + IMAGES, len(self.names))))

    def _block(self, rows: Ints) -> Block:
        names = [self.names[row] for row in rows]
        decoded = decode([self.path / name for name in names], self.options)
        kept = rows[decoded.kept]
        ids = np.array([self.names[row] for row in kept], dtype=object)
        return Block(
            int(rows[-1]) + 1, kept, Samples(decoded.images, self.y[kept], self.classes, ids, "image")
        )

    def at(self, rows: Ints, classes: Sequence[Label]) -> Samples:
        return self._block(rows).samples


def _parquet_tables(files: Sequence[Path]) -> Tables:
    def read(columns: Sequence[str] | None) -> Iterator[pa.Table]:
        for path in files:
            try:
                # a buffer of its own for each column: a row group may be larger than the memory
                with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
                    groups = [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]
                    size = sum(group.total_byte_size for group in groups) // max(1, file.metadata.num_rows)
                    rows = max(100, min(ROWS, BYTES // max(1, size)))
                    for batch in file.iter_batches(rows, columns=columns, use_threads=False):
                        batch.validate(full=True)
                        yield pa.Table.from_batches([batch])
            except (OSError, pa.ArrowException) as error:
                raise DataError(f"{path} is damaged or not a Parquet file ({first_line(error)})") from error

    return read


def _stream_tables(dataset: Any) -> Tables:
    def read(columns: Sequence[str] | None) -> Iterator[pa.Table]:
        chosen = dataset if columns is None else dataset.select_columns(list(columns))
        yield from chosen.with_format("arrow").iter(batch_size=ROWS)

    return read
