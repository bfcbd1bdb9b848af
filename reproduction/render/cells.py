"""The words inside a cell of a table, the same for every renderer."""

from __future__ import annotations

from graylearn.errors import counted
from reproduction.columns import Column, Entry
from reproduction.statistics import Spread
from reproduction.summary import Table

MISSING = "-"
"""Where nothing was measured."""


def number(entry: Entry, column: Column) -> str:
    """`94.1 ± 0.2`, with the number of seeds where it is not that of the column."""
    text = str(entry.spread)
    return text if entry.spread.n == column.seeds else f"{text} (n={entry.spread.n})"


def printed(column: Column, method: str) -> str:
    """`93.8, +0.3`: the paper's number, and ours minus it where there is ours."""
    value = column.paper.get(method)
    if value is None:
        return ""
    entry = column.entries.get(method)
    digits = 1 if round(value, 1) == value else 2
    text = f"{value:.{digits}f}"
    return text if entry is None else f"{text}, {entry.spread.mean - value:+.{digits}f}"


def head(column: Column) -> str:
    """What stands above a column, under its title."""
    if column.note is not None:
        return column.note
    return counted(column.seeds, "seed")


def share(found: Spread) -> str:
    """A share in percent: `75 ± 8`."""
    return f"{100 * found.mean:.0f}" + ("" if found.sd is None else f" ± {100 * found.sd:.0f}")


def recovered_lines(table: Table) -> list[tuple[str, dict[str, str]]]:
    """(column, method -> percent of the gap won back) of the columns whose gap is a point or more."""
    found = []
    for column in table.columns:
        shares = {name: share(e.recovered) for name, e in column.entries.items() if e.recovered is not None}
        if shares:
            found.append((column.title, shares))
    return found
