"""Each example finds the wrong labels it was given, with no more than five lines of ours."""

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "examples"
HOOKS = sorted(path.stem for path in FOLDER.glob("*.py") if "# ours" in path.read_text(encoding="utf-8"))
NOT_PINNED = {"keras_on_torch": "keras"}
"""Examples of what the tests do not install, by the package: run where somebody has it."""

pytestmark = pytest.mark.filterwarnings("ignore")  # what the frameworks say to one another


@pytest.mark.parametrize("name", HOOKS)
def test_the_example_finds_the_wrong_labels(name):
    if name in NOT_PINNED and importlib.util.find_spec(NOT_PINNED[name]) is None:
        pytest.skip(f"{NOT_PINNED[name]} is not installed")
    audit, wrong = importlib.import_module(name).main()
    assert audit.suspected[wrong].mean() > 1 / 3
    assert wrong[audit.suspected].mean() > 0.8


@pytest.mark.parametrize("name", HOOKS)
def test_five_lines_are_ours_at_most(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# ours")}
    assert 1 <= len(marked) <= 5
    tree = ast.parse(text)
    ours = {"gl"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("graylearn"):
            ours |= {alias.name for alias in node.names}
    used = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in ours}
    assert used <= marked, "a line that uses graylearn is not marked as ours"
