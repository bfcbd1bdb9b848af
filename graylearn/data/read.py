"""`read`: any dataset into `Samples`; `read_file` does the same for files and tells how they were read.

Library and command line both read here, by the formats of `graylearn.data.formats`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graylearn.data.columns import without_columns
from graylearn.data.formats import Origin, opened
from graylearn.data.formats.hugging_face import DatasetTable
from graylearn.data.inputs import as_plain, as_samples, is_hugging_face
from graylearn.data.samples import Label, Samples
from graylearn.data.table_samples import of_table
from graylearn.data.tables import (
    EMBED_SIZE,
    PIXELS_SIZE,
    Columns,
    ReadOptions,
    can_embed_images,
    table_from_pandas,
)
from graylearn.errors import DataError


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
    if isinstance(source, str | os.PathLike):
        return read_file(source, options)[0]
    if is_hugging_face(source):
        dataset = DatasetTable(source, options)
        return of_table(dataset.whole(), Path(), dataset.options)[0]
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


def read_file(source: str | os.PathLike[str], options: ReadOptions) -> tuple[Samples, Origin]:
    """The samples of a file or folder, and what was read: what `read` gives for it, and how it got there."""
    return read_with_others(source, options)[:2]


def read_with_others(
    source: str | os.PathLike[str], options: ReadOptions
) -> tuple[Samples, Origin, pd.DataFrame | None]:
    """The same, and the columns of a table that no sample is made of, one row per sample; else None."""
    origin, found = opened(source, options)
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


def _of_array(source: Any, values: Any, options: ReadOptions) -> Samples:
    if options.group is not None:
        raise DataError("an array has no column of groups: give groups= to gl.audit or GrayClassifier.fit")
    if values is source and not isinstance(source, np.ndarray | list) and not hasattr(source, "__array__"):
        raise DataError(f"cannot read {type(source).__name__}; give a path, a table, an array or a dataset")
    ids = None if options.id is None or options.id is False else options.id
    return as_samples(values, options.label, ids=ids, classes=options.classes, labelled=options.labelled)
