"""Write the two pages, their figure and what the front page quotes, or only say whether they would change."""

from __future__ import annotations

import re
from pathlib import Path

from reproduction.page import details, figure, sections
from reproduction.page.evidence import Evidence

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
DOCS = ROOT / "docs"
QUOTE = re.compile(r"(?<=<!-- quoted from lab/reproduction.md -->\n)[^<]*(?=<!-- end of the quote -->)")
"""Where the front page has a sentence of the page."""


def made(results: Path, docs: Path) -> dict[Path, str]:
    """What each file should hold."""
    evidence = Evidence.read(results)
    texts = {
        docs / "lab" / "reproduction.md": sections.page(evidence),
        docs / "lab" / "reproduction-details.md": details.page(evidence),
        docs / "figures" / figure.NAME: figure.draw(evidence),
    }
    front = docs / "index.md"
    if front.exists():
        sentence = f"{sections.quoted(evidence)}\n"
        texts[front] = QUOTE.sub(lambda _: sentence, front.read_text(encoding="utf-8"))
    return {path: text for path, text in texts.items() if text}


def different(results: Path, docs: Path) -> dict[Path, str]:
    """The files that would change, with what they would hold."""
    texts = made(results, docs)
    return {p: t for p, t in texts.items() if not p.exists() or p.read_text(encoding="utf-8") != t}


def update(results: Path = RESULTS, docs: Path = DOCS) -> list[Path]:
    """Write what changes; returns it."""
    changed = different(results, docs)
    for path, text in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(changed)


def check(results: Path = RESULTS, docs: Path = DOCS) -> list[str]:
    """The files that would change: none, if all is well."""
    return [path.name for path in different(results, docs)]
