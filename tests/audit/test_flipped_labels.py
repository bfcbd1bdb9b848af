"""Labels of two or three classes flipped by chance, told from classes that overlap."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from graylearn.audit import audit
from graylearn.audit.contradictions import confidence_rank, read_contradictions
from graylearn.audit.detectors import flipped_labels
from graylearn.audit.detectors.flipped_labels import find
from graylearn.audit.evidence import gather
from graylearn.audit.kinds import MISLABELLED, SURE


def seen(rate, distance, num_classes=2, n=4000, seed=0):
    """Clouds so far apart, a share of labels flipped: probabilities, given labels, true ones."""
    random = np.random.default_rng(seed)
    true = random.integers(num_classes, size=n)
    x = distance / np.sqrt(2) * np.eye(num_classes)[true] + random.normal(size=(n, num_classes))
    log_p = -((x[:, None] - distance / np.sqrt(2) * np.eye(num_classes)) ** 2).sum(axis=2) / 2
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    flipped = random.random(n) < rate
    label = np.where(flipped, (true + random.integers(1, num_classes, size=n)) % num_classes, true)
    # what a model says that learnt from such labels: nothing is surer than the labels are right
    learnt = (1 - rate) * p + rate / (num_classes - 1) * (1 - p)
    return learnt / learnt.sum(axis=1, keepdims=True), label, true


def read(p, label):
    best = p.argmax(axis=1)
    return read_contradictions(confidence_rank(p, best), best != label, best, p.shape[1])


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_the_rate_of_flips_is_read_beside_an_overlap(num_classes, rate):
    p, label, true = seen(rate, 3.0, num_classes)
    found = read(p, label)
    wrong = label != true
    assert found.rate == pytest.approx(rate, abs=0.025)
    assert found.gain > 20
    assert found.low.mean() < wrong.mean() < found.high.mean() + 0.02
    for low, high in ((0.1, 0.5), (0.5, 0.9), (0.9, 1.01)):
        among = (found.posterior >= low) & (found.posterior < high)
        if among.sum() > 100:
            assert wrong[among].mean() == pytest.approx(found.posterior[among].mean(), abs=0.12)


@pytest.mark.parametrize("distance", [1.0, 2.0, 4.0])
def test_overlap_alone_is_no_flip(distance):
    p, label, _ = seen(0.0, distance)
    assert read(p, label).rate < 0.02


def test_two_classes_that_overlap_beside_a_plain_one_are_no_flips():
    p, label, _ = seen(0.0, 1.4, n=600)
    plain = np.eye(3)[np.full(300, 2)] * 0.98 + 0.01
    p = np.concatenate([np.pad(p, ((0, 0), (0, 1))), plain])
    label = np.concatenate([label, np.full(300, 2)])
    assert read(p, label).rate < 0.02
    assert not find(gather(p, label, (0, 1, 2), None, "predictions", "none")).found


def test_ranks_are_of_those_that_look_alike_and_ties_share_theirs():
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.2, 0.8]])
    np.testing.assert_allclose(confidence_rank(p, p.argmax(axis=1)), [0.75, 0.25, 0.5, 0.5])


@pytest.mark.parametrize(("overlap", "found"), [("possible", False), ("none", True)])
def test_probabilities_alone_are_believed_where_classes_do_not_overlap(overlap, found):
    p, label, _ = seen(0.2, 5.0, n=400)
    assert find(gather(p, label, (0, 1), None, "predictions", overlap)).found == found


def test_four_classes_and_a_rare_class_that_nothing_tells_are_left_alone():
    p, label, _ = seen(0.2, 5.0, num_classes=4, n=400)
    assert not find(gather(p, label, (0, 1, 2, 3), None, "predictions", "none")).found
    random = np.random.default_rng(0)
    rare = (random.random(600) < 0.1).astype(np.int64)  # as even as flips, for nobody can tell them
    p = np.stack([1 - (chance := random.uniform(0.05, 0.15, 600)), chance], axis=1)
    assert not find(gather(p, rare, (0, 1), None, "predictions", "none")).found


@pytest.fixture(scope="module")
def tumours():
    return load_breast_cancer(return_X_y=True)


def test_flips_of_a_small_table_are_found_and_estimated(tumours):
    x, true = tumours
    wrong = np.random.default_rng([0, 300]).random(len(true)) < 0.3
    found = audit(x, np.where(wrong, 1 - true, true))
    assert found.found_by == ("flipped_labels",)
    assert (found.form, found.overlap) == ("constant", "possible")
    assert found.suspected[wrong].mean() > 0.8
    assert wrong[found.suspected].mean() > 0.8
    assert (found.kind[found.suspected] == MISLABELLED).all()
    assert (found.suggested[found.suspected & wrong] == true[found.suspected & wrong]).all()
    assert (found.level == SURE).sum() >= 20
    assert wrong[found.level == SURE].mean() > 0.95
    assert found.contamination["total"] == pytest.approx(wrong.mean(), abs=0.04)
    low, high = found.ranges["total"]
    assert low - 0.01 < wrong.mean() < high + 0.01
    assert any("flipped by chance" in note for note in found.notes)


@pytest.mark.parametrize("overlap", ["possible", "none"])
def test_grades_make_flips_sure_only_where_each_row_has_one_true_class(tumours, overlap):
    x, true = tumours
    grades = np.stack([np.digitize(column, np.quantile(column, [0.3, 0.6, 0.9])) for column in x.T], axis=1)
    wrong = np.random.default_rng([0, 300]).random(len(true)) < 0.3
    found = audit(grades, np.where(wrong, 1 - true, true), overlap=overlap)
    assert found.found_by == (("flipped_labels",) if overlap == "possible" else ("class_confusion",))
    assert (found.level == SURE).any() == (overlap == "none")


def test_where_classes_may_overlap_more_is_asked(tumours, monkeypatch):
    x, true = tumours
    given = np.where(np.random.default_rng([0, 300]).random(len(true)) < 0.3, 1 - true, true)
    monkeypatch.setattr(flipped_labels, "CHANCE_OVERLAP", 0.0)
    assert not audit(x, given).suspected.any()


def test_the_same_table_as_it_is_stays_clean(tumours):
    assert not audit(*tumours).suspected.any()
