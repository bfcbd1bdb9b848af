"""Trimmed class centres, ranks among foreigners, and strangers."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from graylearn.audit.centroids import (
    _closest,
    centre_cosine,
    centre_distance,
    find_strangers,
    foreign_rank,
)


def clouds(seed, strangers=0.0, n=1500, k=8, d=40, spread=1.0):
    """Classes as clouds round random directions; strangers come from other clouds, one for each label."""
    random = np.random.default_rng(seed)
    centre = random.normal(size=(2 * k, d))
    label = random.integers(k, size=n)
    strange = random.random(n) < strangers
    x = centre[np.where(strange, label + k, label)] + spread * random.normal(size=(n, d))
    return x.astype(np.float32), label, strange


def test_closest_takes_the_same_share_of_every_label():
    label = np.array([0, 0, 0, 0, 1, 1, 2])
    nearness = np.array([0.1, 0.9, 0.5, 0.7, 0.2, 0.1, -5.0])
    assert _closest(nearness, label, 0.5).tolist() == [False, True, False, True, True, False, True]


def test_cosine_to_the_own_centre_leaves_the_sample_out():
    """Two samples a label: the own centre is the other sample or, untrimmed ones apart, one of both."""
    x = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [-1.0, -1.0]], dtype=np.float32)
    similarity = centre_cosine(x, np.array([0, 0, 1, 1]), 2)
    assert similarity[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert similarity[2, 1] == pytest.approx(np.sqrt(0.5), abs=1e-6)


def test_a_minority_cannot_pull_a_centre_over():
    x, label, strange = clouds(0, strangers=0.25)
    own = centre_cosine(x, label, 8)[np.arange(len(label)), label]
    assert roc_auc_score(strange, -own) > 0.99


def test_distance_sees_what_is_off_a_thin_cloud():
    """Two features that move together: a sample off their line is strange though not far from the centre."""
    random = np.random.default_rng(1)
    label = random.integers(2, size=1000)
    along, across = random.normal(size=1000), 0.15 * random.normal(size=1000)
    strange = random.random(1000) < 0.1
    across[strange] += 1.2 * random.choice([-1, 1], strange.sum())
    x = np.stack([along + across, along - across], axis=1) + 6.0 * label[:, None]
    own = centre_distance(x.astype(np.float32), label, 2)[np.arange(1000), label]
    centre = np.stack([x[label == k].mean(axis=0) for k in range(2)])
    plain = ((x - centre[label]) ** 2).sum(axis=1)
    assert own.min() >= 0
    assert roc_auc_score(strange, own) > 0.9
    assert roc_auc_score(strange, own) > roc_auc_score(strange, plain) + 0.05


def test_foreign_rank_counts_foreigners():
    random = np.random.default_rng(2)
    similarity, label = random.normal(size=(60, 3)), random.integers(3, size=60)
    rank = foreign_rank(similarity, label)
    for i in range(60):
        foreign = similarity[label != label[i], label[i]]
        expected = ((foreign <= similarity[i, label[i]]).sum() + 0.5) / (len(foreign) + 1)
        assert rank[i] == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_strangers_with_one_label_each_are_found_and_counted(share):
    x, label, strange = clouds(3, strangers=share)
    found = find_strangers(centre_cosine(x, label, 8), label, np.ones(len(label), dtype=bool))
    assert found.reason == ""
    assert found.share == pytest.approx(share, abs=0.06)
    flagged = found.posterior > 0.5
    assert strange[flagged].mean() > 0.8
    assert flagged[strange].mean() > 0.6


@pytest.mark.parametrize("spread", [1.0, 2.0, 4.0, 8.0])
def test_clean_clouds_have_no_strangers_however_much_they_overlap(spread):
    x, label, _ = clouds(4, spread=spread)
    found = find_strangers(centre_cosine(x, label, 8), label, np.ones(len(label), dtype=bool))
    assert found.share == 0
    assert not found.posterior.any()
    assert found.reason


def test_where_centres_explain_nothing_the_view_abstains():
    random = np.random.default_rng(5)
    x, label = random.normal(size=(600, 10)).astype(np.float32), random.integers(5, size=600)
    found = find_strangers(centre_cosine(x, label, 5), label, np.ones(600, dtype=bool))
    assert not found.posterior.any()
    assert "not clouds" in found.reason
    few = find_strangers(centre_cosine(x[:50], label[:50], 5), label[:50], np.ones(50, dtype=bool))
    assert few.reason == "too few samples"
