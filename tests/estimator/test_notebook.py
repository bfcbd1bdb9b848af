"""Results show themselves in a notebook: well-formed, escaped, with nothing from the net."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from torch import nn

import graylearn as gl


class Page(HTMLParser):
    """Counts elements, and refuses those that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.text = [], [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def fitted():
    random = np.random.default_rng(0)
    index = random.integers(0, 3, 150)
    x = np.eye(3, 4)[index] * 6 + random.normal(size=(150, 4))
    names = np.array(["<b>one</b>", "a & b", "three"])
    given = np.where(np.arange(150) % 15 == 0, (index + 1) % 3, index)
    return gl.GrayClassifier(epochs=3, random_state=0).fit(x, names[given])


def test_an_audit_shows_its_summary_and_all_scores(fitted):
    page = Page(fitted.audit_._repr_html_())
    assert page.text.startswith(fitted.audit_.summary())  # names of classes as they are, none a tag
    assert "b" not in page.found
    assert "rect" in page.found


def test_a_history_draws_its_epochs(fitted):
    text = fitted.history_._repr_html_()
    assert "150 samples over 3 epochs" in Page(text).text
    curves = re.findall(r'points="([^"]*)"', text)
    assert [len(curve.split()) for curve in curves] == [3, 3]


def test_a_result_draws_training_and_validation():
    x, y = np.eye(4, dtype=np.float32).repeat(6, 0), np.arange(4).repeat(6)
    result = gl.train(nn.Linear(4, 4), (x, y), epochs=2, validation=(x, y), patience=9, log="none")
    page = Page(result._repr_html_())
    assert page.found.count("polyline") == 4
    assert f"Linear trained for 2 epochs (best: number {result.best_epoch + 1})" in page.text
    assert repr(result).startswith("<Result: Linear trained for 2 epochs (best: number")
    assert ", accuracy " in repr(result)
    assert len(repr(result)) < 150


def test_a_classifier_adds_what_it_found_to_the_diagram(fitted):
    assert gl.GrayClassifier()._found_html() == ""
    own = fitted.audit_._repr_html_() + fitted.history_._repr_html_()
    assert fitted._repr_html_().endswith(own)
    assert fitted._repr_mimebundle_()["text/html"].endswith(own)
    assert "http" not in own
    assert "src=" not in own
