"""Write the page and its figures, or only say whether they are as the results make them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from reproduction.figures import draw, fingerprint, recorded_fingerprint
from reproduction.figures.draw import DRAWERS
from reproduction.page.evidence import Evidence
from reproduction.page.generate import FIGURES, PAGE, RESULTS, generate


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
