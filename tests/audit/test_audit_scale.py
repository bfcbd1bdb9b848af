"""Large sets: nearly all neighbours without comparing all pairs, and parts that give what the whole gives."""

import numpy as np
import pytest
import torch
from audit_clouds import clouds
from sklearn.neighbors import NearestNeighbors

from graylearn.audit import blocks, heldout, kernel
from graylearn.audit import neighbours as nb
from graylearn.audit.audit import audit
from graylearn.audit.centroids import centre_cosine, centre_distance
from graylearn.audit.pooling import pool


def found_share(index, x, k):
    expected = NearestNeighbors(n_neighbors=k + 1, metric="cosine").fit(x).kneighbors(x)[1][:, 1:]
    return np.mean([len(np.intersect1d(a, b)) for a, b in zip(index, expected, strict=True)]) / k


@pytest.fixture
def lists(monkeypatch):
    monkeypatch.setattr(nb, "EXACT", 100)


def test_lists_hold_nearly_all_neighbours(lists):
    random = np.random.default_rng(0)
    centres = random.normal(size=(60, 16))
    x = (centres[random.integers(60, size=4000)] + 0.5 * random.normal(size=(4000, 16))).astype(np.float32)
    index, distance = nb.neighbours(x, 20)
    assert found_share(index, x, 20) > 0.97
    assert (index != np.arange(4000)[:, None]).all()
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(distance, 1 - np.einsum("nd,nkd->nk", unit, unit[index]), atol=1e-5)
    assert all(len(set(row)) == 20 for row in index)


def test_a_row_that_is_repeated_makes_no_long_list(lists):
    """Half of the rows are one row: its list is cut, and its copies still find copies."""
    random = np.random.default_rng(1)
    x = random.normal(size=(3000, 8)).astype(np.float32)
    x[::2] = x[0]
    _, home = nb._lists(nb.unit_rows(x), nb.KNOWN)
    mean = 3000 / np.ceil(nb.LISTS * np.sqrt(3000))
    assert torch.bincount(home).max() < 1.5 * nb._LONGEST * mean
    _, distance = nb.neighbours(x, 5)
    np.testing.assert_allclose(distance[::2], 0.0, atol=1e-5)


def test_a_list_alone_still_has_k_neighbours(monkeypatch, lists):
    monkeypatch.setattr(nb, "PROBES", 1)
    x = np.random.default_rng(2).normal(size=(300, 30)).astype(np.float32)
    index, _ = nb.neighbours(x, 40)
    assert index.shape == (300, 40)
    assert (index != np.arange(300)[:, None]).all()


def test_blocks_give_what_the_whole_gives(monkeypatch):
    x, label, _ = clouds(0, foreign=0.2)

    def everything():
        said = kernel.kernel_probabilities(x, label, 8)
        pooled = pool(said, label, x).probabilities
        return [centre_cosine(x, label, 8), centre_distance(x, label, 8), said, pooled]

    whole = everything()
    monkeypatch.setattr(blocks, "BLOCK", 5000)
    monkeypatch.setattr(kernel, "KEPT", 0)
    for one, other in zip(whole, everything(), strict=True):
        assert other.dtype == np.float64
        np.testing.assert_allclose(other, one, atol=2e-4)


def test_beyond_a_size_views_are_in_single_precision_and_say_the_same(monkeypatch):
    x, label, _ = clouds(0, foreign=0.2)
    double = audit(x, label, repeats=1)
    monkeypatch.setattr(blocks, "DOUBLE", 0)
    single = audit(x, label, repeats=1)
    assert single.probabilities.dtype == np.float32
    np.testing.assert_allclose(single.probabilities, double.probabilities, atol=1e-3)
    np.testing.assert_allclose(single.score, double.score, atol=5e-3)
    assert (single.suspected == double.suspected).mean() > 0.995


def test_ridge_and_sharpness_are_chosen_on_a_part_drawn_from_everywhere(monkeypatch):
    """Labels in order: the first samples are of one class, and would choose another ridge."""
    x, label, _ = clouds(0, foreign=0.0)
    order = np.argsort(label, kind="stable")
    whole = kernel.kernel_probabilities(x[order], label[order], 8)
    parts = lambda n, values: iter([slice(0, n, 7)])  # noqa: E731
    monkeypatch.setattr(kernel, "sampled_blocks", parts)
    np.testing.assert_allclose(kernel.kernel_probabilities(x[order], label[order], 8), whole, atol=1e-5)


