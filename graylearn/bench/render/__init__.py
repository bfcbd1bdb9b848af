"""Tables for people and programs: terminal, Markdown, CSV and LaTeX."""

from graylearn.bench.render.latex import latex
from graylearn.bench.render.markdown import markdown, markdown_grid
from graylearn.bench.render.terminal import show
from graylearn.bench.render.tidy import csv_text

__all__ = ["csv_text", "latex", "markdown", "markdown_grid", "show"]
