"""Tables for people and programs: terminal, Markdown, CSV and LaTeX."""

from reproduction.render.latex import latex
from reproduction.render.markdown import markdown, markdown_grid
from reproduction.render.terminal import show
from reproduction.render.tidy import csv_text

__all__ = ["csv_text", "latex", "markdown", "markdown_grid", "show"]
