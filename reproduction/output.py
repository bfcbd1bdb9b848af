"""What an experiment leaves in a folder, made of rows of the store: tables in all forms, and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.figures import draw
from reproduction.records import Row
from reproduction.render import csv_text, latex, markdown
from reproduction.summary import tables


def write(experiment: str, rows: Sequence[Row], folder: str | Path) -> list[Path]:
    """Write NAME.md, NAME.csv, one .tex a table and each figure as PNG and SVG; returns what was written."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = tables(experiment, rows)
    texts = {
        f"{experiment}.md": "\n".join(markdown(table) for table in made),
        f"{experiment}.csv": csv_text(made),
        **{f"{table.name}.tex": latex(table) for table in made},
    }
    written = []
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        written.append(folder / name)
    return written + draw(experiment, rows, folder)
