"""Each form of a table says the same and escapes what it must."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from reproduction.columns import Column, Entry
from reproduction.experiments import EXPERIMENTS
from reproduction.render import csv_text, latex, markdown, show
from reproduction.render.latex import escape as latex_escape
from reproduction.render.markdown import escape as markdown_escape
from reproduction.statistics import Spread
from reproduction.store import Store
from reproduction.summary import Table, tables

RESULTS = Path(__file__).parents[2] / "results"


def entry(mean, sd=0.25, n=3, **changes):
    settings = {"best": False, "mark": "", "p": None, "paper": None, "recovered": None} | changes
    return Entry(Spread(mean, sd, n), **settings)


@pytest.fixture
def table():
    printed = {"standard": 93.8, "gl": 95.2, "mae": 94.1}
    full = Column(
        "Set_A | 50% & more",
        3,
        {
            "oracle": entry(96.0),
            "standard": entry(93.0, paper=93.8),
            "gl": entry(95.0, best=True, mark="+", p=0.01, paper=95.2, recovered=Spread(2 / 3, 0.1, 3)),
            "gl-label": entry(92.0, None, 1, mark="-", recovered=Spread(-1 / 3, None, 1)),
        },
        printed,
        {"dataset": "a"},
    )
    empty = Column("B", 0, {}, printed, {"dataset": "b"}, "needs b_file.csv")
    return Table("t", "A title with 100% #1", ("A note_with $ signs [not a link].",), (full, empty))


def test_terminal_shows_numbers_marks_paper_and_what_is_needed(table):
    console = Console(width=120, record=True, file=io.StringIO())
    show([table], console)
    text = console.export_text()
    for expected in (
        "95.0 ± 0.2+",
        "(95.2, -0.2)",
        "92.0 (n=1)-",
        "needs b_file.csv",
        "67 ± 10",
        "[not a link]",
    ):
        assert expected in text


def test_terminal_cuts_a_wide_table_into_pieces_and_loses_none(table):
    wide = Table("w", "wide", (), tuple(table.columns[0] for _ in range(9)))
    console = Console(width=80, record=True, file=io.StringIO())
    show([wide], console)
    text = console.export_text()
    assert text.count("95.0 ± 0.2+") == 9
    assert all(len(line) <= 80 for line in text.splitlines())


def test_markdown_is_a_whole_grid_with_escaped_names(table):
    text = markdown(table)
    assert r"Set\_A \| 50% & more<br>3 seeds" in text
    assert "**95.0 ± 0.2** <sup>+</sup><br>(95.2, -0.2)" in text
    assert r"needs b\_file.csv" in text
    assert r"\[not a link\]" in text
    grids = re.findall(r"(?:^\|.*\|\n?)+", text, re.MULTILINE)
    assert len(grids) == 2  # the accuracies, and the gap won back
    for grid in grids:
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in grid.splitlines()}
        assert len(bars) == 1


def test_csv_reads_back_number_by_number(table):
    lines = list(csv.DictReader(io.StringIO(csv_text([table]))))
    gl = next(line for line in lines if line["method"] == "gl" and line["column"].startswith("Set_A"))
    assert (gl["mean"], gl["sd"], gl["seeds"], gl["best"], gl["mark"]) == ("95.0", "0.25", "3", "1", "+")
    assert float(gl["recovered"]) == pytest.approx(2 / 3, abs=1e-6)
    assert float(gl["difference"]) == pytest.approx(-0.2)
    empty = next(line for line in lines if line["method"] == "mae" and line["column"] == "B")
    assert (empty["mean"], empty["paper"], empty["note"]) == ("", "94.1", "needs b_file.csv")


def test_csv_defuses_formulas(table):
    column = Column("=SUM(A1)", 3, {"gl": entry(95.0)}, {}, {})
    [line] = csv.DictReader(io.StringIO(csv_text([Table("t", "", (), (column,))])))
    assert line["column"] == "'=SUM(A1)"


def latex_tables(text):
    """The (column specification, lines) of each tabular, after what holds for a whole file."""
    for name in ("table", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}")
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    found = re.findall(
        r"\\begin{tabular}{(\w+)}\n\\toprule\n(.*?)\\bottomrule\n\\end{tabular}}", text, re.DOTALL
    )
    tables = [
        (columns, [line for line in body.splitlines() if line != r"\midrule"]) for columns, body in found
    ]
    for columns, lines in tables:
        assert all(line.endswith(r" \\") for line in lines)
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(columns) - 1}
    return tables


def test_latex_has_balanced_environments_and_even_columns(table):
    text = latex(table)
    assert text.startswith("% needs \\usepackage{booktabs,graphicx}\n")
    [(columns, _)] = latex_tables(text)
    assert columns == "lrr"
    assert r"\textbf{95.0 $\pm$ 0.2}$^{+}$" in text
    assert r"{\footnotesize\shortstack[r]{Set\_A $|$ 50\% \& \\ more \\ 3 seeds}}" in text
    assert r"\shortstack[r]{B \\ needs b\_file.csv}" in text


def test_latex_headings_are_stacks_of_short_lines_and_many_columns_several_tables(table):
    title = (
        "Tiny-ImageNet (100), OOD other classes, specific labels, preset paper-warm, 60 epochs, 16000 samples"
    )
    columns = tuple(replace(table.columns[0], title=f"{title}, column {place}") for place in range(18))
    text = latex(replace(table, columns=columns))
    tables = latex_tables(text)
    assert [columns for columns, _ in tables] == ["l" + "r" * 6] * 3
    assert len(set(re.findall(r"column \d+", text))) == 18
    assert text.count(r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%") == 3
    assert len(set(re.findall(r"\\label{(.*)}", text))) == 3
    for _, lines in tables:
        for stack in re.findall(r"\\shortstack\[r\]{(.*?)}", lines[0]):
            assert max(map(len, stack.split(r" \\ "))) <= 16


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_latex_of_the_committed_results_fits(experiment):
    store = Store(RESULTS / f"{experiment}.jsonl")
    for made in tables(experiment, store.rows(experiment)):
        for columns, lines in latex_tables(latex(made)):
            assert len(columns) <= 9
            for cell in lines[0].split(" & ")[1:]:
                stack = cell.removeprefix(r"{\footnotesize\shortstack[r]{").split(r" \\ ")
                assert max(map(len, stack)) <= 24


def test_latex_escapes_every_special_letter():
    assert latex_escape(r"\ & % $ # _ { } ~ ^ [ *") == (
        r"\textbackslash{} \& \% \$ \# \_ \{ \} \textasciitilde{} \textasciicircum{} {[} {*}"
    )


def test_markdown_escapes_what_it_would_read():
    assert markdown_escape("a|b *c* _d_ `e` <f> [g]\nh") == r"a\|b \*c\* \_d\_ \`e\` \<f\> \[g\] h"
