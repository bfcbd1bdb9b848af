"""Tables as CSV: one line a method and column, every number in a column of its own."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from reproduction.summary import Table

FIELDS = (
    "table",
    "column",
    "method",
    "measure",
    "mean",
    "sd",
    "seeds",
    "best",
    "mark",
    "p",
    "recovered",
    "paper",
    "difference",
    "note",
)


def csv_text(tables: Sequence[Table]) -> str:
    """All tables in one sheet. A name that a spreadsheet would run as a formula is made text by a quote."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(FIELDS)
    for table in tables:
        for column in table.columns:
            for method in table.methods:
                entry, printed = column.entries.get(method), column.paper.get(method)
                if entry is None and printed is None:
                    continue
                start = [table.name, column.title, method, table.measure]
                if entry is None:
                    line = [*start, "", "", 0, "", "", "", "", printed, "", column.note or ""]
                else:
                    found = entry.spread
                    line = [
                        *start,
                        _float(found.mean),
                        _float(found.sd),
                        found.n,
                        int(entry.best),
                        entry.mark,
                    ]
                    line += [
                        _float(entry.p),
                        _float(None if entry.recovered is None else entry.recovered.mean),
                        _float(printed),
                    ]
                    line += [_float(entry.difference), column.note or ""]
                writer.writerow([_safe(value) for value in line])
    return file.getvalue()


def _float(value: float | None) -> str | float:
    return "" if value is None else round(value, 6)


def _safe(value: object) -> object:
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) and len(value) > 1:
        return f"'{value}"
    return value
