"""What is told of an audit: before it begins, how long it will take, and then how far it is."""

import numpy as np
import pytest

import graylearn as gl
from graylearn.audit import progress as audit_progress
from graylearn.audit.cost import expected_seconds
from graylearn.audit.progress import watched
from graylearn.data.samples import Samples
from graylearn.runs import RunProgress
from graylearn.runs import progress as progress_module
from graylearn.runs.fit import how_long


def test_an_audit_tells_its_stages_to_who_watches():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 90)
    x = 4 * np.eye(3, 5)[y] + random.normal(size=(90, 5))
    told = []
    with watched(lambda *news: told.append(news)):
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
    monkeypatch.setattr(audit_progress, "EVERY", 0.0)
    audited("none")
    assert capsys.readouterr().err == ""
    audited("auto")  # no terminal: lines
    assert "audit, kernel regression: " in capsys.readouterr().err
    with watched(lambda *_: None):
        audited("lines")  # whoever watches tells it
    assert capsys.readouterr().err == ""
    with pytest.raises(gl.errors.SettingsError, match="auto, bar, lines or none"):
        audited("loud")


def test_a_bar_goes_through_the_stages(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich: as on a terminal
    monkeypatch.setenv("TERM", "xterm")
    found = audited("bar")
    assert "audit" in capsys.readouterr().err
    np.testing.assert_array_equal(found.score, audited("none").score)


def test_how_far_a_stage_is_stands_in_the_log(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress_module, "EVERY", 0.0)
    progress = RunProgress()
    progress.also_to(tmp_path / "run.log")
    with progress.watching("audit") as watch:
        watch("kernel regression", 0, 8)
        watch("kernel regression", 2, 8)
        watch("trees", 1, 2)
    log = (tmp_path / "run.log").read_text()
    assert "audit, kernel regression: 25%, about " in log
    assert "audit, trees: 50%, about " in log
    assert "kernel regression: 0%" not in log
    assert "audit, trees: 50%" in capsys.readouterr().err


def test_a_fit_of_one_epoch_is_told_as_one(capsys):
    with RunProgress().training("first fit") as hand_over:
        hand_over([{"loss": 1.0, "accuracy": 0.5}])
    assert "first fit: 1 epoch, loss" in capsys.readouterr().err


def test_a_long_audit_says_so_at_its_start():
    def samples(n, columns, classes):
        x = np.broadcast_to(np.float32(0), (n, columns))
        y = np.arange(n) % classes
        return Samples(x, y, tuple(range(classes)), np.arange(n), "array")

    assert how_long(samples(1000, 20, 3)) is None
    words = how_long(samples(1_000_000, 128, 10))
    assert words is not None
    assert "1,000,000 samples (128 columns, 10 classes) will take about" in words


def test_many_classes_take_seconds_and_not_minutes():
    assert 1 < expected_seconds(6_000, 64, 1_000) < 60


@pytest.mark.parametrize("larger", [(20_000, 10, 5), (10_000, 40, 5), (10_000, 10, 500)])
def test_more_of_anything_takes_longer(larger):
    assert expected_seconds(*larger) > expected_seconds(10_000, 10, 5)
