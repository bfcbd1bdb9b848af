"""What a view says of a sample comes from others, of other groups; neighbours are those of brute force."""

import numpy as np
import pytest
from planted import as_rows, clusters

from graylearn.audit import near, views
from graylearn.audit.forest import forest_votes
from graylearn.audit.near import nearest


@pytest.fixture
def rows():
    planted = clusters(120, k=3, d=5, wrong=0.1, apart=2.0)
    return as_rows(planted.x, planted.y)


def groups_that_vouch():
    """Groups of nearly equal samples under one label, drawn at random: only its own group can tell it."""
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 12)
    x = (4.0 * random.normal(size=(40, 6)))[group] + 0.05 * random.normal(size=(480, 6))
    return x, random.permutation(np.arange(40) % 2)[group], group


def off_all(x):
    """Rows of length one, as seen from a point that lies off all of them."""
    x = np.concatenate([x.astype(np.float64), np.ones((len(x), 1))], axis=1)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def brute_force(x, k):
    """(N, k) of 1 - cosine, in double precision, smallest first."""
    away = 1.0 - off_all(x) @ off_all(x).T
    return np.sort(np.where(np.eye(len(x), dtype=bool), np.inf, away), axis=1)[:, :k]


@pytest.mark.parametrize("n", [7, 120, 700])
def test_neighbours_are_those_of_brute_force(n):
    x = np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32)
    found = nearest(x, None, np.linspace(0, 1, n))
    np.testing.assert_allclose(found.distance, brute_force(x, near.number_of_neighbours(n)), atol=2e-6)
    unit = off_all(x)
    away = 1.0 - np.einsum("nd,nkd->nk", unit, unit[found.index])
    np.testing.assert_allclose(away, found.distance, atol=2e-6)


def test_neighbours_in_one_column_are_those_of_like_values():
    x = np.linspace(-2.0, 2.0, 400, dtype=np.float32)[:, None]
    index = nearest(x, None, np.linspace(0, 1, 400)).index
    assert np.abs(x[index, 0] - x).max() < 0.3


def test_in_lists_nearly_all_neighbours_are_found(monkeypatch):
    monkeypatch.setattr(near, "EXACT", 100)
    random = np.random.default_rng(0)
    centres = random.normal(size=(60, 16))
    x = (centres[random.integers(60, size=3000)] + 0.5 * random.normal(size=(3000, 16))).astype(np.float32)
    found = nearest(x, None, random.random(3000))
    assert np.mean(found.distance <= brute_force(x, 20)[:, -1:] + 1e-6) > 0.9
    assert not (found.index == np.arange(3000)[:, None]).any()


def test_more_classes_than_colours_are_told_apart():
    many = clusters(900, k=30, d=30, wrong=0.0)
    rows = as_rows(many.x, many.y)
    votes = forest_votes(rows.x, rows.y, 30, rows.draw, rows.weight, np.arange(900))
    assert votes.shape == (900, 30)
    assert (votes.argmax(axis=1) == rows.y).mean() > 0.5


@pytest.mark.parametrize("name", ["neighbours", "kernel", "trees"])
def test_no_sample_vouches_for_itself(rows, name):
    """Another label of one sample changes what is said of it by its share of all labels, and others more."""
    before = views.look(rows).opinions[name]
    for row in (3, 50, 119):
        y = rows.y.copy()
        y[row] = (y[row] + 1) % 3
        after = views.look(as_rows(rows.x, y)).opinions[name]
        np.testing.assert_allclose(after[row], before[row], atol=0.02)
        assert np.abs(after - before).max() > 0.03, "others are told by it"


@pytest.mark.parametrize("name", ["neighbours", "kernel", "trees"])
def test_samples_of_a_group_never_vouch_for_one_another(name):
    x, y, group = groups_that_vouch()
    every = np.arange(len(y))
    heeded = views.look(as_rows(x, y, group=group)).opinions[name][every, y].mean()
    alone = views.look(as_rows(x, y)).opinions[name][every, y].mean()
    assert alone > 0.7, "samples of its group give its label away"
    assert heeded < 0.6


def test_a_part_of_a_large_set_says_nearly_what_all_of_it_says(monkeypatch):
    planted = clusters(1500, k=3, d=5, wrong=0.1, apart=3.0)
    rows = as_rows(planted.x, planted.y)
    whole = views.look(rows)
    monkeypatch.setattr(views, "FITTED", 700)
    part = views.look(rows)
    for name in ("kernel", "centre", "trees"):
        alike = np.corrcoef(part.opinions[name].ravel(), whole.opinions[name].ravel())[0, 1]
        assert alike > 0.95, name


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_fewest_samples_are_seen_without_a_fault(n):
    rows = as_rows(np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 2, k=2)
    if n > 1:
        for p in views.look(rows).opinions.values():
            assert np.isfinite(p).all()
