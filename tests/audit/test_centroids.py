"""Trimmed class centres."""

import numpy as np
import pytest
from audit_clouds import clouds
from sklearn.metrics import roc_auc_score

from graylearn.audit.centroids import centre_cosine, centre_distance, closest


def testclosest_takes_the_same_share_of_every_label():
    label = np.array([0, 0, 0, 0, 1, 1, 2])
    nearness = np.array([0.1, 0.9, 0.5, 0.7, 0.2, 0.1, -5.0])
    assert closest(nearness, label, 0.5).tolist() == [False, True, False, True, True, False, True]


def test_cosine_to_the_own_centre_leaves_the_sample_out():
    """Two samples a label: the own centre is the other sample or, untrimmed ones apart, one of both."""
    x = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [-1.0, -1.0]], dtype=np.float32)
    similarity = centre_cosine(x, np.array([0, 0, 1, 1]), 2)
    assert similarity[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert similarity[2, 1] == pytest.approx(np.sqrt(0.5), abs=1e-6)


def test_a_minority_cannot_pull_a_centre_over():
    x, label, strange = clouds(0, foreign=0.25)
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


def test_no_centre_is_made_of_what_is_held_to_be_foreign():
    """Three of five samples of a label point elsewhere: without them the centre is right."""
    east, north = [1.0, 0.0], [0.0, 1.0]
    x = np.array([east, east, north, north, north, [-1.0, 0.0]], dtype=np.float32)
    label = np.array([0, 0, 0, 0, 0, 1])
    outside = np.array([False, False, True, True, True, False])
    assert centre_cosine(x, label, 2, outside)[:5, 0] == pytest.approx([1, 1, 0, 0, 0], abs=1e-6)
    assert centre_cosine(x, label, 2)[2, 0] > 0.8
