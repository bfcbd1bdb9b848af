"""Ranks among other labels, labels that fall in two parts, and the foreign samples that both tell."""

import numpy as np
import pytest
from audit_clouds import clouds
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from graylearn.audit.detectors.foreign_clusters import (
    MIN_EVIDENT_FAR,
    _two_bells,
    foreign_rank,
    lying_apart,
    split_labels,
)
from graylearn.audit.inputs import as_features
from graylearn.audit.neighbours import unit_rows


def test_foreign_rank_counts_the_samples_of_other_labels():
    random = np.random.default_rng(2)
    similarity, label = random.normal(size=(60, 3)), random.integers(3, size=60)
    rank = foreign_rank(similarity, label)
    for i in range(60):
        foreign = similarity[label != label[i], label[i]]
        expected = ((foreign <= similarity[i, label[i]]).sum() + 0.5) / (len(foreign) + 1)
        assert rank[i] == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_foreign_samples_with_one_label_each_are_found_and_counted(share):
    x, label, foreign = clouds(3, foreign=share)
    found = lying_apart(x, label, 8, np.ones(len(label), dtype=bool))
    assert found.reason == ""
    assert found.share == pytest.approx(share, abs=0.06)
    flagged = found.posterior > 0.5
    assert foreign[flagged].mean() > 0.8
    assert flagged[foreign].mean() > 0.6


def test_more_foreign_samples_than_a_quarter_are_taken_for_classes_that_are_no_clouds():
    x, label, _ = clouds(4, foreign=0.45)
    found = lying_apart(x, label, 8, np.ones(len(label), dtype=bool))
    assert not found.posterior.any()
    assert found.reason == "classes are not clouds here: too many samples lie apart"


@pytest.mark.parametrize("spread", [1.0, 2.0, 4.0, 8.0])
def test_clean_clouds_have_no_foreign_samples_however_much_they_overlap(spread):
    x, label, _ = clouds(4, spread=spread)
    found = lying_apart(x, label, 8, np.ones(len(label), dtype=bool))
    assert found.share == 0
    assert not found.posterior.any()
    assert found.reason


def test_where_centres_explain_nothing_the_view_abstains():
    random = np.random.default_rng(5)
    x, label = random.normal(size=(600, 10)).astype(np.float32), random.integers(5, size=600)
    found = lying_apart(x, label, 5, np.ones(600, dtype=bool))
    assert not found.posterior.any()
    assert "not clouds" in found.reason
    few = lying_apart(x[:50], label[:50], 5, np.ones(50, dtype=bool))
    assert few.reason == "too few samples"


def test_two_bells_part_where_their_densities_meet():
    """A small sharp bell beside a large one: the chance is Bayes' rule with the true curves."""
    random = np.random.default_rng(6)
    part = random.random(4000) < 0.2
    pull = np.where(part, random.normal(1.0, 0.3, 4000), random.normal(-1.0, 0.4, 4000))
    chance, gain = _two_bells(pull, pull > 0)
    inner = np.abs(pull) < 0.9
    one = 0.2 / 0.3 * np.exp(-0.5 * ((pull - 1.0) / 0.3) ** 2)
    other = 0.8 / 0.4 * np.exp(-0.5 * ((pull + 1.0) / 0.4) ** 2)
    np.testing.assert_allclose(chance[inner], (one / (one + other))[inner], atol=0.12)
    assert gain > 0.3
    single = random.normal(size=4000)
    assert _two_bells(single, single > 0)[1] < 0.03


def test_a_label_that_is_nearly_half_foreign_is_parted():
    """Where trimming fails: 45 % of one label is one tight foreign cluster."""
    random = np.random.default_rng(7)
    x, label, _ = clouds(7, n=1600)
    foreign = np.zeros(len(label), dtype=bool)
    members = np.flatnonzero(label == 3)
    foreign[members[: int(0.45 * len(members))]] = True
    x[foreign] = 3.0 * random.normal(size=40) + 0.3 * random.normal(size=(int(foreign.sum()), 40))
    split = split_labels(unit_rows(x).double().numpy(), label)
    assert split.labels.tolist() == [3]
    assert (split.foreign == foreign).mean() > 0.99
    assert split.evident == pytest.approx(foreign.mean(), abs=0.01)


@pytest.mark.parametrize("seed", [1, 2, 9])
def test_two_ways_to_write_a_one_are_not_foreign(seed):
    x, y = load_digits(return_X_y=True)
    rows, _ = train_test_split(np.arange(len(y)), train_size=0.45, random_state=seed, stratify=y)
    features = as_features(x[rows], len(rows))
    split = split_labels(unit_rows(features).double().numpy(), y[rows])
    assert split.evident > MIN_EVIDENT_FAR  # there are parts, and they are clusters
    found = lying_apart(features, y[rows], 10, np.ones(len(rows), dtype=bool))
    assert found.share == 0


def test_parts_on_opposite_sides_are_a_class_of_two_kinds():
    """Every class has two ends along one strong axis, as in tables: nothing is foreign."""
    random = np.random.default_rng(8)
    label = random.integers(5, size=1500)
    x = random.normal(size=(5, 20))[label] + random.normal(size=(1500, 20))
    x[:, 0] += np.where(random.random(1500) < 0.3, -12.0, 6.0)
    found = lying_apart((x - x.mean(axis=0)).astype(np.float32), label, 5, np.ones(1500, dtype=bool))
    assert not found.posterior.any()
    assert "not clouds" in found.reason
