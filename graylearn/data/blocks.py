"""Samples read block by block, in memory that does not grow with the data.

Of tables in files, folders of images, and Hugging Face datasets, streamed or not. Blocks end at the same rows
in every reading, so that a reading can be resumed at any of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graylearn.array_types import Ints
from graylearn.data.columns import without_columns
from graylearn.data.formats import FORMATS, NAMELESS, Origin, format_of, opened
from graylearn.data.formats.hugging_face import DatasetTable
from graylearn.data.formats.images import ImageTable
from graylearn.data.formats.parquet import parts_of
from graylearn.data.images import NoImagesError
from graylearn.data.inputs import is_hugging_face
from graylearn.data.order import text_numbers
from graylearn.data.remote import local
from graylearn.data.samples import Label, Samples, encode_labels, joined
from graylearn.data.splits import group_numbers
from graylearn.data.table_samples import (
    columns_of,
    group_names,
    none_labelled,
    of_table,
    rows_to_read,
    tell_unlabelled,
)
from graylearn.data.tables import Columns, RawTable, ReadOptions, Table, plain_ids
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


class Blocks:
    """A dataset that is read a block at a time, as often as asked."""

    def __init__(self, table: Table, origin: Origin) -> None:
        self.table, self.name = table, table.name
        self.names = table.names if isinstance(table, ImageTable) else ()
        """(rows,) of images in a folder."""
        first = next(table.batches(), None)
        if first is None or not len(first.frame):
            raise DataError(f"{self.name} has no rows")
        columns = columns_of(without_columns(first, table.options.without), table.options)
        self.options = replace(table.options, columns=columns)
        """How it is read."""
        self.label = str(columns.label)
        self._labelled_by = Columns(label=self.label)
        self.rows = 0  # known once the labels were counted
        self.id = None if columns.id is None else str(columns.id)
        self.group = None if columns.group is None else str(columns.group)
        self.root = origin.root
        self.origin = origin.of(first, columns, self._first_samples(first).kind)
        """What is read, as a run remembers it."""

    def label_counts(self) -> dict[Label, int]:
        """How many samples bear each label, in the order of the classes."""
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
                digests.append(text_numbers(frame[self.id]))
        if missing := self.rows - counts.total():
            tell_unlabelled(self.name, self.label, self.options, missing, self.rows)
        if digests:
            self._check_ids(np.sort(np.concatenate(digests)))
        known = self.options.classes or encode_labels(np.array(list(counts), dtype=object))[1]
        return {label: counts[label] for label in known}

    def groups(self, classes: Sequence[Label]) -> Iterator[tuple[Ints, Ints]]:
        """(groups, labels) of the samples of each block, where a column tells groups."""
        for _, table in self._labels_and([self.group, self.id]) if self.group is not None else ():
            ids = table.ids if self.id is None else plain_ids(table.frame[self.id].to_numpy())
            numbers = group_numbers(group_names(table, self.group), len(table.frame), ids)
            yield numbers, encode_labels(table.frame[self.label], classes)[0]

    def read(self, classes: Sequence[Label], start: int = 0) -> Iterator[Block]:
        """The blocks from row `start` on, where an earlier one ended."""
        options = replace(self.options, classes=classes if self.options.labelled else None)
        block, unread, end = None, None, 0
        for table in self.table.batches():
            begin, end = end, end + len(table.frame)
            if begin < start or not len(rows_to_read(table, self._labelled_by, options)):
                if block is not None:
                    block = replace(block, end=end)  # so that rows that are no samples end no reading
                continue
            try:
                samples, _, rows = of_table(table, self.root, options, whole=False)
            except NoImagesError as error:
                warn(f"{error}: they are left out")
                unread = error
                block = block and replace(block, end=end)
                continue
            if block is not None:
                yield block
            block = Block(end, rows + begin, samples)
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

    def _first_samples(self, first: RawTable) -> Samples:
        """Those of the first block that has any."""
        wrong: DataError = none_labelled(self.name, self.label)
        for table in chain([first], self.table.batches()):
            if len(rows_to_read(table, self._labelled_by, self.options)):
                try:
                    return of_table(table, self.root, self.options, whole=False)[0]
                except NoImagesError as error:
                    wrong = error
        raise wrong

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
            seen.update(map(str, ids[np.isin(text_numbers(ids), repeated[:100])]))
        twice = [name for name, count in seen.items() if count > 1]  # and not of one digest by chance
        if twice:
            many = f"{counted(len(repeated), 'id')} in column {self.id!r} occur{'s' * (len(repeated) == 1)}"
            told = f"{many} more than once (such as {first_few(twice[:5])}); make ids unique"
            raise DataError(f"{self.name}: {told}", Hint("id", False, "to count the rows instead"))


def open_blocks(source: Any, options: ReadOptions) -> Blocks:
    """A file or folder, or a Hugging Face dataset, to be read in blocks."""
    if is_hugging_face(source):
        return Blocks(DatasetTable(source, options), Origin(NAMELESS, "hugging_face", split=options.split))
    origin, found = opened(source, options)
    if isinstance(found, Samples):
        told = "which is read as a whole, and not in parts: give a table"
        raise DataError(f"{origin.path} is {origin.form}, {told}")
    return Blocks(found, origin)


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
    form = format_of(path)
    if form.name == "parquet":
        return count_rows(path) > MANY
    in_blocks = form.name in ("delimited", "json", "hugging_face")
    return in_blocks and sum(file.stat().st_size for file in form.files(path)) > LONG
