"""Every view against a reference that leaves out by leaving out: loops, refits and brute force."""

import numpy as np
import pytest
from planted import as_rows, clusters

from graylearn.audit import forest, near, views
from graylearn.audit.forest import forest_votes, hashed, uniform
from graylearn.audit.near import nearest


@pytest.fixture
def planted():
    return clusters(120, k=3, d=5, wrong=0.1, apart=2.0)


@pytest.fixture
def rows(planted):
    return as_rows(planted.x, planted.y)


def groups_that_vouch(seed=0, count=40, each=12):
    """Groups of nearly equal samples under one label, drawn at random: only its own group can tell it."""
    random = np.random.default_rng(seed)
    group = np.repeat(np.arange(count), each)
    x = (4.0 * random.normal(size=(count, 6)))[group] + 0.05 * random.normal(size=(count * each, 6))
    return x, random.permutation(np.arange(count) % 2)[group], group


# Neighbours.


def brute_force(x, k):
    """(N, k) of 1 - cosine and of distances, in double precision, smallest first."""
    x = x.astype(np.float64)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    away = 1.0 - unit @ unit.T, np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=-1))
    return [np.sort(np.where(np.eye(len(x), dtype=bool), np.inf, each), axis=1)[:, :k] for each in away]


def test_of_each_group_the_nearest_counts_before_a_second_one():
    x = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    group = np.arange(300) % 60
    angle, distance = nearest(x, group, np.linspace(0, 1, 300))
    for found in (angle, distance):
        assert found.index.shape == (300, 15)
        assert all(len(set(group[each])) == 15 for each in found.index)
        assert not (group[found.index] == group[:, None]).any()
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosine = unit @ unit.T
    for row in (0, 7, 299):
        best = np.sort([cosine[row, group == each].max() for each in range(60) if each != group[row]])
        np.testing.assert_allclose(1.0 - angle.distance[row], best[::-1][:15], atol=2e-6)


@pytest.mark.parametrize("n", [7, 120, 700])
def test_neighbours_are_those_of_brute_force(n):
    x = np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32)
    angle, distance = nearest(x, None, np.linspace(0, 1, n))
    k = near.number_of_neighbours(n)
    by_angle, by_distance = brute_force(x, k)
    np.testing.assert_allclose(angle.distance, by_angle, atol=2e-6)
    np.testing.assert_allclose(distance.distance, by_distance / np.median(by_distance), rtol=2e-3, atol=2e-4)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    found = 1.0 - np.einsum("nd,nkd->nk", unit, unit[angle.index])
    np.testing.assert_allclose(found, angle.distance, atol=2e-6)


def test_none_is_its_own_neighbour_and_none_has_one_twice(rows):
    for one in nearest(rows.x, None, rows.draw):
        assert not (one.index == np.arange(len(rows))[:, None]).any()
        assert all(len(set(each)) == one.index.shape[1] for each in one.index.tolist())


def test_votes_are_those_of_a_loop(rows):
    angle, _ = nearest(rows.x, None, rows.draw)
    found = views.votes(angle, rows)
    prior = (np.bincount(rows.y) + 0.5) / (len(rows) + 1.5)
    for row in (0, 17, 119):
        weight = np.exp(-angle.distance[row] / angle.distance[row].mean()) + 1e-3
        weight *= len(weight) / weight.sum()
        expected = 0.5 * prior
        for neighbour, each in zip(angle.index[row], weight, strict=True):
            expected = expected + each * np.eye(3)[rows.y[neighbour]]
        np.testing.assert_allclose(found[row], expected / expected.sum(), rtol=1e-6)


def test_in_lists_nearly_all_neighbours_are_found(monkeypatch):
    monkeypatch.setattr(near, "EXACT", 100)
    random = np.random.default_rng(0)
    centres = random.normal(size=(60, 16))
    x = (centres[random.integers(60, size=3000)] + 0.5 * random.normal(size=(3000, 16))).astype(np.float32)
    angle, distance = nearest(x, None, random.random(3000))
    expected = brute_force(x, 20)
    assert np.mean(angle.distance <= expected[0][:, -1:] + 1e-6) > 0.9
    assert distance.index.shape == (3000, 20)
    assert not (angle.index == np.arange(3000)[:, None]).any()


