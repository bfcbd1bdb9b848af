"""Copies are asked about once, and equal rows tell whether columns decide the label."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import graylearn as gl
from graylearn.audit.repeated import asked_once, decide_labels
from graylearn.data.order import canonical_order


@pytest.fixture
def random():
    return np.random.default_rng(0)


def in_order(features, label):
    order = canonical_order(features, label)
    return features[order], label[order]


def test_copies_of_one_label_are_asked_about_once(random):
    rows = random.normal(size=(50, 6)).astype(np.float32)
    features, label = in_order(np.concatenate([rows, rows[:9], rows[:4]]), np.zeros(63, dtype=np.int64))
    asked, answer = asked_once(features, label)
    assert len(asked) == 50
    np.testing.assert_array_equal(features[asked][answer], features)


def test_copies_that_contradict_one_another_are_all_asked_about(random):
    rows = random.normal(size=(50, 6)).astype(np.float32)
    label = np.r_[np.zeros(50, dtype=np.int64), 0, 1]
    features, label = in_order(np.concatenate([rows, rows[:1], rows[:1]]), label)
    asked, answer = asked_once(features, label)
    np.testing.assert_array_equal(asked, np.arange(52))
    np.testing.assert_array_equal(answer, np.arange(52))


@pytest.mark.parametrize("columns", [0, 1, 4])
def test_rows_of_few_values_are_no_copies(random, columns):
    rows = random.integers(0, 3, size=(200, columns)).astype(np.float32)
    features, label = in_order(rows, np.zeros(200, dtype=np.int64))
    assert len(asked_once(features, label)[0]) == 200


def test_rows_that_end_in_zeros_are_copies_too(random):
    """Short signals are padded: the last columns tell few of them apart, half of what is told does."""
    rows = random.normal(size=(100, 40)).astype(np.float32)
    rows[:40, 12:] = 0
    rows[40:, 30:] = 0
    features, label = in_order(np.concatenate([rows, rows[:20]]), np.zeros(120, dtype=np.int64))
    assert len(asked_once(features, label)[0]) == 100


@pytest.fixture(scope="module")
def doubled():
    """Digits with 10 % of wrong labels, 30 % of them twice: (X, y, which are wrong)."""
    random = np.random.default_rng(0)
    x, y = load_digits(return_X_y=True)
    wrong = random.random(len(y)) < 0.1
    given = np.where(wrong, (y + random.integers(1, 10, len(y))) % 10, y)
    again = random.choice(len(y), len(y) * 3 // 10, replace=False)
    rows = np.r_[np.arange(len(y)), again]
    return x[rows], given[rows], wrong[rows]


def test_a_copy_does_not_vouch_for_a_wrong_label(doubled):
    x, given, wrong = doubled
    found = gl.audit(x, given, ids=[f"s{number}" for number in range(len(given))], repeats=1)
    assert found.suspected[wrong].mean() > 0.95
    assert wrong[found.suspected].mean() > 0.9
    assert found.ids[-1] == f"s{len(given) - 1}"
    first = pd.Series(found.score).groupby([hash(row.tobytes()) for row in x]).nunique()
    assert (first == 1).all()


def test_a_model_is_asked_about_copies_once_too(doubled):
    from sklearn.neighbors import KNeighborsClassifier

    x, given, wrong = doubled
    found = gl.audit(x, given, model=KNeighborsClassifier(3))
    assert len(found) == len(given)
    assert found.suspected[wrong].mean() > 0.8


def test_how_many_are_wrong_is_told_of_all_samples_not_of_the_different_ones():
    random = np.random.default_rng(0)
    x, y = load_digits(return_X_y=True)
    wrong = random.random(len(y)) < 0.1
    given = np.where(wrong, (y + 1) % 10, y)
    rows = np.r_[np.arange(len(y)), np.repeat(np.flatnonzero(~wrong)[:400], 5)]  # right ones six times
    found = gl.audit(x[rows], given[rows], repeats=1)
    low, high = found.ranges["mislabelled"]
    assert low <= found.contamination["mislabelled"] <= high
    assert low <= wrong[rows].mean() <= high


def test_what_is_worth_a_look_counts_copies_too():
    x, y = load_digits(return_X_y=True)
    rows = np.r_[np.arange(600), np.arange(600)]
    found = gl.audit(x[rows], y[rows], repeats=1)
    assert not found.suspected.any()
    notes = " ".join(found.notes)
    assert f"the first {found.look_first} by score" in notes
    assert re.search(r"likelier for (\d+) of 1,200", notes)[1] == str(found.look_first)
    few = np.r_[np.arange(25), np.arange(25)]
    assert "25 different samples are too few" in gl.audit(x[few], y[few], repeats=1).notes[0]


def passengers(random, shares):
    """Of 24 kinds of passenger, 80 each, these shares bear the other label: (columns, labels, which do)."""
    kind = np.repeat(np.arange(24), 80)
    columns = pd.DataFrame({"cabin": list("abcd"), "age": list("aabb")}).iloc[kind % 4].reset_index(drop=True)
    columns["sex"] = np.where(kind % 8 < 4, "f", "m")
    columns["port"] = np.array(list("xyz"))[kind // 8]
    other = random.random(len(kind)) < np.asarray(shares)[kind]
    return columns, np.where((kind % 8 < 4) ^ other, "yes", "no"), other


def test_columns_that_leave_the_label_open_are_told(random):
    """Who survives is no wrong label, though it is rare among such passengers."""
    columns, label, _ = passengers(random, np.linspace(0.02, 0.4, 24))
    found = gl.audit(columns, label)
    assert not found.suspected.any()
    assert any("the columns do not decide the label" in note for note in found.notes)
    told = gl.audit(columns, label, overlap="none")  # the user's word that they do
    assert not any("do not decide" in note for note in told.notes)


def test_labels_that_are_wrong_alike_in_all_equal_rows_are_found(random):
    columns, label, wrong = passengers(random, np.full(24, 0.1))
    found = gl.audit(columns, label)
    assert found.suspected[wrong].mean() > 0.95
    assert wrong[found.suspected].mean() > 0.95


@pytest.mark.parametrize("often", [1, 9])
def test_few_equal_rows_tell_nothing(random, often):
    rows = np.repeat(random.normal(size=(40, 3)), often, axis=0).astype(np.float32)
    assert decide_labels(rows, random.integers(3, size=len(rows)), 3)


def test_equal_rows_of_one_label_decide_it(random):
    rows = np.repeat(np.arange(6.0, dtype=np.float32), 50)[:, None]
    assert decide_labels(rows, np.repeat(np.arange(6) % 3, 50), 3)
