"""What is installed: versions that suit each other, and a browser before tests are left out."""

import importlib.metadata
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
TRITON_OF_TORCH = {"2.13.0": "3.7.1"}
"""What the registry's Linux build of torch asks for; a CPU build on the machine at hand does not tell.
A new torch needs its line here: `make lock` finds the version."""


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(each.name): next(iter(each.specifier)).version for each in requirements}


def project_requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    listed = [*project["dependencies"], *(each for extra in extras for each in extra)]
    return [each for each in map(Requirement, listed) if each.name != "graylearn"]


@pytest.mark.parametrize("requirement", project_requirements(), ids=str)
def test_every_dependency_has_a_pinned_version_that_suits(requirement: Requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


@cache
def asked_for() -> list[tuple[str, Requirement]]:
    """Each pinned package and what it asks for; not of other versions, which may ask for something else."""
    found = []
    for name, version in pins().items():
        try:
            installed = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if installed.version.split("+")[0] == version:
            found += [(name, Requirement(each)) for each in installed.requires or []]
    return found


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("system", ["Linux", "Darwin", "Windows"])
def test_pinned_versions_suit_each_other(python: str, system: str):
    """By what the installed packages say of themselves."""
    pinned = pins()
    environment = default_environment() | {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_system": system,
        "sys_platform": {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}[system],
        "extra": "",
    }
    checked = 0
    for name, requirement in asked_for():
        needed = canonicalize_name(requirement.name)
        applies = requirement.marker is None or requirement.marker.evaluate(environment)
        if applies and needed in pinned:
            assert requirement.specifier.contains(pinned[needed], prereleases=True), f"{name} {requirement}"
            checked += 1
    assert checked > 50


def test_triton_is_the_one_that_the_published_torch_needs():
    assert pins()["triton"] == TRITON_OF_TORCH[pins()["torch"]]
