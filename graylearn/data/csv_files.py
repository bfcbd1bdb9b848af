"""Tables as CSV for people, who open them in a spreadsheet, and cells that must not run there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from graylearn.data.atomic import replacing

_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
_FORMULA = re.compile(f"(?=[\\s\\S]*[^ \t\r\n'{_SIGNS}])'*[ \t\r\n]*[{_SIGNS}]|'*[\t\r\n]")
"""How a cell begins that a spreadsheet would take for a formula, or one that is guarded from that; signs
alone, such as the labels + and -, are none."""


def write_csv(file: Path | TextIO, table: pd.DataFrame, **options: Any) -> None:
    """A table as CSV in UTF-8, text that a spreadsheet would take for a formula guarded by an apostrophe.

    A file is whole or not there; an open one is added to.
    """
    texts = [name for name, kind in table.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
    safe = {
        str(name): table[name].map(lambda cell: guarded(cell) if isinstance(cell, str) else cell)
        for name in texts
    }
    with replacing(file) if isinstance(file, Path) else nullcontext(file) as opened:
        table.assign(**safe).to_csv(opened, index=False, encoding="utf-8", lineterminator="\n", **options)


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


def guarded(cell: str) -> str:
    """With an apostrophe before what a spreadsheet would take for a formula; numbers are none.

    A cell that already has apostrophes there gets one more: `unguarded` takes exactly one away.
    """
    if not _FORMULA.match(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def unguarded(cell: str) -> str:
    """What `guarded` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
