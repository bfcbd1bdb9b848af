"""The page of promises names tests that are there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reference" / "promises.md").read_text(encoding="utf-8")


def test_every_promise_is_held_by_a_test_that_is_there():
    promised = [line for line in PAGE.splitlines() if re.match(r"\| [A-Z]", line)]
    assert len(promised) >= 18
    for line in promised:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", line)
        assert named, line
        for file, test in named:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test
