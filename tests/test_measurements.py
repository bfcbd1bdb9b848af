"""The lab book shows what the results hold, no more and no less."""

import re

import pytest

from benchmarks.__main__ import LAB, filled, pages

PAGES = pages()


def test_every_table_of_the_lab_book_is_made_by_a_measurement():
    """But for the reproduction's pages, which its own command writes whole."""
    for path in LAB.glob("*.md"):
        if not path.name.startswith("reproduction"):
            shown = re.findall("<!-- table: (.+) -->", path.read_text(encoding="utf-8"))
            assert shown == list(dict.fromkeys(shown))
            assert set(shown) == PAGES.get(path.name, {}).keys(), path.name


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_are_made_from_the_results(name):
    page = (LAB / name).read_text(encoding="utf-8")
    assert filled(page, PAGES[name]) == page
