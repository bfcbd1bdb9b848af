"""Tables as Markdown that GitHub shows."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.columns import Column
from reproduction.names import method_title
from reproduction.render.cells import MISSING, head, number, printed, recovered_lines
from reproduction.summary import Table

_SPECIAL = "\\`*_{}[]<>|#~"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table."""
    return "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in text).replace("\n", " ")


def markdown_grid(top: Sequence[str], body: Sequence[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """A table of ready Markdown cells: the columns of `words` to the left, numbers to the right."""
    rule = ["---" if place in words else "---:" for place in range(len(top))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [top, rule, *body])


def markdown(table: Table) -> str:
    """The title, the table, the share of the gap won back and the notes."""
    top = ["", *[f"{escape(column.title)}<br>{escape(head(column))}" for column in table.columns]]
    body = [
        [escape(method_title(method)), *[_cell(column, method) for column in table.columns]]
        for method in table.methods
    ]
    parts = [f"**{escape(table.title)}**", markdown_grid(top, body)]
    if lines := recovered_lines(table):
        methods = [m for m in table.methods if any(m in shares for _, shares in lines)]
        grid = markdown_grid(
            ["gap won back, %", *[escape(method_title(m)) for m in methods]],
            [[escape(title), *[shares.get(m, MISSING) for m in methods]] for title, shares in lines],
        )
        parts.append(grid)
    parts.append("\n".join(f"- {escape(note)}" for note in table.notes))
    return "\n\n".join(parts) + "\n"


def _cell(column: Column, method: str) -> str:
    entry = column.entries.get(method)
    beside = printed(column, method)
    if entry is None:
        return f"{MISSING} ({beside})" if beside else MISSING
    text = escape(number(entry, column))
    text = f"**{text}**" if entry.best else text
    text += f" <sup>{entry.mark}</sup>" if entry.mark else ""
    return f"{text}<br>({beside})" if beside else text