@pytest.mark.parametrize(
    ("n", "epochs"), [(100, 20), (50_000, 20), (60_000, 16), (100_000, 10), (10**6, 2), (10**8, 2)]
)
def test_large_sets_are_passed_over_less_often(n, epochs):
    assert heldout.epochs_by_size(n) == epochs


def test_sets_of_many_classes_are_passed_over_less_often():
    assert heldout.epochs_by_size(30_000, 100) == 20
    assert heldout.epochs_by_size(30_000, 5_000) == 8


@pytest.mark.parametrize(
    ("n", "batch"), [(3_000, 128), (50_000, 128), (100_000, 256), (10**6, 256), (10**7, 2048)]
)
def test_steps_of_large_sets_are_of_more_samples(n, batch):
    epochs = heldout.epochs_by_size(n)
    found, rate, passes = heldout.schedule_by_size(n, n // 2, epochs)
    assert (found, passes) == (batch, epochs)
    assert rate == pytest.approx(1e-3 * (batch / 32) ** 0.5)


def test_large_sets_are_judged_by_a_part_of_each_label():
    label = np.repeat([0, 1, 2], [80_000, 20_000, 300])
    some = blocks.drawn(label, 3)
    count = np.bincount(label[some])
    np.testing.assert_allclose(count, [40_000, 10_000, 300], atol=150)
    assert (np.diff(some) > 0).all()
    assert blocks.drawn(label[:50_000], 3) is None


def test_what_a_part_says_is_what_all_say(monkeypatch):
    x, label, _ = clouds(4, foreign=0.1, n=3000, k=4, d=12)
    views = (
        lambda: kernel.kernel_probabilities(x, label, 4),
        lambda: centre_cosine(x, label, 4),
        lambda: np.sqrt(centre_distance(x, label, 4)),
    )
    whole = [view() for view in views]
    monkeypatch.setattr(blocks, "ENOUGH", 1500)
    monkeypatch.setattr(blocks, "ENOUGH_OF_CLASS", 100)
    for view, expected in zip(views, whole, strict=True):
        found = view()
        assert found.shape == expected.shape
        assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.98


def test_neighbours_are_looked_for_among_those_that_are_known(lists, monkeypatch):
    monkeypatch.setattr(nb, "KNOWN", 800)
    monkeypatch.setattr(nb, "_BLOCK", 2000)  # lists longer than a block
    x = clouds(5, n=3000, d=6)[0]
    index, distance = nb.neighbours(x, 5)
    known = np.unique(index)
    assert len(known) <= 800
    assert not (index == np.arange(3000)[:, None]).any()
    unit = nb.unit_rows(x).numpy()
    cosine = unit @ unit[known].T
    cosine[np.arange(3000)[:, None] == known[None]] = -2
    nearest = 1 - np.sort(cosine, axis=1)[:, ::-1][:, :5]
    assert (np.abs(nearest - distance) < 1e-5).mean() > 0.85


def test_an_audit_of_more_classes_than_a_class_has_samples():
    """600 classes of two to seven samples: finished, and nothing that is N x N or N x K x K."""
    random = np.random.default_rng(3)
    label = random.permutation(np.concatenate([np.arange(600), random.integers(600, size=1800)]))
    centres = random.normal(size=(600, 32))
    x = centres[label] + 0.3 * random.normal(size=(2400, 32))
    found = audit(x.astype(np.float32), label, repeats=1, epochs=2)
    assert found.probabilities.shape == (2400, 600)
    assert np.isfinite(found.score).all()


def test_parts_drawn_from_everywhere_hold_each_row_once(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 60_000)
    taken = [np.arange(20_001)[part] for part in blocks.sampled_blocks(20_001, 10)]
    assert len(taken) == 1
    assert set(np.diff(np.concatenate(taken))) == {4}
    every = [np.arange(20_001)[part] for part in blocks.row_blocks(20_001, 10)]
    assert len(every) == 4
    np.testing.assert_array_equal(np.concatenate(every), np.arange(20_001))
