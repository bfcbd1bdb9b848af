"""The model card that is saved with a classifier: it tells what is so, and names in it stay text."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

from graylearn.estimator import GrayClassifier
from graylearn.estimator.saving import CARD, as_text, card

HOSTILE = [
    "<script>alert(1)</script>",
    "](javascript:x) `a` **b** [c][d]",
    "a|b\n\n# head\n<!-- ",
    "- 1. www.example.com https://example.com",
    "\u202e\udcff~~x~~ &lt; $y$ _z_ \\",
]


@pytest.fixture(scope="module")
def dirty_flowers(iris):
    x, _, y, _ = iris
    y = y.copy()
    y[:12] = (y[:12] + 1) % 3
    return pd.DataFrame(x, columns=HOSTILE[:4]), y


@pytest.fixture(scope="module")
def fitted(dirty_flowers):
    x, y = dirty_flowers
    names = np.array([HOSTILE[0], HOSTILE[1], "virginica"])
    return GrayClassifier(epochs=4, random_state=0, device="cpu").fit(x, names[y])


class Seen(HTMLParser):
    """The tags and the words of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.comments, self.words = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add((tag, *(name for name, _ in attrs)))

    def handle_comment(self, data):
        self.comments.append(data)

    def handle_data(self, data):
        self.words.append(data)


def rendered(text):
    seen = Seen()
    seen.feed(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))
    return seen


def rows(text):
    """Name -> counts, of the table of classes."""
    lines = text.split("|---|---:|---:|\n")[1].split("\n\n")[0].splitlines()
    return {cells[0]: cells[1:] for cells in ([c.strip() for c in line.split("|")[1:-1]] for line in lines)}


def test_it_counts_samples_and_suspects_by_class(fitted):
    found = rows(card(fitted))
    table = fitted.audit_.table
    for name, cells in found.items():
        own = table[[as_text(label) == name for label in table["label"]]]
        assert cells == [str(len(own)), str(own["suspected"].sum())]
    assert len(found) == 3
    right = (fitted.audit_.probabilities.argmax(axis=1) == fitted.audit_.label).mean()
    assert f"by views that leave the sample's own label out: {right:.1%}" in card(fitted)


def test_names_stay_text(fitted):
    seen = rendered(card(fitted))
    known = {"h1", "h2", "p", "ul", "li", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert {tag for tag, *_ in seen.tags} == known
    assert {name for _, *names in seen.tags for name in names} <= {"style"}  # columns to the right
    words = " ".join("".join(seen.words).split())
    for name in HOSTILE[:4]:
        assert " ".join(name.split()) in words


def test_it_is_written_with_every_save(fitted, iris, tmp_path):
    fitted.save(tmp_path)
    assert (tmp_path / CARD).read_text(encoding="utf-8") == card(fitted)
    other = GrayClassifier(epochs=1, audit=None, device="cpu").fit(iris[0], iris[2])
    other.save(tmp_path)
    assert (tmp_path / CARD).read_text(encoding="utf-8") == card(other)
    assert "not audited" in card(other)
