"""Nothing of a user's file is ever executed, and nothing that we stand on is unknown."""

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "graylearn").rglob("*.py"))

NEVER = {
    "eval", "exec", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads",
    "pickle.Unpickler", "cPickle.load", "dill.load", "dill.loads", "cloudpickle.load", "cloudpickle.loads",
    "joblib.load", "shelve.open", "marshal.load", "marshal.loads", "pd.read_pickle", "pandas.read_pickle",
    "yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load", "torch.hub.load", "torch.jit.load",
    "torch.package.PackageImporter", "runpy.run_path", "jsonpickle.decode", "xml.etree.ElementTree.parse",
}  # fmt: skip
"""Calls that run, or may run, what they read."""
ONLY_WITH = {"torch.load": ("weights_only", True), "np.load": ("allow_pickle", False)}
"""Calls that do so unless they are told not to, and how each has to be told."""


def name_of(node):
    """a.b.c of an expression, or ""."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := name_of(node.value)):
        return f"{before}.{node.attr}"
    return ""


def spoken(tree):
    """Every name in a file by what it was imported as: from pickle import load as l; l() is pickle.load."""
    called = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            called |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            called |= {alias.asname: alias.name for alias in node.names if alias.asname}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and (name := name_of(node)):
            first, dot, rest = name.partition(".")
            full = f"{called.get(first, first)}{dot}{rest}"
            yield node, full.replace("numpy.", "np.", 1) if full.startswith("numpy.") else full


def faults(text, file):
    tree = ast.parse(text)
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node, name in spoken(tree):
        if name in NEVER:
            yield f"{file}:{node.lineno} uses {name}"
        if name in ONLY_WITH:
            option, value = ONLY_WITH[name]
            given = {word.arg: word.value for word in getattr(calls.get(id(node)), "keywords", ())}
            if not (isinstance(given.get(option), ast.Constant) and given[option].value is value):
                yield f"{file}:{node.lineno} uses {name} without {option}={value}"
        if isinstance(calls.get(id(node)), ast.Call):
            words = {word.arg for word in calls[id(node)].keywords}
            if words & {"trust_remote_code", "shell"}:
                yield f"{file}:{node.lineno} passes {words & {'trust_remote_code', 'shell'}}"


def test_nothing_that_is_read_is_executed():
    found = []
    for path in FILES:
        found += faults(path.read_text(encoding="utf-8"), path.relative_to(ROOT / "graylearn").as_posix())
    assert not found


@pytest.fixture(scope="module")
def dependencies():
    spec = importlib.util.spec_from_file_location("dependencies", ROOT / ".ci" / "dependencies.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_licences_is_that_of_what_is_pinned(dependencies):
    page = dependencies.written()
    assert dependencies.wrong(dependencies.licences(page), page) == []


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("BSD-3-Clause AND MIT", True),
        ("BSD-3-Clause AND GPL-3.0-only", False),
        ("AGPL-3.0", False),
        ("", False),
        ("Proprietary", False),
    ],
)
def test_a_licence_that_is_not_free_to_build_on_fails(dependencies, text, allowed):
    assert dependencies.is_allowed(text) is allowed
    assert bool(dependencies.wrong({"new": text}, {"new": text})) is not allowed
