"""What is told of an audit in groups, and how many threads it takes."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import graylearn as gl
from graylearn.audit import groups as module
from graylearn.audit.detectors import DETECTORS


def videos(count, each=6, scale=4.0, wrong=0.0):
    """(x, y, groups) of five classes, of which some videos bear a wrong label."""
    random = np.random.default_rng(0)
    shown = np.arange(count) % 5
    groups = np.repeat(np.arange(count), each)
    x = (scale * np.eye(5, 8)[shown] + random.normal(size=(count, 8)))[groups]
    label = np.where(random.random(count) < wrong, (shown + 1 + np.arange(count) % 4) % 5, shown)
    return x + 0.05 * random.normal(size=x.shape), label[groups], groups


def test_where_samples_are_flagged_no_part_says_that_none_is(monkeypatch):
    x, y, groups = videos(150, wrong=0.2)
    first = []

    def silent_once(evidence, ids, answers=None, **options):
        unasked = () if first else set(DETECTORS)
        first.append(True)
        return judge(evidence, ids, answers, **{**options, "unasked": unasked})

    judge = module.judge
    monkeypatch.setattr(module, "judge", silent_once)
    found = gl.audit(x, y, groups=groups)
    assert found.suspected.any()
    assert "in 6 parts of about 150 samples, of which 5 found something" in found.notes[0]
    assert not any("nothing flagged" in note or "worth a look" in note for note in found.notes)


def test_what_is_worth_a_look_is_counted_over_all_parts():
    x, y, groups = videos(60, scale=1.2)
    found = gl.audit(x, y, groups=groups)
    assert not found.suspected.any()
    told = [note for note in found.notes if note.startswith("worth a look")]
    assert len(told) == 1
    assert told[0].startswith(f"worth a look: the first {found.look_first} by score")
    assert "parts" not in told[0]


@pytest.mark.parametrize(("several", "word"), [(False, "10 groups"), (True, "pairs of group and label")])
def test_too_few_are_called_what_they_are(several, word):
    x, y, groups = videos(10)
    found = gl.audit(x, y, groups=np.zeros(len(y)) if several else groups)
    assert any("too few to tell" in note and word in note for note in found.notes)


def blas_threads():
    return max(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")


@pytest.mark.parametrize(("worth", "one"), [(1000, True), (10, False)])
def test_small_parts_are_judged_in_one_thread(monkeypatch, worth, one):
    x, y, groups = videos(60)
    seen, judge = [], module.judge

    def watched(*given, **options):
        seen.append(blas_threads())
        return judge(*given, **options)

    monkeypatch.setattr(module, "judge", watched)
    monkeypatch.setattr(module, "WORTH_THREADS", worth)
    with threadpool_limits(2, user_api="blas"):
        gl.audit(x, y, groups=groups)
        assert set(seen) == {1 if one else 2}
        assert blas_threads() == 2, "and put back"
