"""The pages: links that lead somewhere, guides one reads in five minutes, numbers that were measured."""

import re
from pathlib import Path

import pytest
from pages import PAGES, ROOT, name_of

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")


def prose(path: Path) -> str:
    """A page without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(path: Path) -> set[str]:
    """What a link into a page may name: its headings as GitHub and the site spell them, and its own marks."""
    text = path.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    spelled = {
        re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", title).lower()).strip().replace(" ", "-")
        for title in titles
    }
    return spelled | set(re.findall(r'<a id="([^"]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for plain, image in LINK.findall(prose(page)):
        link = plain or image
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{link}: no such file"
        if anchor:
            assert anchor in anchors(there), f"{link}: no such heading"


def words(text: str) -> int:
    """How many there are to read: without code, formulas and addresses."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^ {4}.*$|\]\([^)]*\)|<[^>]*>", "", text, flags=re.MULTILINE)
    return len(re.findall(r"[A-Za-z][A-Za-z'-]+", text))


LIMITS = {"start": 600, "guides": 600, "how": 900}


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name in LIMITS], ids=name_of)
def test_a_page_is_read_in_one_go(page):
    assert words(page.read_text(encoding="utf-8")) < LIMITS[page.parent.name]


def test_the_lab_book_is_a_book_that_one_reads():
    """As `cat docs/lab/*.md | wc -w` counts, its tables too."""
    pages = sorted((ROOT / "docs" / "lab").glob("*.md"))
    assert len(pages) > 5
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 15_000


def test_the_readme_makes_one_claim():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 700
    assert len(re.findall(r"(?<![\w.])[-+]?\d*\.?\d+", text)) <= 40
    assert "make demo" in text
    assert "make test" in text


NUMBER = re.compile(r"(?<![\w.])-?\d*\.\d+")


def test_numbers_of_the_readme_stand_in_the_lab_book():
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/lab/audit.md"))
    rows = [line for line in readme.splitlines() if line.startswith("|")]
    numbers = [number for line in rows for number in NUMBER.findall(line)]
    assert len(numbers) == 8  # two columns of four rows
    assert [number for number in numbers if number not in page] == []
