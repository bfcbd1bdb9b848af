"""Tables as LaTeX, for a document that uses the package booktabs."""

from __future__ import annotations

from graylearn.bench.names import method_title
from graylearn.bench.render.cells import head, number, printed
from graylearn.bench.summary import Column, Table

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
}


def escape(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def latex(table: Table) -> str:
    """A table environment: ours on one line a method, the paper's numbers small on the next."""
    count = len(table.columns)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(table.title)}. {escape(' '.join(table.notes))}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{l{'r' * count}}}",
        r"\toprule",
        " & ".join(["", *[escape(column.title) for column in table.columns]]) + r" \\",
        " & ".join(["", *[rf"{{\footnotesize {escape(head(c))}}}" for c in table.columns]]) + r" \\",
        r"\midrule",
    ]
    for method in table.methods:
        name = escape(method_title(method))
        lines.append(" & ".join([name, *[_cell(column, method) for column in table.columns]]) + r" \\")
        beside = [printed(column, method) for column in table.columns]
        if any(beside):
            small = [rf"{{\footnotesize ({escape(text)})}}" if text else "" for text in beside]
            lines.append(" & ".join([r"{\footnotesize\quad paper}", *small]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _cell(column: Column, method: str) -> str:
    entry = column.entries.get(method)
    if entry is None:
        return "--"
    text = escape(number(entry, column))
    text = rf"\textbf{{{text}}}" if entry.best else text
    return text + (f"$^{{{entry.mark}}}$" if entry.mark else "")
