"""Tables as CSV for people, who open them in a spreadsheet."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from graylearn.data.atomic import replacing
from graylearn.data.cells import guarded


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
