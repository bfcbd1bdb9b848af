"""Tables as LaTeX that fits a page, for a document that uses the packages booktabs and graphicx."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from reproduction.columns import Column
from reproduction.names import method_title
from reproduction.render.cells import head, number, printed
from reproduction.summary import Table

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    # behind the end of a line these two would be read as part of it
    "[": "{[}",
    "*": "{*}",
}

MOST_COLUMNS = 8
"""Of one table beside the methods: with more the numbers would be too small to read on an upright page."""
_LETTERS = 16
"""Of a line of a heading: about as wide as the numbers below it."""


def escape(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def latex(table: Table) -> str:
    """One table environment, or several where there are many columns."""
    count = max(1, -(-len(table.columns) // MOST_COLUMNS))
    size = -(-len(table.columns) // count)
    parts = [table.columns[size * place : size * (place + 1)] for place in range(count)]
    lines = [r"% needs \usepackage{booktabs,graphicx}"]
    for part, columns in enumerate(parts, 1):
        lines += _environment(table, columns, part, count)
    return "\n".join(lines) + "\n"


def _environment(table: Table, columns: Sequence[Column], part: int, count: int) -> list[str]:
    """Some columns: ours on one line a method, the paper's numbers small on the next."""
    title = table.title if count == 1 else f"{table.title}, part {part} of {count}"
    caption = " ".join([f"{title}.", *table.notes]) if part == 1 else f"{title}."
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{tab:{table.name}{'' if part == 1 else f'-{part}'}}}",
        # made smaller where it is wider than the page, and else left as it is
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        " & ".join(["", *[_heading(column) for column in columns]]) + r" \\",
        r"\midrule",
    ]
    for method in table.methods:
        name = escape(method_title(method))
        lines.append(" & ".join([name, *[_cell(column, method) for column in columns]]) + r" \\")
        beside = [printed(column, method) for column in columns]
        if any(beside):
            small = [rf"{{\footnotesize ({escape(text)})}}" if text else "" for text in beside]
            lines.append(" & ".join([r"{\footnotesize\quad paper}", *small]) + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table}"]


def _heading(column: Column) -> str:
    """Title and seeds of a column as a stack of short lines."""
    pieces = [piece for text in (column.title, head(column)) for piece in re.split(r"[,;] ", text)]
    wrapped = [
        line
        for piece in pieces
        for line in textwrap.wrap(piece, _LETTERS, break_long_words=False, break_on_hyphens=False)
    ]
    stack = r" \\ ".join(map(escape, wrapped))
    return rf"{{\footnotesize\shortstack[r]{{{stack}}}}}"


def _cell(column: Column, method: str) -> str:
    entry = column.entries.get(method)
    if entry is None:
        return "--"
    text = escape(number(entry, column))
    text = rf"\textbf{{{text}}}" if entry.best else text
    return text + (f"$^{{{entry.mark}}}$" if entry.mark else "")
