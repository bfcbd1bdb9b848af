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


GUIDES = sorted(page for part in ("start", "guides") for page in (ROOT / "docs" / part).glob("*.md"))


@pytest.mark.parametrize("guide", GUIDES, ids=name_of)
def test_a_guide_is_under_800_words(guide):
    assert len(guide.read_text(encoding="utf-8").split()) < 800


def test_the_readme_is_a_screen_and_a_half():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 105


def test_every_example_is_in_their_index():
    index = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    helpers = {"clouds.py", "run_notebooks.py"}
    names = {path.name for path in (ROOT / "examples").glob("*.py")} - helpers
    assert [name for name in sorted(names) if f"({name})" not in index] == []


NUMBER = re.compile(r"(?<![\w.])-?\d*\.\d+")


def test_numbers_of_the_readme_stand_in_the_lab_book():
    """Every measured number in a table of the README is on the page that its table, or its line, links to."""
    page, checked = "", 0
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines():
        if found := re.search(r"\((docs/lab/\w+\.md)\)", line):
            page = (ROOT / found[1]).read_text(encoding="utf-8")
        if line.startswith("|"):
            numbers = NUMBER.findall(line)
            assert all(number in page for number in numbers), line
            checked += len(numbers)
    assert checked > 30
