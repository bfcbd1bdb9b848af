"""constraints.txt: one version a package that suits every Python and system we name.

`python .ci/resolve.py` writes it anew, keeping the versions it has where they still suit; with `--check` it
only tries each Python and system, and fails where there is no solution or a package without a pinned version.
uv reads what the registry says of the packages and downloads none of them, so this finds what an ordinary
machine would be told, whatever builds lie on this one.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "constraints.txt"
HEAD = (
    "# What the project is tested with: one version a package, applied by the Makefile with pip -c.\n"
    "# Written by `make lock`, tried for each Python and system by `make constraints`.\n"
)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = (
    "x86_64-manylinux_2_28",
    "aarch64-manylinux_2_28",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
)
MACOS_OF_TORCH = "14.0"
"""The oldest macOS that torch is built for."""


def compiled(*options: str) -> str:
    """What uv resolves all extras of the project to, as lines of NAME==VERSION."""
    command = [
        sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--all-extras", "--quiet",
        "--no-header", "--no-annotate", "--no-config", *options,
    ]  # fmt: skip
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"MACOSX_DEPLOYMENT_TARGET": MACOS_OF_TORCH},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(options)}: constraints.txt cannot be met\n{done.stderr.strip()}")
    return done.stdout


def lines_of(text: str) -> Iterator[str]:
    """The lines of NAME==VERSION, without what is said about them.

    The systems that need a package are not said either: a constraint on what nobody asks for does nothing.
    """
    for line in text.splitlines():
        if "==" in line and not line.startswith("#"):
            yield line.partition(";")[0].strip()


def names_of(text: str) -> set[str]:
    """The packages that lines of NAME==VERSION pin."""
    return {canonicalize_name(Requirement(line).name) for line in lines_of(text)}


def write() -> None:
    """All versions that hold everywhere; those of the file stay where they can."""
    kept = ["--constraints", str(FILE)] if FILE.exists() else []
    text = compiled("--universal", "--fork-strategy", "fewest", "--python-version", PYTHONS[0], *kept)
    FILE.write_text(HEAD + "".join(f"{line}\n" for line in sorted(set(lines_of(text)), key=str.lower)))


def check() -> None:
    """Try every Python on every system."""
    pinned = names_of(FILE.read_text())
    for python in PYTHONS:
        for platform in PLATFORMS:
            text = compiled(
                "--constraints", str(FILE), "--python-version", python, "--python-platform", platform
            )
            if loose := names_of(text) - pinned:
                sys.exit(f"{python} on {platform}: no version is pinned of {', '.join(sorted(loose))}")
            print(f"Python {python} on {platform}: {len(names_of(text))} packages")


if __name__ == "__main__":
    check() if "--check" in sys.argv[1:] else write()
