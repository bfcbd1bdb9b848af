"""Write the page and its figures, or only say whether they are as the results make them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from graylearn.bench.figures import draw, fingerprint, recorded_fingerprint
from graylearn.bench.figures.draw import DRAWERS
from graylearn.bench.reproduction.evidence import Evidence
from graylearn.bench.reproduction.page import FIGURES, PAGE, RESULTS, generate


def stale_figures(results: Path, figures: Path) -> list[str]:
    """Committed figures that no longer show the results, and experiments that lack theirs."""
    evidence = Evidence.read(results)
    stale = []
    for name in DRAWERS:
        found = evidence.drawn(name)
        committed = [path for path in figures.glob("*.svg") if path.stem.split("-")[0] == name]
        wanted = fingerprint(name, found) if found else None
        stale += [path.name for path in committed if recorded_fingerprint(path) != wanted]
        if found and not committed and _can_draw(name, evidence):
            stale.append(f"{name}.svg")
    return stale


def _can_draw(name: str, evidence: Evidence) -> bool:
    with TemporaryDirectory() as folder:
        return bool(draw(name, evidence.drawn(name), folder))


def update(results: Path = RESULTS, page: Path = PAGE, figures: Path = FIGURES) -> list[Path]:
    """Draw the figures that changed (SVG) and write the page; returns what was written."""
    evidence = Evidence.read(results)
    written = []
    for name in DRAWERS:
        found = evidence.drawn(name)
        old = [path for path in figures.glob("*.svg") if path.stem.split("-")[0] == name]
        if found and old and all(recorded_fingerprint(path) == fingerprint(name, found) for path in old):
            continue
        for path in old:
            path.unlink()
        with TemporaryDirectory() as folder:
            for path in draw(name, found, folder):
                if path.suffix == ".svg":
                    figures.mkdir(parents=True, exist_ok=True)
                    (figures / path.name).write_bytes(path.read_bytes())
                    written.append(figures / path.name)
    text = generate(results, figures)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
        written.append(page)
    return written


def check(results: Path = RESULTS, page: Path = PAGE, figures: Path = FIGURES) -> list[str]:
    """What differs from the results: nothing, if all is well."""
    different = stale_figures(results, figures)
    if not page.exists() or page.read_text(encoding="utf-8") != generate(results, figures):
        different.append(page.name)
    return different


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m graylearn.bench.reproduction [--check]`."""
    parser = argparse.ArgumentParser(prog="python -m graylearn.bench.reproduction", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail where something would change"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the stores")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="folder of its figures")
    given = parser.parse_args(arguments)
    if given.check:
        different = check(given.results, given.page, given.figures)
        if different:
            print(
                f"{', '.join(different)} differ from the results: run python -m graylearn.bench.reproduction",
                file=sys.stderr,
            )
        return 1 if different else 0
    for path in update(given.results, given.page, given.figures):
        print(path)
    return 0
