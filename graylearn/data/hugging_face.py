"""Hugging Face `datasets` into `Samples`. The package is the user's own: nothing here imports it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graylearn.data.columns import find_columns, without_columns
from graylearn.data.images.cache import NoImagesError
from graylearn.data.images.decode import CHANNELS, UnreadableImageError, decode_image
from graylearn.data.of_table import of_table
from graylearn.data.options import Columns, ReadOptions
from graylearn.data.samples import Samples
from graylearn.data.table_samples import samples_from_table, with_labels
from graylearn.data.tables import RawTable, table_from_arrow
from graylearn.errors import DataError, Hint, first_few


def is_hugging_face(source: Any) -> bool:
    """Whether this is a dataset, or a dict of them, of the `datasets` package."""
    return any(cls.__module__.split(".")[0] == "datasets" for cls in type(source).__mro__)


def read_hugging_face(
    dataset: Any, options: ReadOptions, root: Path = Path()
) -> tuple[Samples, Columns, np.ndarray]:
    """(samples, what the columns mean, the rows that became samples) of a `datasets.Dataset`.

    Labels of a ClassLabel column go by their names, in its order. root: where paths of images begin.
    """
    rows = DatasetRows(dataset, options)
    if not hasattr(rows.dataset, "num_rows"):
        raise DataError(
            f"{type(rows.dataset).__name__} streams its rows: load the dataset without streaming=True, or "
            "audit it in parts with graylearn.runs.run(settings, out, source=dataset)"
        )
    name = f"the dataset ({rows.dataset.num_rows} rows)"
    table = rows.spelled(table_from_arrow(rows.dataset.with_format("arrow")[:], name))
    return of_table(table, root, rows.options) if rows.image is None else rows.images(table, rows.options)


class DatasetRows:
    """A dataset, streamed or not, as tables: labels spelled out, images as they were stored."""

    def __init__(self, dataset: Any, options: ReadOptions) -> None:
        if isinstance(dataset, dict):  # a DatasetDict
            if options.split not in dataset:
                raise DataError(
                    f"the dataset has the splits {', '.join(dataset)};", Hint("split", None, "to choose one")
                )
            dataset = dataset[options.split]
        features = dataset.features or {}  # a stream may not know them
        images = [column for column, kind in features.items() if type(kind).__name__ == "Image"]
        # Undecoded, an image is a record of its bytes and path, which goes through the one decoder of ours.
        for column in images:
            dataset = dataset.cast_column(column, type(features[column])(decode=False))
        names = {
            column: list(kind.names)
            for column, kind in features.items()
            if type(kind).__name__ == "ClassLabel" and kind.names
        }
        if options.label is None and options.labelled and len(names) == 1:
            options = replace(options, label=next(iter(names)))  # a ClassLabel column is a label by its type
        label = options.label
        self.names: list[str] | None = None
        """What the codes of the label stand for; None where labels are no codes."""
        if isinstance(label, Hashable) and label in names and options.labelled:
            self.names = names[label]
            options = replace(options, classes=self.names if options.classes is None else options.classes)
        self.dataset = dataset
        """The split that is read."""
        self.options = options
        """With the label and the classes that the dataset names."""
        self.image = images[0] if len(images) == 1 and images[0] not in options.without else None
        """The column of images, which makes the samples images."""

    def spelled(self, table: RawTable) -> RawTable:
        """The table with its labels by name."""
        label = self.options.label
        if self.names is None or label not in table.frame.columns:
            return table
        codes, names = table.frame[label], self.names
        spelled = np.array(
            [None if code != code or code < 0 else names[int(code)] for code in codes], dtype=object
        )
        return replace(table, frame=table.frame.assign(**{str(label): spelled}))

    def columns(self, table: RawTable, options: ReadOptions) -> Columns:
        """Which column of a table with images means what."""
        # A text in place of the image: what remains holds the labels and the ids.
        others = replace(table, frame=table.frame.assign(**{str(self.image): ""}))
        found = find_columns(
            without_columns(others, options.without), replace(options, text=self.image, path=None)
        )
        return replace(found, text=None)

    def images(self, table: RawTable, options: ReadOptions) -> tuple[Samples, Columns, np.ndarray]:
        """(samples, what the columns mean, the rows that became samples)."""
        columns = self.columns(table, options)
        rows = with_labels(table, columns, options)
        table = table.take(rows) if len(rows) < len(table.frame) else table
        records, name = list(table.frame[self.image]), table.name
        table = replace(table, frame=table.frame.assign(**{str(self.image): ""}))
        samples = samples_from_table(table, replace(columns, text=self.image), options)
        images, kept = _decoded(records, name, options)
        pixels = images if len(kept) == len(records) else images[kept]
        return replace(samples.take(kept), x=pixels, kind="image"), columns, rows[kept]


def _decoded(records: list[Any], name: str, options: ReadOptions) -> tuple[np.ndarray, np.ndarray]:
    """(N, size, size, 3) images of stored records, and which of them could be read."""
    size = options.size
    images = np.empty((len(records), size, size, CHANNELS), dtype=np.uint8)
    failed: dict[int, str] = {}
    for row, record in enumerate(records):
        try:
            data = record["bytes"] if record["bytes"] is not None else Path(record["path"]).read_bytes()
            images[row] = np.frombuffer(decode_image(data, size), np.uint8).reshape(size, size, CHANNELS)
        except (UnreadableImageError, OSError, TypeError) as error:
            failed[row] = str(error)
    if failed and options.unreadable == "stop":
        shown = first_few([f"row {row} ({reason})" for row, reason in failed.items()], 20, "; ")
        raise DataError(
            f"{len(failed)} of {len(records)} images of {name} cannot be read: {shown}. Mend or remove them",
            Hint("unreadable", "skip", "to leave them out"),
        )
    kept = np.setdiff1d(np.arange(len(records)), list(failed)).astype(np.int64)
    if not len(kept):
        raise NoImagesError(f"none of the {len(records)} images of {name} can be read")
    return images, kept
