"""`read`: the one door for data. It looks at what it is given and calls the reader made for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import torch

from graylearn.data.readers.arrays import samples_from_arrays, samples_from_npz
from graylearn.data.readers.hugging_face import is_hugging_face, samples_from_hugging_face
from graylearn.data.readers.image_folder import (
    ImageOptions,
    path_column,
    samples_from_image_folder,
    samples_from_manifest,
)
from graylearn.data.readers.table_files import TABLE_SUFFIXES, read_table_file, table_suffix
from graylearn.data.readers.tables import (
    Table,
    find_column,
    samples_from_table,
    table_from_arrow,
    table_from_pandas,
)
from graylearn.data.samples import Label, Samples
from graylearn.errors import DataError


def read(
    source: Any,
    *,
    label: Any = None,
    id: Any = None,
    text: Any = None,
    path: Any = None,
    labelled: bool = True,
    classes: Sequence[Label] | None = None,
    split: str | None = None,
    size: int = 64,
    cache: str | Path | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    workers: int | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> Samples:
    """Read any data set into `Samples`.

    Args:
        source: a path to a table file (CSV, TSV, Parquet, Feather or JSON lines, also .gz or .zst), to an
            .npz or .npy file, or to a folder of images with one folder a class; a pandas, polars or
            pyarrow table; a Hugging Face dataset; a NumPy array, torch tensor or list, or a pair of it and
            its labels. Samples come back as they are.
        label: the column of the labels by name or place, or the labels themselves. None takes the one column
            called label, labels, target, class or y.
        id: the column that names the rows. None takes the one called id, or the nameless first column that
            pandas writes; without either, rows go by their line in the file, their index or their number.
            False: by those in any case.
        text: the column of texts, which makes the samples texts. None takes one called text, sentence or
            document where only labels and ids stand beside it.
        path: the column of image paths, relative to the table's folder, which makes the samples images. None
            takes one called path, file, filename or image (and a few more) whose first value ends like one.
        labelled: False for data without labels; a column named with `label` is left out where present.
        classes: the classes of a saved model, whose order is kept; a label outside them is an error.
        split: which split of an .npz file or a dictionary of Hugging Face datasets.
        size: pixels a side of decoded images.
        cache: folder of decoded images; None is the user's cache folder.
        on_error: "stop" at unreadable images, listing them, or "skip" them.
        workers: processes that decode images; None is one a core.
        separator: what parts the cells of delimited text; None looks at the first line.
        header: whether delimited text begins with a header; None looks at the first line.
        encoding: of delimited text.
    """
    if isinstance(source, Samples):
        return source
    images = ImageOptions(size=size, cache=cache, on_error=on_error, workers=workers)
    labels: dict[str, Any] = {"label": label, "classes": classes, "labelled": labelled}
    root = Path()
    if isinstance(source, str | os.PathLike):
        file = Path(source)
        if file.is_dir():
            return samples_from_image_folder(file, images, classes=classes, labelled=labelled)
        if file.suffix.lower() in (".npz", ".npy"):
            return samples_from_npz(file, split=split, **labels)
        table = _table_of_file(file, separator, header, encoding)
        root = file.parent
    elif is_hugging_face(source):
        return samples_from_hugging_face(source, images, split=split, id=id, text=text, **labels)
    else:
        found = _table_of_object(source)
        if found is None:
            return _of_arrays(source, id, **labels)
        table = found
    if not labelled and isinstance(label, str | int) and label not in table.frame.columns:
        labels["label"] = None  # new data need not have the column that the model learned to predict
    column = path_column(table, label) if path is None and text is None else None
    if path is not None:
        column = find_column(table, path, "image paths")
    if column is not None:
        return samples_from_manifest(table, column, root, images, id=id, **labels)
    return samples_from_table(table, id=id, text=text, **labels)


def _table_of_file(file: Path, separator: str | None, header: bool | None, encoding: str) -> Table:
    if not file.exists():
        raise DataError(f"{file} does not exist")
    if table_suffix(file) not in TABLE_SUFFIXES:
        raise DataError(
            f"{file} ends in {table_suffix(file) or 'nothing'!r}; known are "
            f"{', '.join(TABLE_SUFFIXES)}, .npz, .npy and folders of images"
        )
    return read_table_file(file, separator=separator, header=header, encoding=encoding)


def _table_of_object(source: Any) -> Table | None:
    """A table held in memory, or None where the object is not one."""
    if isinstance(source, pd.DataFrame):
        return table_from_pandas(source, "the frame")
    if isinstance(source, pd.Series):
        return None
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    elif type(source).__module__.split(".")[0] == "polars":
        source = source.collect() if hasattr(source, "collect") else source
        source = source.to_arrow() if hasattr(source, "to_arrow") else source
    if isinstance(source, pa.Table):
        return table_from_arrow(source, "the table")
    if isinstance(source, np.ndarray) and source.dtype.names:  # a structured array is a table
        return table_from_pandas(pd.DataFrame.from_records(source), "the array")
    return None


def _of_arrays(
    source: Any, ids: Any, *, label: Any, classes: Sequence[Label] | None, labelled: bool
) -> Samples:
    if isinstance(source, tuple):
        if len(source) != 2:
            raise DataError(f"the tuple holds {len(source)} things; expected the pair (x, y)")
        source, given = source
        label = given if label is None else label
        if (table := _table_of_object(source)) is not None:
            return samples_from_table(table, label=label, id=ids, classes=classes, labelled=labelled)
    if not isinstance(source, np.ndarray | torch.Tensor | list | pd.Series):
        raise DataError(
            f"cannot read {type(source).__name__}; expected a path, a table, an array or a dataset"
        )
    ids = None if ids is None or ids is False else ids
    return samples_from_arrays(source, label, ids=ids, classes=classes, labelled=labelled)
