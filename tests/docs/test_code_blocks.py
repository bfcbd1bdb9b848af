"""Every code block that people read is run: Python as it stands, commands as far as they can be checked.

A page's blocks share one folder and one namespace, in order, as somebody following along would have them. A
block that cannot run begins with `# not run: ` and the reason.
"""

import re
import shlex
import tomllib
from types import FunctionType

import pytest
import typer
from pages import PAGES, ROOT, SOURCES, blocks, docstrings, name_of
from typer.testing import CliRunner

import graylearn as gl
from graylearn.cli.main import app
from graylearn.methods import METHODS
from judge.__main__ import COMMANDS
from reproduction.cli.command import app as reproduction

ELSEWHERE = {"docs/reference/methods.md": "tests/methods/test_methods_doc.py"}
"""Pages whose Python is run, and compared with what the page says of it, by another test."""
COMMANDS_RUN = {"docs/start/csv.md"}
"""Pages whose commands are carried out; those of the others are parsed."""
PLAIN = {"text", "yaml"}


def test_code_is_fenced_and_says_its_language():
    for page in PAGES:
        if name_of(page) == "docs/lab/reproduction.md":
            continue  # generated, and shows no code
        text = page.read_text(encoding="utf-8")
        odd = [
            (block.language, block.line)
            for block in blocks(text)
            if block.language not in {"python", "bash", *PLAIN}
        ]
        assert not odd, f"{name_of(page)}: a fence is python, bash, text or yaml: {odd}"
        outside = re.sub(r"^( *)```.*?^\1```", "", text, flags=re.MULTILINE | re.DOTALL)
        assert not re.findall(r"^    (?:graylearn|import|from|pip) .*", outside, re.MULTILINE), name_of(page)


WITH_PYTHON = [
    page
    for page in PAGES
    if any(block.language == "python" for block in blocks(page.read_text(encoding="utf-8")))
]


@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType")  # MLflow says, of its own parts
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    name = name_of(page)
    if name in ELSEWHERE:
        assert page.name in (ROOT / ELSEWHERE[name]).read_text(encoding="utf-8")
        return
    monkeypatch.chdir(tmp_path)
    for key in METHODS.copy():
        monkeypatch.setitem(METHODS, key, METHODS[key])
    known, names = set(METHODS), {"__name__": "shown"}
    try:
        for block in blocks(page.read_text(encoding="utf-8")):
            if not block.runs:
                continue
            if block.language == "python":
                exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
            elif block.language == "bash" and name in COMMANDS_RUN:
                for words in commands(block.code):
                    done = CliRunner().invoke(app, words[1:])
                    assert done.exit_code == 0, f"{shlex.join(words)}: {done.output}"
    finally:
        for key in set(METHODS) - known:
            del METHODS[key]


def commands(code: str) -> list[list[str]]:
    """The commands of a block in words, comments and continued lines taken care of."""
    lines = code.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def parse(group: typer.Typer, words: list[str]) -> None:
    """Have the command line read the words; it raises where it does not know a command or a flag."""
    command = typer.main.get_command(group)
    with command.make_context("shown", list(words)) as context:
        if hasattr(command, "commands"):
            name, chosen, rest = command.resolve_command(context, words)
            chosen.make_context(name, rest, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_as_they_are_shown(page):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language != "bash":
            continue
        for words in commands(block.code):
            match words:
                case ["graylearn", *rest]:
                    parse(app, rest)
                case ["torchrun", "--nproc-per-node", _, "-m", "graylearn", *rest]:
                    parse(app, rest)
                case ["python", "-m", "reproduction", *rest]:
                    parse(reproduction, rest)
                case ["python", "-m", "judge", command, *_]:
                    assert command in COMMANDS
                case ["python", "-m", "benchmarks", *_]:
                    pass  # measurements print their options
                case ["python", script, *_]:
                    assert (ROOT / script).is_file(), words
                case ["make", *asked]:
                    assert set(asked) <= set(targets), words
                case ["pip", "install", "-e", what, *_]:
                    extras = re.findall(r"[\w-]+", what.removeprefix("."))
                    assert set(extras) <= set(project["optional-dependencies"]), words
                case ["git" | ".venv/bin/python" | "export", *_]:
                    pass
                case _:
                    pytest.fail(f"{name_of(page)}, line {block.line}: nothing checks {words}")


def test_docstrings_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for source in SOURCES:
        text = docstrings(source)
        assert ">>>" not in text, f"{source}: write examples as fenced Python, without prompts"
        for block in blocks(text):
            if block.language == "python" and block.runs:
                exec(compile(block.code, str(source), "exec"), {"__name__": "shown"})


def test_public_functions_and_classes_show_how_they_are_used():
    public = {name: getattr(gl, name) for name in gl.__all__}
    kinds = (type, FunctionType)
    silent = [
        name
        for name, thing in public.items()
        if isinstance(thing, kinds)
        and not (isinstance(thing, type) and issubclass(thing, Exception))
        and "```python" not in thing.__doc__
    ]
    assert silent == ["History", "Result"]  # which `train` gives, and shows
