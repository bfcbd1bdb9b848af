"""Hugging Face `datasets` into `Samples`. The package is the user's own: nothing here imports it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graylearn.data.columns import find_columns, without_columns
from graylearn.data.images.decode import CHANNELS, UnreadableImageError, decode_image
from graylearn.data.options import Columns, ReadOptions
from graylearn.data.samples import Label, Samples
from graylearn.data.table_samples import samples_from_table
from graylearn.data.tables import RawTable, table_from_arrow
from graylearn.errors import DataError, Hint


def is_hugging_face(source: Any) -> bool:
    """Whether this is a dataset, or a dict of them, of the `datasets` package."""
    return any(cls.__module__.split(".")[0] == "datasets" for cls in type(source).__mro__)


def samples_from_hugging_face(dataset: Any, options: ReadOptions) -> Samples:
    """Samples of a `datasets.Dataset`; labels of a ClassLabel column go by their names, in its order."""
    if isinstance(dataset, dict):  # a DatasetDict
        if options.split not in dataset:
            raise DataError(
                f"the dataset has the splits {', '.join(dataset)};", Hint("split", None, "to choose one")
            )
        dataset = dataset[options.split]
    if not hasattr(dataset, "num_rows"):
        raise DataError(
            f"{type(dataset).__name__} streams its rows; load the dataset without streaming=True to read it"
        )
    name = f"the dataset ({dataset.num_rows} rows)"
    images = [column for column, kind in dataset.features.items() if type(kind).__name__ == "Image"]
    # Undecoded, an image is a record of its bytes and path, which goes through the one decoder of ours.
    for column in images:
        dataset = dataset.cast_column(column, type(dataset.features[column])(decode=False))
    names = {
        column: list(kind.names)
        for column, kind in dataset.features.items()
        if type(kind).__name__ == "ClassLabel" and kind.names
    }
    table = table_from_arrow(dataset.with_format("arrow")[:], name)
    if options.label is None and options.labelled and len(names) == 1:
        options = replace(options, label=next(iter(names)))  # a ClassLabel column is a label by its type
    label = options.label
    if isinstance(label, Hashable) and label in names and options.labelled:
        table, classes = _named(table, label, names[label], options.classes)
        options = replace(options, classes=classes)
    table = without_columns(table, options.without)
    if len(images) != 1 or images[0] not in table.frame.columns:
        return samples_from_table(table, find_columns(table, options), options)
    return _image_samples(table, images[0], options)


def label_of(dataset: Any) -> str | None:
    """The column of a dataset that is a label by its type; None where none or several are."""
    found = [name for name, kind in dataset.features.items() if type(kind).__name__ == "ClassLabel"]
    return found[0] if len(found) == 1 else None


def _named(
    table: RawTable, label: Hashable, names: list[str], classes: Sequence[Label] | None
) -> tuple[RawTable, Sequence[Label]]:
    """The table with its labels spelled out, and the classes in the order that the dataset gives them."""
    codes = table.frame[label]
    spelled = np.array(
        [None if code != code or code < 0 else names[int(code)] for code in codes], dtype=object
    )
    frame = table.frame.assign(**{str(label): spelled})
    return replace(table, frame=frame), classes if classes is not None else names


def _image_samples(table: RawTable, column: str, options: ReadOptions) -> Samples:
    records = list(table.frame[column])
    # What remains of the table, with a text in place of the image, holds the labels and the ids.
    table = replace(table, frame=table.frame.assign(**{column: ""}))
    found = find_columns(table, replace(options, text=column, path=None))
    rows = samples_from_table(table, Columns(found.label, found.id, column), options)
    size = options.size
    images = np.empty((len(records), size, size, CHANNELS), dtype=np.uint8)
    failed: dict[int, str] = {}
    for row, record in enumerate(records):
        try:
            data = record["bytes"] if record["bytes"] is not None else Path(record["path"]).read_bytes()
            images[row] = np.frombuffer(decode_image(data, size), np.uint8).reshape(size, size, CHANNELS)
        except (UnreadableImageError, OSError, TypeError) as error:
            failed[row] = str(error)
    if failed and options.on_error == "stop":
        shown = "; ".join(f"row {row} ({reason})" for row, reason in list(failed.items())[:20])
        raise DataError(
            f"{len(failed)} of {len(records)} images of {table.name} cannot be read: {shown}. "
            "Mend or remove them",
            Hint("on_error", "skip", "to leave them out"),
        )
    kept = np.setdiff1d(np.arange(len(records)), list(failed)).astype(np.int64)
    if not len(kept):
        raise DataError(f"none of the {len(records)} images of {table.name} can be read")
    pixels = images if not failed else images[kept]
    return Samples(pixels, rows.y[kept], rows.classes, rows.ids[kept], "image")
