"""A table into `Samples`, whatever its columns hold: features, texts, or the paths of images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from graylearn.data.columns import find_columns, without_columns
from graylearn.data.images.files import samples_from_manifest
from graylearn.data.options import Columns, ReadOptions
from graylearn.data.samples import Samples
from graylearn.data.table_samples import check_header, samples_from_table, with_labels
from graylearn.data.tables import RawTable


def of_table(table: RawTable, root: Path, options: ReadOptions) -> tuple[Samples, Columns, np.ndarray]:
    """(samples, what the columns mean, the rows that became samples); root: where paths of images begin."""
    if options.id is False and not pd.Index(table.ids).is_unique:
        table = replace(table, ids=np.arange(len(table.frame)))  # an index that repeats names no row
    table = without_columns(table, options.without)
    columns = find_columns(table, options)
    check_header(table, columns.label)
    rows = with_labels(table, columns, options)
    if len(rows) < len(table.frame):
        table = table.take(rows)
    if columns.path is None:
        return samples_from_table(table, columns, options), columns, rows
    samples, kept = samples_from_manifest(table, columns, root, options)
    return samples, columns, rows[kept]
