"""Samples read block by block, in memory that does not grow with the data.

Of tables in files, folders of images, and Hugging Face datasets, streamed or not. Blocks end at the same rows
in every reading, so that a reading can be resumed at any of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graylearn.array_types import Ints
from graylearn.data.columns import without_columns
from graylearn.data.formats import FORMATS, NAMELESS, Origin, format_of
from graylearn.data.formats.hugging_face import IMAGES, DatasetTable, arrow_files
from graylearn.data.formats.images import listed
from graylearn.data.formats.parquet import parts_of
from graylearn.data.groups import lasting_numbers
from graylearn.data.images.cache import NoImagesError, decode
from graylearn.data.inputs import is_hugging_face
from graylearn.data.options import Columns, ReadOptions
from graylearn.data.remote import local
from graylearn.data.samples import Label, Samples, encode_labels, joined
from graylearn.data.table_samples import (
    columns_of,
    group_names,
    none_labelled,
    of_table,
    rows_to_read,
    tell_unlabelled,
)
from graylearn.data.tables import RawTable, Table
from graylearn.errors import DataError, Hint, counted, first_few, warn

MANY, LONG = 1_000_000, 1 << 30
"""Rows of Parquet files and bytes of text from which on data are large."""


@dataclass(frozen=True)
class Block:
    """Some neighbouring samples."""

    end: int
    """The row after the last that was read for it."""
    rows: Ints
    """(n,) where each of its samples stands in the data; rows that are no samples are left out."""
    samples: Samples
    """With numbers of groups that mean the same in every block."""


Piece = tuple[int, Callable[[], Block | None]]
"""The row after the last, and what reads the rows before it; None where no row has a label."""


class Blocks(ABC):
    """A dataset that is read a block at a time, as often as asked."""

    origin: Origin
    """What is read, as a run remembers it."""
    options: ReadOptions
    """How it is read."""
    names: Sequence[str] = ()
    """(rows,) of images in a folder."""

    @abstractmethod
    def label_counts(self) -> dict[Label, int]:
        """How many samples bear each label, in the order of the classes."""

    @abstractmethod
    def pieces(self, classes: Sequence[Label], start: int) -> Iterator[Piece]:
        """What `read` reads from row `start` on."""

    def groups(self, classes: Sequence[Label]) -> Iterator[tuple[Ints, Ints]]:
        """(groups, labels) of the samples of each block, where a column tells groups."""
        return iter(())

    def read(self, classes: Sequence[Label], start: int = 0) -> Iterator[Block]:
        """The blocks from row `start` on, where an earlier one ended."""
        block, unread = None, None
        for end, make in self.pieces(classes, start):
            found = None
            try:
                found = make()
            except NoImagesError as error:
                warn(f"{error}: they are left out")
                unread = error
            if found is None and block is not None:
                block = replace(block, end=end)  # so that rows that are no samples end no reading
            elif found is not None:
                if block is not None:
                    yield block
                block = found
        if block is not None:
            yield block
        elif unread is not None:
            raise unread

    def spread(self, most: int, counts: Mapping[Label, int]) -> Samples:
        """So many samples at most, from one end of all to the other; counts: as of `label_counts`."""
        total = sum(counts.values())
        wanted = np.linspace(0, total - 1, min(total, most)).astype(np.int64)
        found: list[Samples] = []
        before = 0
        for block in self.read(tuple(counts)):
            inside = wanted[(wanted >= before) & (wanted < before + len(block.rows))] - before
            if len(inside):
                found.append(block.samples.take(inside))
            before += len(block.rows)
        return joined(found)


def open_blocks(source: Any, options: ReadOptions) -> Blocks:
    """A file or folder, or a Hugging Face dataset, to be read in blocks."""
    if is_hugging_face(source):
        return _TableBlocks(DatasetTable(source, options), Path(NAMELESS), "hugging_face")
    path = local(source)
    form = format_of(path)
    if form.name == "folder" and path.is_dir():
        return _ImageBlocks(path, options)
    table = form.open(path, options)
    if isinstance(table, Samples):
        raise DataError(f"{path} is {form.name}, which is read as a whole, and not in parts: give a table")
    return _TableBlocks(table, path, form.name)


def count_rows(source: str | Path) -> int:
    """How many rows Parquet files have; 0 if their metadata does not say."""
    path = local(source)
    try:
        if format_of(path) is FORMATS["parquet"]:
            return sum(pq.read_metadata(part).num_rows for part in parts_of(path))
    except (OSError, pa.ArrowException):
        return 0  # reading it will tell what is wrong
    return 0


def are_large(source: str | Path) -> bool:
    """Whether data are so large that they are read in blocks unless the user decides otherwise."""
    path = local(source)
    form, files = format_of(path).name, [path] if path.is_file() else []
    if form == "hugging_face":
        files = arrow_files(path)
    elif form not in ("delimited", "json"):
        return count_rows(path) > MANY
    return sum(file.stat().st_size for file in files) > LONG


class _TableBlocks(Blocks):
    def __init__(self, table: Table, path: Path, form: str) -> None:
        self.table, self.name, self.path = table, str(path), path
        first = next(table.batches(), None)
        if first is None or not len(first.frame):
            raise DataError(f"{self.name} has no rows")
        columns = columns_of(without_columns(first, table.options.without), table.options)
        self.options = replace(table.options, columns=columns)
        self.label = str(columns.label)
        self._labelled_by = Columns(label=self.label)
        self.rows = 0  # known once the labels were counted
        self.id = None if columns.id is None else str(columns.id)
        self.group = None if columns.group is None else str(columns.group)
        self.origin = Origin(
            self.name if self.name == NAMELESS else str(path.absolute()),
            form,
            columns,
            self._first_samples(first).kind,
            names=tuple(first.frame.columns),
            split=self.options.split,
            unit=first.unit,
            **first.of_file,
        )

    def _first_samples(self, first: RawTable) -> Samples:
        """Those of the first block that has any."""
        wrong: DataError = none_labelled(self.name, self.label)
        for table in chain([first], self.table.batches()):
            if len(rows_to_read(table, self._labelled_by, self.options)):
                try:
                    return of_table(table, self.path.parent, self.options, whole=False)[0]
                except NoImagesError as error:
                    wrong = error
        raise wrong

    def label_counts(self) -> dict[Label, int]:
        counts: Counter[Label] = Counter()
        digests = []
        for rows, table in self._labels_and([self.id]):
            frame = table.frame
            try:
                y, classes = encode_labels(frame[self.label])
            except DataError as error:
                raise DataError(f"{self.name}, rows from {rows[0]:,} on: {error}") from error
            counts.update(dict(zip(classes, np.bincount(y).tolist(), strict=True)))
            if self.id is not None:
                digests.append(_digests(frame[self.id]))
        if missing := self.rows - counts.total():
            tell_unlabelled(self.name, self.label, self.options, missing, self.rows)
        if digests:
            self._check_ids(np.sort(np.concatenate(digests)))
        known = self.options.classes or encode_labels(np.array(list(counts), dtype=object))[1]
        return {label: counts[label] for label in known}

    def groups(self, classes: Sequence[Label]) -> Iterator[tuple[Ints, Ints]]:
        for rows, table in self._labels_and([self.group]) if self.group is not None else ():
            names = group_names(table, self.group)
            yield lasting_numbers(names, rows), encode_labels(table.frame[self.label], classes)[0]

    def _labels_and(self, others: Sequence[str | None]) -> Iterator[tuple[Ints, RawTable]]:
        """(where each stands in the data, labels and other columns) of the rows of each block that are
        samples."""
        start = 0
        for table in self.table.batches([self.label, *(name for name in others if name is not None)]):
            rows = rows_to_read(table, self._labelled_by, self.options)
            if len(rows):
                yield rows + start, table.take(rows)
            start += len(table.frame)
        self.rows = start

    def _check_ids(self, digests: NDArray[np.uint64]) -> None:
        """Refuse ids that stand in several blocks, which no block tells; digests: of all of them, sorted."""
        repeated = np.unique(digests[1:][digests[1:] == digests[:-1]])
        if not len(repeated):
            return
        seen: Counter[str] = Counter()
        for _, table in self._labels_and([self.id]):
            ids = table.frame[str(self.id)]
            seen.update(map(str, ids[np.isin(_digests(ids), repeated[:100])]))
        twice = [name for name, count in seen.items() if count > 1]  # and not of one digest by chance
        if twice:
            many = f"{counted(len(repeated), 'id')} in column {self.id!r} occur{'s' * (len(repeated) == 1)}"
            told = f"{many} more than once (such as {first_few(twice[:5])}); make ids unique"
            raise DataError(f"{self.name}: {told}", Hint("id", False, "to count the rows instead"))

    def pieces(self, classes: Sequence[Label], start: int) -> Iterator[Piece]:
        options = replace(self.options, classes=classes if self.options.labelled else None)
        begin = 0
        for table in self.table.batches():
            end = begin + len(table.frame)
            if begin >= start and end > begin:
                yield end, partial(self._block, table, begin, options)
            begin = end

    def _block(self, table: RawTable, begin: int, options: ReadOptions) -> Block | None:
        if not len(rows_to_read(table, self._labelled_by, options)):
            return None
        samples, _, rows = of_table(table, self.path.parent, options, whole=False)
        if self.group is not None:
            names = group_names(table, self.group).iloc[rows]
            samples = replace(samples, groups=lasting_numbers(names, rows + begin))
        return Block(begin + len(table.frame), rows + begin, samples)


class _ImageBlocks(Blocks):
    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path, self.options = path, options
        self.names, self.y, self.classes = listed(path, options)
        self.origin = Origin(str(path.absolute()), "folder", Columns(), "image")

    def label_counts(self) -> dict[Label, int]:
        counts = np.bincount(self.y, minlength=len(self.classes))
        return dict(zip(self.classes, counts.tolist(), strict=True))

    def pieces(self, classes: Sequence[Label], start: int) -> Iterator[Piece]:
        for begin in range(start, len(self.names), IMAGES):
            end = min(begin + IMAGES, len(self.names))
            yield end, partial(self._block, np.arange(begin, end))

    def _block(self, rows: Ints) -> Block:
        names = [self.names[row] for row in rows]
        decoded = decode([self.path / name for name in names], self.options)
        kept = rows[decoded.kept]
        ids = np.array([self.names[row] for row in kept], dtype=object)
        return Block(
            int(rows[-1]) + 1, kept, Samples(decoded.images, self.y[kept], self.classes, ids, "image")
        )


def _digests(ids: pd.Series) -> NDArray[np.uint64]:
    """(n,) equal where two ids are the same text: eight bytes each, whatever they are."""
    return np.asarray(pd.util.hash_array(ids.astype(str).to_numpy(dtype=object), categorize=False))
