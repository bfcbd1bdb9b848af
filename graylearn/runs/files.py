"""Files that a run writes: JSON and CSV, each whole or not at all."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from graylearn.data.atomic import replacing, write_text
from graylearn.data.cells import guarded


def write_json(path: Path, value: Any) -> None:
    """A JSON file for people too."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def write_csv(file: Path | TextIO, table: pd.DataFrame, **options: Any) -> None:
    """A table as CSV in UTF-8, text that a spreadsheet would take for a formula guarded by an apostrophe.

    An open file is added to.
    """
    texts = [name for name, kind in table.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
    safe = {
        str(name): table[name].map(lambda cell: guarded(cell) if isinstance(cell, str) else cell)
        for name in texts
    }
    with replacing(file) if isinstance(file, Path) else nullcontext(file) as opened:
        table.assign(**safe).to_csv(opened, index=False, encoding="utf-8", lineterminator="\n", **options)


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths name one existing file or folder."""
    try:
        return one.samefile(other)
    except OSError:
        return False
