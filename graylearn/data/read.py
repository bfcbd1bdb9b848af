"""`read`: any dataset into `Samples`; `read_file` tells how it was read; `Blocks` gives a block at a time.

Library and command line both read here, by the formats of `graylearn.data.formats`. Blocks are read in
memory that does not grow with the data: of tables in files, folders of images, and Hugging Face datasets,
streamed or not. They end at the same rows in every reading, so that a reading can be resumed at any of them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graylearn.array_types import Ints
from graylearn.data.formats import FORMATS, NAMELESS, Origin, format_of, opened
from graylearn.data.formats.hugging_face import DatasetTable
from graylearn.data.formats.images import ImageTable
from graylearn.data.formats.parquet import parts_of
from graylearn.data.images import NoImagesError
from graylearn.data.inputs import as_plain, as_samples, is_hugging_face
from graylearn.data.remote import local
from graylearn.data.samples import Label, Samples, encode_labels, joined
from graylearn.data.splits import group_numbers, text_numbers
from graylearn.data.table_samples import (
    columns_of,
    group_names,
    none_labelled,
    of_table,
    rows_to_read,
    tell_unlabelled,
    without_columns,
)
from graylearn.data.tables import (
    EMBED_SIZE,
    PIXELS_SIZE,
    Columns,
    RawTable,
    ReadOptions,
    Table,
    can_embed_images,
    plain_ids,
    table_from_pandas,
)
from graylearn.errors import DataError, Hint, counted, first_few, warn


def read(
    source: Any,
    *,
    label: Any = None,
    id: Any = None,
    text: Any = None,
    path: Any = None,
    group: Any = None,
    without: Sequence[Any] = (),
    labelled: bool = True,
    classes: Sequence[Label] | None = None,
    split: str | None = None,
    size: int | None = None,
    cache: str | Path | None = None,
    workers: int | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> Samples:
    """Read any data set into `Samples`.

    Rows without a label and images that cannot be read are left out, with a warning.

    Args:
        source: a path, or an address (s3://..., https://..., what fsspec opens), to a table file (CSV, TSV,
            Feather or JSON lines, also .gz, .zst, .bz2, .xz or .zip; Parquet, Excel, SQLite, DuckDB), to an
            .npz or .npy file, or to a folder of images with one folder per class, of Parquet files (or a glob
            of them) or of a Hugging Face dataset; a pandas, polars or pyarrow table; a Hugging Face dataset;
            a NumPy array, torch tensor or list, or a pair of it and its labels. Samples come back as they
            are.
        label: the column of the labels by name or index, or the labels themselves. None takes the one column
            called label, labels, target, class or y.
        id: the column that names the rows. None takes the one called id, or the nameless first column that
            pandas writes; without either, rows go by their line in the file, their index or their number.
            False: by those in any case, and by their number where the index repeats.
        text: the column of texts, which makes the samples texts. None takes one called text, sentence or
            document where only labels and ids stand beside it.
        path: the column of image paths, relative to the table's folder, which makes the samples images. None
            takes one called path, file, filename or image (and a few more) whose first value ends like one.
        group: the column that says which samples belong together, such as the video of a frame or the patient
            of an image; it is not learned from. Of an .npz file the array.
        without: columns to leave out.
        labelled: False for data without labels; a column named with `label` is left out where present.
        classes: the classes of a saved model, whose order is kept; a label outside them is an error.
        split: which split of an .npz file or of Hugging Face datasets, which table of a database, which sheet
            of a workbook.
        size: pixels a side of decoded images. None: 128 if the extra images is installed, which embeds them,
            else 64; as on the command line.
        cache: folder of decoded images; None is the user's cache folder.
        workers: threads that decode images; None is one per core.
        separator: what parts the cells of delimited text; None looks at the first line.
        decimal: the decimal mark of delimited text, "." or ","; None looks at the columns.
        header: whether delimited text begins with a header; None looks at the first line.
        encoding: of delimited text.

    ```python
    import graylearn as gl
    import pandas as pd

    pets = pd.DataFrame({"weight": [4.1, 9.5, 3.8], "label": ["cat", "dog", "cat"]})
    pets.to_csv("pets.csv", index=False)
    samples = gl.read("pets.csv")
    samples.classes, samples.y, samples.ids                 # ("cat", "dog"), [0, 1, 0], lines 2, 3, 4
    ```
    """
    given = {name: value for name, value in locals().items() if name != "source"}
    if isinstance(source, Samples):
        return source
    if size is None:
        given["size"] = EMBED_SIZE if can_embed_images() else PIXELS_SIZE
    options = ReadOptions(**given)
    if isinstance(source, str | os.PathLike) or is_hugging_face(source):
        return read_file(source, options)[0]
    if isinstance(source, tuple):
        if len(source) != 2:
            raise DataError(f"the tuple holds {len(source)} things; expected the pair (x, y)")
        source, y = source
        options = replace(options, label=as_plain(y) if label is None else label)
    plain = as_plain(source)
    if isinstance(plain, pd.DataFrame):
        name = "the frame" if plain is source else "the table"
        return of_table(table_from_pandas(plain, name), Path(), options)[0]
    return _of_array(source, plain, options)


def read_file(source: Any, options: ReadOptions) -> tuple[Samples, Origin]:
    """The samples of a file, a folder or a Hugging Face dataset, and what was read: what `read` gives for it,
    and how it got there."""
    return read_with_others(source, options)[:2]


def read_with_others(source: Any, options: ReadOptions) -> tuple[Samples, Origin, pd.DataFrame | None]:
    """The same, and the columns of a table that no sample is made of, one row per sample; else None."""
    origin, found = _opened(source, options)
    if isinstance(found, Samples):
        label = options.label if isinstance(options.label, str) else None
        told = Columns(label=label, group=options.group)
        return found, replace(origin, kind=found.kind, columns=told), None
    table, options = found.whole(), found.options
    samples, columns, rows = of_table(table, origin.root, options)
    left_out = np.delete(np.arange(len(table.frame)), rows)
    origin = origin.of(table, columns, samples.kind, left_out.tolist())
    used = {columns.label, columns.id, columns.text, columns.path, table.images}
    if samples.kind not in ("text", "image"):
        used |= set(without_columns(table, options.without).frame.columns) - {columns.group}
    others = [name for name in table.frame.columns if name not in used]
    return samples, origin, table.frame.iloc[rows][others].reset_index(drop=True)


def _opened(source: Any, options: ReadOptions) -> tuple[Origin, Table | Samples]:
    if is_hugging_face(source):
        return Origin(NAMELESS, "hugging_face", split=options.split), DatasetTable(source, options)
    return opened(source, options)


def _of_array(source: Any, values: Any, options: ReadOptions) -> Samples:
    if options.group is not None:
        raise DataError("an array has no column of groups: give groups= to gl.audit or GrayClassifier.fit")
    if values is source and not isinstance(source, np.ndarray | list) and not hasattr(source, "__array__"):
        raise DataError(f"cannot read {type(source).__name__}; give a path, a table, an array or a dataset")
    ids = None if options.id is None or options.id is False else options.id
    return as_samples(values, options.label, ids=ids, classes=options.classes, labelled=options.labelled)


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
        end, unread = 0, None
        for table in self.table.batches():
            begin, end = end, end + len(table.frame)
            if begin < start or not len(rows_to_read(table, self._labelled_by, options)):
                continue
            try:
                samples, _, rows = of_table(table, self.root, options, whole=False)
            except NoImagesError as error:
                warn(f"{error}: they are left out")
                unread = error
                continue
            start = -1  # a sample was found
            yield Block(end, rows + begin, samples)
        if unread is not None and start == 0:
            raise unread

    def spread(self, most: int, counts: Mapping[Label, int]) -> Samples:
        """At most `most` samples, evenly spread over all; counts: as of `label_counts`."""
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
    origin, found = _opened(source, options)
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
