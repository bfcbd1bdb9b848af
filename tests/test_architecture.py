"""Imports point one way: a package may import only those below it."""

import ast
import graphlib
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "graylearn"

REPRODUCTION = PACKAGE.parent / "reproduction"
OUTSIDE = {"reproduction", "benchmarks", "examples", "tests"}
"""Folders of a checkout that are not installed."""

MAY_IMPORT = {
    "array_types": set(),
    "errors": set(),
    "lazy": {"errors"},
    "notebook": set(),
    "torch_internals": set(),
    "options": {"errors"},
    "progress": {"options"},
    "paths": {"errors"},
    "losses": {"array_types", "errors", "torch_internals"},
    "nets": {"errors"},
    "metrics": {"array_types", "errors", "losses"},
    "data": {"array_types", "errors", "lazy", "options", "paths", "progress"},
    "methods": {"array_types", "errors", "losses"},
    "training": {"array_types", "errors", "losses", "nets", "metrics", "data", "methods"},
    "audit": {"errors", "losses", "nets", "metrics", "data", "methods", "training"},
}
MAY_IMPORT["training"] |= {"lazy", "notebook", "options", "progress", "torch_internals"}
MAY_IMPORT["audit"] |= {"array_types", "lazy", "notebook", "options", "progress"}
MAY_IMPORT["estimator"] = MAY_IMPORT["audit"] | {"audit"}
MAY_IMPORT["report"] = MAY_IMPORT["estimator"] | {"estimator", "lazy"}
MAY_IMPORT["integrations"] = MAY_IMPORT["estimator"] | {"estimator"}
MAY_IMPORT["runs"] = MAY_IMPORT["report"] | {"paths", "report", "integrations"}
MAY_IMPORT["cli"] = MAY_IMPORT["runs"] | {"runs"}
MAY_IMPORT["__main__"] = {"cli"}


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_names(path: Path) -> set[str]:
    """Full names of all that a file imports, wherever in it: graylearn.audit.kinds.KINDS, numpy, ..."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by the full name, graylearn.{node.module}"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        outside = [name for name in names if name.split(".")[0] in OUTSIDE]
        assert not outside, f"{path}: the wheel holds graylearn alone, not {outside}"
        found |= set(names)
    return found


def imported_packages(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported_names(path) if name.startswith("graylearn.")}


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]

SCRIPTS = sorted(REPRODUCTION.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path):
    own = package_of(path)
    assert own in MAY_IMPORT, f"{own} is a new package: put it into the order above"
    above = imported_packages(path) - MAY_IMPORT[own] - {own}
    assert not above, f"{own} may not import {sorted(above)}"


def test_no_file_imports_itself_by_way_of_others():
    """Rings between files, inside packages too; an import inside a function counts."""
    modules = {module_of(path): path for path in FILES}
    imported = {}
    for module, path in modules.items():
        # graylearn.audit.Audit is a name in graylearn.audit, graylearn.audit.kinds a file.
        known = {name if name in modules else name.rpartition(".")[0] for name in imported_names(path)}
        imported[module] = (known & set(modules)) - {module}
    try:
        graphlib.TopologicalSorter(imported).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"a ring of imports: {' <- '.join(error.args[1])}")


def test_every_extra_that_an_error_tells_to_install_is_there():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = set()
    for path in [*FILES, *SCRIPTS]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
                extra = node.args[1]
                if isinstance(extra, ast.Constant):
                    named.add(extra.value)
    assert {"images", "plots", "ray"} <= named
    assert named <= set(project["optional-dependencies"])
