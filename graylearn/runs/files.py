"""Files of a run: JSON that is whole or not there, and tables that are added to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from graylearn.data.atomic import write_text
from graylearn.data.csv_files import write_csv


def write_json(path: Path, value: Any) -> None:
    """A JSON file for people too."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def added_to(file: Path | TextIO, **options: Any) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Give a function that adds tables of one kind to a file: Parquet by its name, else CSV.

    options: of `to_csv`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None
    with ExitStack() as stack:
        is_parquet = isinstance(file, Path) and file.suffix.lower() == ".parquet"
        if not is_parquet and isinstance(file, Path):
            file = stack.enter_context(file.open("w", encoding="utf-8", newline=""))

        def add(table: pd.DataFrame) -> None:
            nonlocal writer
            if is_parquet:
                arrow = pa.Table.from_pandas(table, preserve_index=False)
                writer = writer or stack.enter_context(pq.ParquetWriter(file, arrow.schema))
                writer.write_table(arrow.cast(writer.schema))
            else:
                write_csv(file, table, header=writer is None, **options)
                writer = file

        yield add
