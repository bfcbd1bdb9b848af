"""Neighbours, kernel regression and scaling against plain references."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from graylearn.audit import neighbours as nb
from graylearn.audit import scaling
from graylearn.audit.kernel import RIDGES, Landmarks, leave_one_out
from graylearn.audit.pooling import pool
from graylearn.audit.scaling import reduced, scaled


@pytest.fixture
def random():
    return np.random.default_rng(0)


def test_neighbours_are_those_of_scikit_learn(random, monkeypatch):
    monkeypatch.setattr(nb, "_BLOCK", 500)  # several blocks
    x = random.normal(size=(97, 5)).astype(np.float32)
    index, distance = nb.neighbours(x, 7)
    reference = NearestNeighbors(n_neighbors=8, metric="cosine").fit(x)
    expected, places = reference.kneighbors(x)
    np.testing.assert_array_equal(index, places[:, 1:])
    np.testing.assert_allclose(distance, expected[:, 1:], atol=1e-5)


@pytest.mark.parametrize(("n", "k"), [(10_000, 20), (300, 15), (40, 3), (3, 2), (2, 1)])
def test_number_of_neighbours(n, k):
    assert nb.number_of_neighbours(n) == k


def test_votes_count_labels(random):
    index = random.integers(30, size=(30, 4))
    label = random.integers(3, size=30)
    share = nb.vote(index, label, 3)
    for i in range(30):
        for k in range(3):
            assert share[i, k] == np.mean([label[j] == k for j in index[i]])
    smooth = nb.smooth_vote(share)
    np.testing.assert_allclose(smooth.sum(axis=1), 1.0)
    assert smooth.min() == pytest.approx(0.5 / 3 / 1.5)


def test_leave_one_out_equals_refitting_without_the_sample(random):
    """With one ridge the closed form must rank classes as n separate regressions do."""
    x = random.normal(size=(40, 3))
    label = (x[:, 0] > 0).astype(np.int64) + (x[:, 1] > 0.5)
    landmarks = Landmarks(x.astype(np.float32))
    columns = landmarks(slice(None)).numpy()
    found = leave_one_out(landmarks, label, 3)[0]
    target = np.eye(3)[label] - 1 / 3
    best_error, expected = np.inf, None
    for ridge in RIDGES:
        predicted = np.empty_like(target)
        for i in range(40):
            rest = np.arange(40) != i
            a = columns[rest]
            w = np.linalg.solve(a.T @ a + ridge * np.eye(a.shape[1]), a.T @ target[rest])
            predicted[i] = columns[i] @ w
        error = ((predicted - target) ** 2).sum()
        if error < best_error:
            best_error, expected = error, predicted
    # log of the softmax differs from the regression only by a factor and a shift a row
    ratio = np.log(found) - np.log(found).mean(axis=1, keepdims=True)
    centred = expected - expected.mean(axis=1, keepdims=True)
    sharpness = (ratio * centred).sum() / (centred**2).sum()
    np.testing.assert_allclose(ratio, sharpness * centred, atol=1e-6)
    assert sharpness >= 1


@pytest.mark.parametrize("many", [scaling._MANY, 0])
def test_scaled_survives_what_tables_hold(many, monkeypatch):
    monkeypatch.setattr(scaling, "_MANY", many)
    x = np.array([[1.0, 5.0, np.nan, 1e300, 0.0], [2.0, 5.0, 3.0, -1e300, np.inf], [3.0, 5.0, 4.0, 0.0, 1.0]])
    z = scaled(x)
    assert np.isfinite(z).all()
    np.testing.assert_allclose(z[:, 0], [-np.sqrt(1.5), 0, np.sqrt(1.5)], atol=1e-6)
    assert (z[:, 1] == 0).all()
    assert z[0, 2] == 0


@pytest.mark.parametrize(("many", "large"), [(scaling._MANY, 10**9), (0, 10**9), (0, 100)])
def test_broken_rows_do_not_set_the_scale_of_all(random, monkeypatch, many, large):
    monkeypatch.setattr(scaling, "_MANY", many)
    monkeypatch.setattr(scaling, "LARGE", large)
    whole = random.normal(size=(400, 3)).astype(np.float32)
    found = scaled(np.concatenate([whole, np.full((60, 3), 99999, dtype=np.float32)]))
    np.testing.assert_allclose(found[:400], scaled(whole), atol=1e-5)
    assert (found[400:] == 10).all()


def test_the_values_of_a_sparse_column_set_its_scale(random):
    counts = np.zeros((400, 1))
    counts[:5], counts[5:104] = 0.5, 200 + random.normal(size=(99, 1))  # its third quartile is .5
    z = scaled(counts)
    np.testing.assert_allclose(z.mean(), 0, atol=1e-6)
    np.testing.assert_allclose(z.std(), 1, atol=1e-5)


def test_many_rows_are_scaled_as_few_are(random, monkeypatch):
    x = random.normal(size=(301, 7)) * [1, 1e-20, 1e25, 5, 1, 1, 1]
    x[:, 3], x[:, 4], x[9, 5], x[::2, 6], x[5, 0], x[7, 1] = 7.3, np.nan, 1e38, 0.0, np.nan, -np.inf
    expected = scaled(x)
    monkeypatch.setattr(scaling, "_MANY", 0)
    monkeypatch.setattr(scaling, "_BLOCK", 8 * 7 * 50)
    np.testing.assert_allclose(scaled(x), expected, atol=1e-6)


def test_reduced_keeps_inner_products_of_wide_features(random):
    low = random.normal(size=(200, 20)) @ random.normal(size=(20, 500))
    wide = low.astype(np.float32)
    narrow = reduced(wide)
    assert narrow.shape == (200, 128)
    full, small = wide @ wide.T, narrow @ narrow.T
    assert np.corrcoef(full.ravel(), small.ravel())[0, 1] > 0.9999
    assert reduced(wide[:, :256]) is not narrow
    assert reduced(wide[:, :256]).shape == (200, 256)


def test_pool_is_a_distribution_with_and_without_features(random):
    p = random.dirichlet(np.ones(4), size=50)
    label = random.integers(4, size=50)
    alone = pool(p, label, None)
    np.testing.assert_array_equal(alone.probabilities, p)
    assert list(alone.no_class) == ["entropy"]
    both = pool(p, label, random.normal(size=(50, 3)).astype(np.float32))
    np.testing.assert_allclose(both.probabilities.sum(axis=1), 1.0)
    for column in both.no_class.values():
        assert column.shape == (50,)
        assert np.isfinite(column).all()


def test_a_network_that_has_seen_the_labels_gets_an_even_share(random):
    label = random.integers(4, size=200)
    knows = np.full((200, 4), 0.01)
    knows[np.arange(200), label] = 0.97
    features = random.normal(size=(200, 3)).astype(np.float32)
    assert pool(knows, label, features).weights["network"] > 0.8
    seen = pool(knows, label, features, held_out=False).weights
    assert seen["network"] == pytest.approx(1 / 4)
    assert sum(seen.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "columns"), [(49, 3), (50, 5)])
def test_distances_to_centres_are_evidence_with_ten_samples_a_feature(random, n, columns):
    p, label = random.dirichlet(np.ones(4), size=n), random.integers(4, size=n)
    views = pool(p, label, random.normal(size=(n, 5)).astype(np.float32))
    assert len(views.no_class) == columns
