"""What evaluation says of answers: measures against independent ones, and cases whose truth is as told."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import average_precision_score, f1_score

from judge import cases, peers
from judge.__main__ import parser_of
from judge.evaluate import calibration_error, measured, reliability


def answer(case, suspected, kind, score):
    return {
        "suspected": suspected, "kind": kind, "score": score, "posterior": score, "seconds": 0.0,
        "suggested": case["true_label"], "sure": suspected, "shares": {"total": (0.1, (0.0, 0.05))},
    }  # fmt: skip


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.fixture
def case(random):
    true = np.repeat([0, 1, 2, -1], 25)
    label = np.where(true < 0, 0, true)
    label[:5] = 1
    return cases.arrays(random.normal(size=(100, 3)), label, true)


def test_options_are_the_parameters_of_the_command():
    def main(work: Path, sets: int = 7, clean: float = 0.5, only: tuple[str, ...] = (), peers: bool = False,
             called: str | None = None, method: Literal["a", "b"] = "a"):  # fmt: skip
        pass

    parser = parser_of(main, "What it does.")
    assert vars(parser.parse_args(["--work", "w"])) == {
        "work": Path("w"), "sets": 7, "clean": 0.5, "only": (), "peers": False, "called": None, "method": "a",
    }  # fmt: skip
    given = parser.parse_args(["--work", "w", "--sets", "3", "--only", "x", "y", "--peers", "--method", "b"])
    assert (given.sets, given.only, given.peers, given.method) == (3, ["x", "y"], True, "b")
    with pytest.raises(SystemExit):
        parser.parse_args([])


def test_truth_follows_from_labels(case):
    assert np.bincount(case["truth"]).tolist() == [70, 5, 25]


def test_measures_are_those_of_scikit_learn(case, random):
    bad = case["truth"] > 0
    score = random.random(100)
    row = measured(case, answer(case, score > 0.6, np.where(score > 0.6, 1, 0), score))
    assert row["f1"] == pytest.approx(f1_score(bad, score > 0.6), abs=1e-4)
    assert row["ap"] == pytest.approx(average_precision_score(bad, score), abs=1e-4)
    assert row["kind_right_foreign"] == 0.0
    assert row["f1_mislabelled"] == pytest.approx(f1_score(case["truth"] == 1, score > 0.6), abs=1e-4)


def test_a_perfect_answer_is_measured_as_such_and_a_range_that_misses_is_told(case):
    bad = case["truth"] > 0
    row = measured(case, answer(case, bad, case["truth"], bad.astype(float)))
    assert row["f1"] == row["ap"] == row["kind_right"] == row["suggestion"] == row["sure_right"] == 1.0
    assert row["covers_total"] is False  # 30 % are wrong, told are 0 to 5 %


def test_calibration_error_is_the_gap_between_what_is_said_and_what_is_so():
    bad = np.arange(1000) % 10 < 3
    assert calibration_error([reliability(np.full(1000, 0.3), bad)]) == pytest.approx(0.0, abs=1e-9)
    assert calibration_error([reliability(np.full(1000, 0.9), bad)]) == pytest.approx(0.6)
    half = np.full(10, 0.5)
    two = [reliability(half, np.full(10, value)) for value in (True, False)]
    assert calibration_error(two) == pytest.approx(0.0)  # of all sets together, each counts alike


def test_peers_are_asked_about_what_they_were_not_fitted_on(random):
    x, y = random.normal(size=(300, 4)).astype(np.float32), np.arange(300) % 3
    for name in ("logistic", "forest"):
        p = peers.folds(name, x, y)
        assert p[np.arange(300), y].mean() < 0.4  # labels that say nothing cannot be predicted


def test_the_area_under_the_margin_finds_flips():
    x, y = make_blobs(400, centers=4, random_state=0)
    label = np.where(np.arange(400) % 10 == 0, (y + 1) % 4, y)
    score, suspected = peers.area_under_margin(x.astype(np.float32), label)
    assert average_precision_score(label != y, score) > 0.9
    assert suspected[label == y].mean() < 0.2
