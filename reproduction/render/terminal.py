"""Tables in the terminal, with rich."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from reproduction.columns import Column
from reproduction.names import method_title
from reproduction.render.cells import MISSING, head, number, printed, recovered_lines
from reproduction.summary import Table


def show(tables: Sequence[Table], console: Console | None = None) -> None:
    """Print tables. Text objects are used throughout, so that no name is read as markup."""
    console = console or Console()
    for table in tables:
        for part in _parts(table, console.width):
            console.print(part)
        for start in range(0, len(lines := recovered_lines(table)), at_once := _at_once(console.width)):
            console.print(_recovered(table, lines[start : start + at_once]))
        for note in table.notes:
            console.print(Text(note, style="dim"))


def _parts(table: Table, width: int) -> list[Grid]:
    """The table cut into as many pieces as the terminal is too narrow for."""
    at_once = _at_once(width)
    starts = range(0, len(table.columns), at_once)
    return [
        _grid(table, table.columns[start : start + at_once], table.title if start == 0 else None)
        for start in starts
    ]


def _at_once(width: int) -> int:
    """Columns that fit beside the names of the methods."""
    return max(1, (width - 15) // 18)


def _recovered(table: Table, lines: Sequence[tuple[str, dict[str, str]]]) -> Grid:
    grid = Grid(title=Text("of the gap between standard and oracle, won back, %"), title_justify="left")
    grid.add_column("")
    for title, _ in lines:
        grid.add_column(Text(title), justify="right", min_width=11, max_width=22)
    for method in table.methods:
        if any(method in shares for _, shares in lines):
            cells = [Text(shares.get(method, MISSING)) for _, shares in lines]
            grid.add_row(Text(method_title(method)), *cells)
    return grid


def _grid(table: Table, columns: Sequence[Column], title: str | None) -> Grid:
    grid = Grid(title=None if title is None else Text(title, style="bold"), title_justify="left")
    grid.add_column("")
    for column in columns:
        heading = Text(column.title)
        heading.append(f"\n{head(column)}", style="dim")
        grid.add_column(heading, justify="right", min_width=11, max_width=22)
    for method in table.methods:
        grid.add_row(Text(method_title(method)), *[_cell(column, method) for column in columns])
    return grid


def _cell(column: Column, method: str) -> Text:
    entry = column.entries.get(method)
    beside = printed(column, method)
    if entry is None:
        text = Text(MISSING, style="dim")
    else:
        text = Text(number(entry, column), style="bold" if entry.best else "")
        text.append(entry.mark or " ")
    if beside:
        text.append(f"\n({beside})", style="dim not bold")
    return text