def test_beyond_a_size_neighbours_are_those_that_are_known(monkeypatch):
    monkeypatch.setattr(near, "EXACT", 100)
    monkeypatch.setattr(near, "KNOWN", 500)
    random = np.random.default_rng(1)
    x, draw = random.normal(size=(2000, 5)).astype(np.float32), random.random(2000)
    angle, _ = nearest(x, None, draw)
    assert set(angle.index.ravel()) <= set(np.argsort(draw)[:500])


# The kernel regression.


def test_landmarks_that_are_all_samples_give_the_gaussian_kernel(rows):
    columns = views._landmarks(rows.x, rows.draw, 1.0)(rows.x).astype(np.float64)
    square = ((rows.x[:, None] - rows.x[None]).astype(np.float64) ** 2).sum(axis=-1)
    size = np.median(square[np.triu_indices(len(rows), 1)])
    np.testing.assert_allclose(columns @ columns.T, np.exp(-square / size), atol=2e-3)


@pytest.mark.parametrize("ridge", [0.1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_regression_without_a_sample_is_the_one_refitted_without_it(rows, ridge, weighted):
    """Of a row that stands for several samples one is left out: the others vouch for it."""
    columns = views._landmarks(rows.x, rows.draw, 1.0)(rows.x)
    weight = 1.0 + (np.arange(len(rows)) % 3 == 0) if weighted else np.ones(len(rows))
    found = views._Ridge(columns, rows.y, 3, weight, None).without_itself(ridge)
    z, target = columns.astype(np.float64), np.eye(3)[rows.y] - 1 / 3
    for row in range(0, len(rows), 7):
        left = weight.astype(np.float64)
        left[row] -= 1.0
        gram = (z * left[:, None]).T @ z + ridge * np.eye(z.shape[1])
        expected = z[row] @ np.linalg.solve(gram, (z * left[:, None]).T @ target)
        np.testing.assert_allclose(found[row], expected, atol=2e-3)


def test_in_groups_the_regression_is_refitted_without_all_of_the_group(rows):
    columns, group = views._landmarks(rows.x, rows.draw, 1.0)(rows.x), np.arange(len(rows)) % views.FOLDS
    found = views._Ridge(columns, rows.y, 3, np.ones(len(rows)), group).without_itself(1.0)
    z, target = columns.astype(np.float64), np.eye(3)[rows.y] - 1 / 3
    for each in range(views.FOLDS):
        own = group == each
        slopes = np.linalg.solve(z[~own].T @ z[~own] + np.eye(z.shape[1]), z[~own].T @ target[~own])
        np.testing.assert_allclose(found[own], z[own] @ slopes, atol=2e-3)


def test_the_kernel_is_silent_far_from_all_samples(rows):
    far = as_rows(np.concatenate([rows.x, np.full((1, 5), 60.0)]), np.append(rows.y, 0))
    _, silent = views.kernel_ridge(far)
    assert silent[-1] > silent[:-1].max()


# Class centres.


def test_class_centres_are_trimmed_and_without_the_sample_itself(rows):
    unit = rows.x.astype(np.float64) / np.linalg.norm(rows.x, axis=1, keepdims=True)
    used = np.ones(len(rows), dtype=bool)

    def to_own():
        total = np.stack([unit[used & (rows.y == label)].sum(axis=0) for label in range(3)])
        way = total[rows.y] - unit * used[:, None]
        return (unit * way).sum(axis=1) / np.linalg.norm(way, axis=1), total

    for _ in range(views.ROUNDS):
        cosine, _ = to_own()
        for label in range(3):
            own = np.flatnonzero(rows.y == label)
            first = own[np.argsort(-cosine[own])][: int(np.ceil(views.TRIM * len(own)))]
            used[own] = np.isin(own, first)
    own, total = to_own()
    p, off, off_own, _ = views.class_centres(rows)
    np.testing.assert_allclose(-off_own, own, atol=1e-5)
    every = unit @ (total / np.linalg.norm(total, axis=1, keepdims=True)).T
    every[np.arange(len(rows)), rows.y] = own
    np.testing.assert_allclose(-off, every.max(axis=1), atol=1e-5)
    np.testing.assert_array_equal(p.argmax(axis=1), every.argmax(axis=1))


def test_what_lies_far_from_every_class_is_farthest():
    made = clusters(120, k=3, d=5, wrong=0.0)
    x = np.concatenate([made.x, np.full((1, 5), 25.0), made.x[:1]])
    away, own, _ = views.class_distances(as_rows(x, np.append(made.y, [0, (made.y[0] + 1) % 3])))
    assert away.argmax() == 120
    assert own[-1] > own[0] + 1, "the same sample under another label"


def test_in_groups_a_class_is_where_its_other_groups_lie():
    made = clusters(120, k=3, d=5, wrong=0.0)
    single = made.y == 2  # its one group is all that is known of the class
    group = np.where(single, 1000, np.arange(120))
    plain, heeded = as_rows(made.x, made.y), as_rows(made.x, made.y, group=group)
    (p, _, off, _), (q, _, without, _) = views.class_centres(plain), views.class_centres(heeded)
    assert p[single, 2].mean() > 0.8 > 0.4 > q[single, 2].mean()
    assert (without[single] > off[single] + 0.5).all()
    np.testing.assert_array_equal(q[~single].argmax(axis=1), made.y[~single])
    (_, own, _), (_, apart, _) = views.class_distances(plain), views.class_distances(heeded)
    assert (apart[single] > own[single] + 1).all()
    np.testing.assert_allclose(apart[~single], own[~single], atol=0.4)


# Trees.


def test_trees_ask_only_those_that_did_not_see_the_sample(rows):
    """Another label of one sample changes its own votes by what it does to the labels' shares, no more."""
    fitted = np.arange(len(rows))

    def without_prior(y):
        votes = forest_votes(rows.x, y, 3, rows.draw, rows.weight, fitted)
        prior = (np.bincount(y, minlength=3) + 0.5) / (len(y) + 1.5)
        return votes * (forest.LEAF + 0.5) - 0.5 * prior

    before = without_prior(rows.y)
    for row in (3, 50, 119):
        y = rows.y.copy()
        y[row] = (y[row] + 1) % 3
        after = without_prior(y)
        np.testing.assert_allclose(after[row], before[row], atol=1e-9)
        assert np.abs(after - before).max() > 1e-3, "others are told by it"


def test_trees_predict_what_can_be_told_and_nothing_else(planted, rows):
    votes = forest_votes(rows.x, planted.true, 3, rows.draw, rows.weight, np.arange(120))
    assert (votes.argmax(axis=1) == planted.true).mean() > 0.75
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    chance = np.random.default_rng(0).permutation(120) % 2
    blind = forest_votes(rows.x, chance, 2, rows.draw, rows.weight, np.arange(120))
    assert abs(blind[np.arange(120), chance].mean() - 0.5) < 0.08


def test_more_classes_than_colours_are_told_apart():
    many = clusters(900, k=30, d=30, wrong=0.0)
    rows = as_rows(many.x, many.y)
    votes = forest_votes(rows.x, rows.y, 30, rows.draw, rows.weight, np.arange(900))
    assert votes.shape == (900, 30)
    assert (votes.argmax(axis=1) == rows.y).mean() > 0.5


def test_hashes_are_as_good_as_drawn():
    drawn = uniform(hashed(np.arange(20_000), 3))
    counts = np.histogram(drawn, 20, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 50  # chi square, 19 degrees of freedom
    assert abs(np.corrcoef(drawn, uniform(hashed(np.arange(20_000), 4)))[0, 1]) < 0.03


# All of them.


@pytest.mark.parametrize("name", ["angle", "distance", "kernel", "trees"])
def test_samples_of_a_group_never_vouch_for_one_another(name):
    x, y, group = groups_that_vouch()
    every = np.arange(len(y))
    heeded = views.look(as_rows(x, y, group=group)).opinions[name][every, y].mean()
    alone = views.look(as_rows(x, y)).opinions[name][every, y].mean()
    assert alone > 0.7, "samples of its group give its label away"
    assert heeded < 0.6


def test_opinions_are_probabilities_and_columns_are_finite(rows):
    seen = views.look(rows)
    assert set(seen.opinions) == {"angle", "distance", "kernel", "centre", "trees"}
    for name, p in seen.opinions.items():
        assert (p >= 0).all(), name
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6, err_msg=name)
    for name, column in seen.columns.items():
        assert np.isfinite(column).all(), name


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
