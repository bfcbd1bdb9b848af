"""What is told of an audit: before it begins, how long it will take, and then how far it is."""

import numpy as np
import pytest

import graylearn as gl
from graylearn import progress
from graylearn.progress import Bar


def test_an_audit_tells_its_stages_to_who_watches():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 90)
    x = 4 * np.eye(3, 5)[y] + random.normal(size=(90, 5))
    told = []

    class Watch(Bar):
        def show(self, *news):
            told.append(news)

    with Watch("what an audit tells", shows=False):
        watched_audit = gl.audit(x, y)
    stages = list(dict.fromkeys(stage for stage, _, _ in told))
    assert stages == ["comparing neighbours", "kernel regression", "trees"]
    assert all(0 <= done < total for _, done, total in told)
    for stage in stages:
        done = [each for name, each, _ in told if name == stage]
        assert done == sorted(done)
    heard = len(told)
    alone = gl.audit(x, y)
    assert len(told) == heard  # nobody watches any more
    np.testing.assert_array_equal(watched_audit.score, alone.score)


def audited(log):
    y = np.arange(90) % 3
    return gl.audit(4 * np.eye(3, 5)[y] + np.random.default_rng(0).normal(size=(90, 5)), y, log=log)


def test_an_audit_tells_a_person_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    audited("none")
    assert capsys.readouterr().err == ""
    audited("auto")  # no terminal: lines
    assert "audit, kernel regression: " in capsys.readouterr().err
    with Bar("silent", shows=False):
        audited("lines")  # whoever watches tells it
    assert capsys.readouterr().err == ""
    with pytest.raises(gl.errors.SettingsError, match="auto, bar, lines or none"):
        audited("loud")
