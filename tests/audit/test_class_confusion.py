"""Labels that are mistaken for one another, told from classes that overlap."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from graylearn.audit import Audit, audit
from graylearn.audit.detectors import class_confusion
from graylearn.audit.gaps import SEPARATED, gaps, inside_rank
from graylearn.audit.kinds import MISLABELLED, SURE


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def swapped(y, rate, seed=3):
    """Labels of which a share is called the next digit."""
    wrong = np.random.default_rng(seed).random(len(y)) < rate
    return np.where(wrong, (y + 1) % 10, y), wrong


@pytest.mark.parametrize("rate", [0.08, 0.35])
@pytest.mark.parametrize("mode", ["held-out", "history"])
def test_digits_called_the_next_digit_are_found_and_named(digits, rate, mode):
    x, y = digits
    given, wrong = swapped(y, rate)
    found = audit(x, given, mode=mode)
    assert found.found_by == ("class_confusion",)
    assert found.suspected[wrong].mean() > 0.9
    assert wrong[found.suspected].mean() > 0.9
    assert (found.kind[found.suspected] == MISLABELLED).all()
    caught = found.suspected & wrong
    assert (found.suggested[caught] == y[caught]).mean() > 0.97
    sure = found.level == SURE
    assert sure.sum() > 20
    assert wrong[sure].mean() > 0.97
    low, high = found.ranges["mislabelled"]
    assert low < wrong.mean() < high
    assert found.contamination["mislabelled"] == pytest.approx(wrong.mean(), abs=0.03)


@pytest.mark.parametrize("overlap", ["none", "possible"])
def test_clouds_that_overlap_are_left_alone_whatever_is_said(overlap):
    random = np.random.default_rng(0)
    true = random.integers(5, size=1000)
    x = random.normal(size=(5, 40))[true] * 0.5 + random.normal(size=(1000, 40))
    found = audit(x, true, overlap=overlap)
    assert not found.suspected.any()


def probabilities(n=2000, k=5, rate=0.2, seed=0):
    """A network that has learnt labels of the next class as far as they are frequent, sure of the rest."""
    random = np.random.default_rng(seed)
    true = random.integers(k, size=n)
    wrong = random.random(n) < rate
    label = np.where(wrong, (true + 1) % k, true)
    p = random.dirichlet(np.full(k, 0.3), size=n) * 0.2
    p[np.arange(n), (true + 1) % k] += 0.8 * rate
    p[np.arange(n), true] += 0.8 * (1 - rate)
    return p, label, wrong, true


def test_probabilities_alone_need_the_users_word():
    p, label, wrong, true = probabilities()
    silent = Audit.from_predictions(p, label)
    assert silent.overlap == "possible"
    assert not silent.suspected.any()
    assert any("cannot be told from classes that overlap" in note for note in silent.notes)
    assert silent.ranges["total"][0] == 0
    assert wrong.mean() < silent.ranges["total"][1] < wrong.mean() + 0.1
    assert f"at most {silent.ranges['total'][1]:.1%}" in silent.summary()
    found = Audit.from_predictions(p, label, overlap="none")
    assert found.form == "transition"
    assert found.suspected[wrong].mean() > 0.9
    assert wrong[found.suspected].mean() > 0.9
    caught = found.suspected & wrong
    np.testing.assert_array_equal(found.suggested[caught], true[caught])
    assert "at most" not in found.summary()


def test_probabilities_of_a_weak_model_contradict_nothing():
    """Sixty clouds that overlap: the model is right on a third, and not one label is wrong."""
    random = np.random.default_rng(0)
    centre, label = random.normal(size=(60, 3)), random.integers(0, 60, 2000)
    x = centre[label] + 0.5 * random.normal(size=(2000, 3))
    p = cross_val_predict(GaussianNB(), x, label, cv=3, method="predict_proba")
    found = Audit.from_predictions(p, label, overlap="none")
    assert not found.suspected.any()
    assert any("too weak to contradict labels" in note for note in found.notes)


def test_many_flags_of_probabilities_alone_are_told_to_hang_on_the_model():
    def told(rate):
        p, label, *_ = probabilities(rate=rate)
        return "where it errs often" in Audit.from_predictions(p, label, overlap="none").summary()

    assert told(0.3)
    assert not told(0.1)


def test_labels_wrong_at_random_stay_with_the_mixture(digits):
    x, y = digits
    random = np.random.default_rng(5)
    wrong = random.random(len(y)) < 0.2
    given = np.where(wrong, (y + random.integers(1, 10, size=len(y))) % 10, y)
    found = audit(x, given)
    assert found.found_by == ("random_labels",)
    assert found.details["confusion_gain"] < 0


def test_ranks_are_even_inside_another_class_and_high_between_two():
    random = np.random.default_rng(0)
    side = np.r_[random.normal(-3, 1, 2000), random.normal(3, 1, 2000)]
    p = np.stack([1 / (1 + np.exp(side)), 1 / (1 + np.exp(-side))], axis=1)
    best = p.argmax(axis=1)
    confused = random.random(4000) < 0.1
    rank = inside_rank(p, np.where(confused, 1 - best, best), best)
    assert np.isnan(rank[~confused]).all()
    assert np.nanmean(rank) == pytest.approx(0.5, abs=0.05)
    drawn = (p[:, 1] > random.random(4000)).astype(np.int64)  # labels that overlap as the classes do
    assert np.nanmean(inside_rank(p, drawn, best)) > 0.7


def test_gaps_are_seen_between_clouds_and_not_between_halves_of_one():
    random = np.random.default_rng(0)
    label = np.repeat(np.arange(3), 300)
    x = random.normal(size=(900, 10)).astype(np.float32)
    x[:, 0] += 6.0 * (label == 2)
    cut = np.where((label != 2) & (x[:, 1] > 0), 1, np.where(label == 2, 2, 0))
    read = gaps(x, cut, cut, {(0, 1), (0, 2)}, 3)
    assert read[0, 1][0] > 0.75
    assert read[0, 2][0] < 0.2
    assert read[0, 1][1] == read[0, 1][0]  # no class lies between
    # a class hardly any of whose samples look like it is not known: its few members tell no gap
    best = np.where((label == 2) & (np.arange(900) % 5 > 0), 0, cut)
    assert gaps(x, cut, best, {(0, 2)}, 3)[0, 2][0] == 1.0


def clouds(n, step, columns=2):
    """Three classes whose clouds lie on one line, and labels of which a tenth are the next class."""
    random = np.random.default_rng(0)
    true = np.arange(n) % 3
    x = random.normal(size=(n, columns))
    x[:, 0] += step * true
    wrong = random.random(n) < 0.1
    return x, true, np.where(wrong, (true + 1) % 3, true), wrong


def test_a_small_table_shows_confusion_by_all_of_its_ranks():
    x, true, given, wrong = clouds(360, 7.0)
    found = audit(x, given)
    assert found.overlap == "possible"
    assert found.found_by == ("class_confusion",)
    assert found.suspected[wrong].mean() > 0.6
    assert wrong[found.suspected].mean() > 0.95
    assert not audit(x, true).suspected.any()


def test_what_a_flag_alone_sets_apart_is_never_sure():
    random = np.random.default_rng(0)
    flag = random.integers(2, size=600)
    bought = random.random(600) < np.where(flag == 1, 0.95, 0.2)  # and none of this is wrong
    x = np.column_stack([flag, random.normal(size=(600, 4))])
    found = audit(x, bought)
    assert found.found_by == ("class_confusion",)
    assert not (found.level == SURE).any()


def test_a_flag_beside_columns_that_set_classes_apart_leaves_labels_sure():
    x, _, given, wrong = clouds(600, 7.0)
    flag = np.random.default_rng(1).integers(2, size=600)
    sure = audit(np.column_stack([x, flag]), given).level == SURE
    assert sure.sum() > 20
    assert wrong[sure].mean() > 0.95


def test_a_small_table_whose_classes_overlap_says_what_is_not_known():
    x, _, given, _ = clouds(360, 2.0)
    found = audit(x, given)
    assert not found.suspected.any()
    assert any("confusion cannot be told from overlap" in note for note in found.notes)
    told = audit(x, given, overlap="none").notes  # whoever says so is not answered with it
    assert any("cannot be told from hard samples" in note for note in told)
    assert not any("overlap" in note for note in told)


def test_a_class_between_two_bridges_them_unless_it_is_apart_from_both():
    x, true, _, _ = clouds(600, 7.0, columns=4)
    assert max(gaps(x, true, true, {(0, 2)}, 3)[0, 2]) < SEPARATED
    x[true == 1, 0] = np.random.default_rng(1).uniform(0, 14, size=200)  # from one to the other without a gap
    width, bridged = gaps(x, true, true, {(0, 2)}, 3)[0, 2]
    assert width < SEPARATED < bridged


def test_a_gap_a_little_wider_or_not_tells_a_little_more_or_less(monkeypatch):
    p, label, _, true = probabilities()
    x = np.eye(5)[true] + np.random.default_rng(1).normal(size=(len(true), 5)) * 0.1
    rate = {}
    for width in (0.2, 0.59, 0.61, 1.0):
        monkeypatch.setattr(
            class_confusion, "gaps", lambda *a, width=width: dict.fromkeys(a[3], (width, width))
        )
        rate[width] = Audit.from_predictions(p, label, x).details["confusion_rate"]
    assert rate[0.2] == pytest.approx(0.2, abs=0.05)
    assert rate[0.59] == pytest.approx(rate[0.61], rel=0.1)
    assert rate[0.2] > 1.5 * rate[0.61] > 0
    assert rate[1.0] == 0


@pytest.mark.parametrize(("gain", "by"), [(5.0, "class_confusion"), (-5.0, "random_labels")])
def test_any_gain_of_a_rate_for_each_pair_overrules_even_noise(digits, gain, by, monkeypatch):
    x, y = (each[:700] for each in digits)
    random = np.random.default_rng(0)
    given = np.where(random.random(700) < 0.2, random.integers(10, size=700), y)
    monkeypatch.setattr(class_confusion, "gain_over_even", lambda *_: gain)
    assert audit(x, given, overlap="none").found_by == (by,)


@pytest.mark.parametrize(("gain", "found"), [(0.0, False), (0.05, True), (-0.05, True)])
def test_labels_that_surely_go_wrong_somehow_need_fewer_samples_inside_another_class(
    gain, found, monkeypatch
):
    p, label, _, true = probabilities()
    x = np.eye(5)[true] + np.random.default_rng(1).normal(size=(len(true), 5)) * 0.1
    monkeypatch.setattr(class_confusion, "gain_over_even", lambda *_: gain * len(label))
    monkeypatch.setattr(class_confusion, "MIN_RATE", 0.3)  # 20 % are wrong
    assert Audit.from_predictions(p, label, x, overlap="none").suspected.any() == found


def test_labels_that_surely_go_wrong_by_pairs_need_no_gap_where_each_sample_has_one_class(monkeypatch):
    random = np.random.default_rng(0)
    true = np.arange(800) % 8
    wrong = random.random(800) < 0.25
    label = np.where(wrong, (true + 1) % 8, true)
    angle = 2 * np.pi * np.arange(8) / 8
    x = 4.3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)[true] + random.normal(size=(800, 2))
    p = np.full((800, 8), 0.01)
    p[np.arange(800), (true + 1) % 8] = 0.25
    p[np.arange(800), true] = 0.69
    p *= random.uniform(0.9, 1.1, p.shape)
    p /= p.sum(axis=1, keepdims=True)
    found = Audit.from_predictions(p, label, x, overlap="none")
    assert found.details["mean_gap"] > class_confusion.MEAN_GAP  # neighbours on the circle touch
    assert found.found_by == ("class_confusion",)
    assert found.suspected[wrong].mean() > 0.75
    assert wrong[found.suspected].mean() > 0.75
    assert not (found.level == SURE).any()
    assert not Audit.from_predictions(p, label, x, overlap="possible").suspected.any()
    monkeypatch.setattr(class_confusion, "STRUCTURED", np.inf)  # it is this that shows them
    assert not Audit.from_predictions(p, label, x, overlap="none").suspected.any()


def test_classes_that_overlap_do_not_hide_confused_labels_of_others():
    random = np.random.default_rng(1)
    y = np.arange(1400) % 7
    centre = np.zeros((7, 8))
    centre[:4, :4] = 7 * np.eye(4)
    centre[4:, 4:6] = np.c_[np.full(3, 7.0), 1.6 * np.arange(3)]  # three side by side
    x = centre[y] + random.normal(size=(1400, 8))
    wrong = (y < 4) & (random.random(1400) < 0.12)
    found = audit(x, np.where(wrong, (y + 1) % 4, y))
    assert found.found_by == ("class_confusion",)
    assert found.suspected[wrong].mean() > 0.95
    assert wrong[found.suspected].mean() > 0.95  # what lies between the three may be right
    assert not audit(x, y).suspected.any()
