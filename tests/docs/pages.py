"""The pages that people read, and the code blocks in them."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
SOURCES = sorted((ROOT / "graylearn").rglob("*.py"))
NOT_RUN = re.compile(r"# not run: \S+")
"""The first line of a block that cannot run says so to the reader, and why."""

_FENCE = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int

    @property
    def runs(self) -> bool:
        return not NOT_RUN.match(self.code)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = []
    for fence in _FENCE.finditer(text):
        indent, language, code = fence.groups()
        code = "".join(line.removeprefix(indent) for line in code.splitlines(keepends=True))
        found.append(Block(language, code, text.count("\n", 0, fence.start()) + 1))
    return found


def docstrings(path: Path) -> str:
    """All docstrings of a file, one after another."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return "\n\n".join(ast.get_docstring(node) or "" for node in tree if isinstance(node, kinds))
