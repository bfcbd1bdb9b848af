"""Ranks among other labels, and the foreign samples that parts and ranks tell."""

import numpy as np
import pytest
from audit_clouds import clouds, parted_clouds

from graylearn.audit.apart import (
    KINDS_OF_ONE,
    _among_others,
    _by_part,
    foreign_rank,
    lying_apart,
)
from graylearn.audit.label_parts import Parts


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


def test_a_column_is_in_units_of_the_samples_that_do_not_bear_its_label():
    random = np.random.default_rng(3)
    similarity, label = random.normal(size=(50, 4)), random.integers(4, size=50)
    read = _among_others(similarity, label)
    for k in range(4):
        other = similarity[label != k, k]
        np.testing.assert_allclose(read[:, k], (similarity[:, k] - other.mean()) / other.std())


def test_kinds_that_fit_their_label_as_well_as_the_rest_are_no_foreign_samples():
    """The same parts: foreign where networks doubt their label, a kind of the class where they do not."""
    x, label, _ = clouds(7, n=1600)
    parted = np.zeros(len(label), dtype=bool)
    random = np.random.default_rng(7)
    for k in (2, 3, 5):
        members = np.flatnonzero(label == k)[::3]
        parted[members] = True
        x[members] = -x[label == k].mean(axis=0) + 0.3 * random.normal(size=(len(members), 40))
    right = np.ones(len(label), dtype=bool)
    doubted = lying_apart(x, label, 8, right, confidence=np.where(parted, 0.5, 0.9))
    assert ((doubted.posterior > 0.5) == parted).mean() > 0.98
    as_sure = lying_apart(x, label, 8, right, confidence=np.full(len(label), 0.9))
    assert as_sure.share == 0
    assert as_sure.reason == KINDS_OF_ONE or "not clouds" in as_sure.reason


@pytest.mark.parametrize("alike", [True, False])
def test_one_source_is_believed_against_the_networks_and_kinds_are_not_for_their_doubt(alike):
    """Parts of half of the labels: of one source networks may be sure, and kinds they may doubt."""
    x, label, parted = parted_clouds(alike=alike)
    confidence = np.where(parted, 0.9 if alike else 0.5, 0.9)
    found = lying_apart(x, label, 8, np.ones(len(label), dtype=bool), confidence=confidence)
    if alike:
        assert ((found.posterior > 0.5) == parted).mean() > 0.98
    else:
        assert found.reason == KINDS_OF_ONE
        assert not found.posterior.any()


def test_a_part_without_a_gap_counts_where_ranks_say_the_same():
    chance, by_rank = np.array([0.9, 0.9, 0.1]), np.array([0.4, 0.0, 0.4])
    parts = Parts(np.zeros(3, dtype=bool), chance, np.array([1]), 0.0, 0.0)
    np.testing.assert_allclose(_by_part(parts, np.array([0, 0, 1]), by_rank), [0.6, 0.0, 0.1])
