"""The public face, item by item, each with a test that uses it.

`python tests/face.py --write` makes face.md anew. What vanishes from the code moves to the end of the table,
where the reason has to be written by hand.
"""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

import graylearn as gl
from graylearn.cli.main import app
from graylearn.data.formats import COMPRESSIONS, FORMATS
from graylearn.methods import METHODS
from graylearn.nets import NETS

TESTS = Path(__file__).parent
TABLE = TESTS / "face.md"
PAGE = TESTS.parent / "graylearn" / "report" / "page" / "report.html"
INTRODUCTION = """# The public face

Every name, option, command, format and control of the report, with a test that uses it. Made by
`python tests/face.py --write`; `tests/test_public.py` compares it with the code."""
REASON_MISSING = "why?"
NAMED = {"↓": "ArrowDown", "↑": "ArrowUp", "→": "ArrowRight", "←": "ArrowLeft"}
ROOMS = {
    "report": ("report",),
    "format": ("data", "runs"),
    "method": ("methods", "training"),
    "net": ("nets",),
    "graylearn": ("cli", "runs"),
    "--": ("cli", "runs", "test_options"),
}
"""Where a test of an item may stand, by how the item begins."""
PACKAGES = ("losses", "metrics", "nets", "data", "methods", "training", "audit", "report", "runs")


def signature(thing: object) -> str:
    """Parameters and defaults, without types; "" for what is not called."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ""
    plain = [each.replace(annotation=each.empty) for each in parameters]
    return re.sub(r"<.*?>|\bat 0x\w+", "...", str(inspect.Signature(plain)))


def names() -> Iterator[tuple[str, str]]:
    for name in sorted(gl.__all__):
        thing = getattr(gl, name)
        yield f"gl.{name}", signature(thing)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for word, member in sorted(vars(thing).items()):
                public = callable(member) or isinstance(member, property | classmethod | staticmethod)
                if public and not word.startswith("_"):
                    yield f"gl.{name}.{word}", signature(getattr(thing, word))
    for package in PACKAGES:
        module = importlib.import_module(f"graylearn.{package}")
        listed = getattr(module, "__all__", None) or [
            name
            for name, thing in vars(module).items()
            if getattr(thing, "__module__", "") == module.__name__ and name[0] != "_"
        ]
        for name in sorted(set(listed) - set(gl.__all__)):
            yield f"{package}.{name}", ""


def items() -> dict[str, tuple[str, list[str]]]:
    """Every item: its signature, and the words of which a test that uses it has one."""
    found = {
        name: (spelled, [rf"\b{'' if name.count('.') == 1 else '[.]'}{name.split('.')[-1]}\b"])
        for name, spelled in names()
    }
    flags: dict[str, list[str]] = {}
    for word, command in typer.main.get_command(app).commands.items():
        found[f"graylearn {word}"] = ("", [rf"[\"']{word}[\"']", rf"graylearn {word}"])
        for option in command.params:
            flag = max(option.opts, key=len)
            if flag.startswith("-"):
                flags.setdefault(flag, []).append(word)
    for flag, commands in sorted(flags.items()):
        plain = flag[2:].replace("-", "_")
        found[flag] = (" ".join(commands), [rf"{flag}(?![\w-])", rf"\b{plain}=", rf"[\"']{plain}[\"']"])
    for name, method in METHODS.items():
        found[f"method {name}"] = (signature(method), [rf"[\"']{re.escape(name)}[\"']"])
    for name in (name for name, net in NETS.items() if net.__module__.startswith("graylearn.")):
        found[f"net {name}"] = ("", [rf"[\"']{name}[\"']"])
    for name, each in FORMATS.items():
        for suffix in each.suffixes or [""]:
            found[f"format {name} {suffix}".strip()] = ("", [re.escape(suffix) + r"\b" if suffix else name])
    for suffix in COMPRESSIONS:
        found[f"format any {suffix}"] = ("", [re.escape(suffix) + r"\b"])
    text = PAGE.read_text(encoding="utf-8")
    controls = re.findall(r"<(?:button|input|select|canvas)[^>]* (?:id|data-bulk)=\"([\w-]+)\"", text)
    for name in controls:
        found[f"report #{name}"] = ("", [rf"#{name}\b", rf"data-bulk=.?{name}\b", rf"[\"']{name}[\"']"])
    for key in re.findall(r"<kbd>(.)</kbd>", text):
        found[f"report key {key}"] = (
            "",
            [rf"press\([^)]*[\"']{re.escape(key)}[\"']", rf"[\"']{NAMED.get(key, key.lower())}[\"']"],
        )
    for name in ("CACHE", "DATA", "DEBUG", "MAX_UNPACKED"):
        found[f"GRAYLEARN_{name}"] = ("", [rf"GRAYLEARN_{name}"])
    return found


def tests() -> dict[str, str]:
    """The code of every test, by file::name."""
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                start = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                lines = text.splitlines()[start - 1 : node.end_lineno]
                found[f"{path.relative_to(TESTS).as_posix()}::{node.name}"] = "\n".join(lines)
    return found


def holder(item: str, words: list[str], known: dict[str, str]) -> str:
    """The test that says most about an item: one that has its name, or else the shortest."""
    pattern = re.compile("|".join(words))
    rooms = next((rooms for begin, rooms in ROOMS.items() if item.startswith(begin)), ("",))
    using = [name for name, code in known.items() if name.startswith(rooms) and pattern.search(code)]
    last = re.split(r"[ .#-]+", item)[-1].lower()
    return min(using, key=lambda name: (last not in name.split("::")[1], len(known[name])), default="-")


def read_table() -> tuple[dict[str, list[str]], dict[str, str]]:
    """The table's rows by item, and the reasons of what is gone."""
    rows = [re.findall(r"`((?:[^`])*)`|(?<=\| )([^`|]*?)(?= \|)", line) for line in _lines(TABLE, "| `")]
    plain = [[a or b for a, b in row] for row in rows]
    return (
        {row[0]: row[1:] for row in plain if len(row) == 3},
        {row[0]: row[1] for row in plain if len(row) == 2},
    )


def _lines(path: Path, begin: str) -> list[str]:
    if not path.exists():
        return []
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(begin)]


def main() -> None:
    before, gone = read_table()
    now, known = items(), tests()
    gone |= dict.fromkeys(before.keys() - now.keys(), REASON_MISSING)
    body = [
        f"| `{name}` | `{spelled or '-'}` | `{holder(name, words, known)}` |"
        for name, (spelled, words) in now.items()
    ]
    lost = [f"| `{name}` | {reason} |" for name, reason in sorted(gone.items()) if name not in now]
    head, end = "| item | signature | test |\n|---|---|---|\n", "| item | reason |\n|---|---|\n"
    text = [INTRODUCTION, head + "\n".join(body), "## Gone, and why", end + "\n".join(lost)]
    TABLE.write_text("\n\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    main()
