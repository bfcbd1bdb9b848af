"""The transition model against labels drawn from one."""

import numpy as np
import pytest

from graylearn.audit import transitions
from graylearn.audit.transitions import (
    Reading,
    even_rate,
    gain_over_even,
    sharpened,
    sharpness_for,
    transition,
    true_classes,
)


def drawn(matrix, n=4000, seed=0):
    """True classes, probabilities that are all but sure of them, and labels drawn by the matrix."""
    random = np.random.default_rng(seed)
    k = len(matrix)
    true = random.integers(k, size=n)
    label = (matrix[true].cumsum(axis=1) > random.random((n, 1))).argmax(axis=1)
    p = random.dirichlet(np.ones(k), size=n) * 0.1
    p[np.arange(n), true] += 0.9
    return true, p, label


PAIRS = 0.8 * np.eye(4) + 0.2 * np.roll(np.eye(4), 1, axis=1)
EVEN = 0.8 * np.eye(4) + 0.05


def test_the_rate_of_each_pair_is_found():
    _, p, label = drawn(PAIRS)
    np.testing.assert_allclose(transition(p, label, len(PAIRS)), PAIRS, atol=0.03)


def test_even_noise_is_found_by_its_one_rate():
    _, p, label = drawn(EVEN)
    assert even_rate(sharpened(p, 3.0), label, len(EVEN)) == pytest.approx(0.2, abs=0.03)


def test_a_rate_for_each_pair_gains_only_where_pairs_differ():
    for seed in range(5):
        _, p, label = drawn(PAIRS, n=1000, seed=seed)
        assert gain_over_even(p, label, 1.0) > 50
        _, p, label = drawn(EVEN, n=1000, seed=seed)
        assert gain_over_even(p, label, 1.0) < 5


def test_what_is_gained_hangs_little_on_the_order_of_samples(monkeypatch):
    _, p, label = drawn(
        0.7 * np.eye(10) + 0.3 * np.random.default_rng(1).dirichlet(np.ones(10), size=10), n=600
    )
    orders = [np.random.default_rng(seed).permutation(600) for seed in range(8)]

    def spread():
        return np.std([gain_over_even(p[order], label[order], 1.0) for order in orders])

    several = spread()
    monkeypatch.setattr(transitions, "SPLITS", 1)
    assert several < 0.7 * spread()


def test_the_sharpness_gives_the_error_it_is_asked_for():
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=500)
    for error in (0.1, 0.2, 0.4):
        q = sharpened(p, sharpness_for(p, error))
        assert (1 - q.max(axis=1)).mean() == pytest.approx(error, abs=0.005)
        np.testing.assert_allclose(q.sum(axis=1), 1.0)


def test_a_reading_tells_wrong_labels_with_caution_and_boldness_to_each_side():
    true, p, label = drawn(PAIRS)
    said = Reading(p, label, 1.5)
    wrong = label != true
    assert said.posterior[wrong].mean() > 0.9
    assert said.posterior[~wrong].mean() < 0.05
    assert said.posterior.mean() == pytest.approx(wrong.mean(), abs=0.03)
    assert said.cautious[wrong].mean() < said.posterior[wrong].mean() < said.bold[wrong].mean()
    assert (said.true_class.argmax(axis=1) == true).mean() > 0.98


def test_samples_of_no_class_are_one_true_class_more():
    true, p, label = drawn(PAIRS)
    random = np.random.default_rng(1)
    none = random.random(len(true)) < 0.2
    label = np.where(none, random.integers(4, size=len(true)), label)
    p[none] = random.dirichlet(np.full(4, 5.0), size=none.sum())
    foreign = np.where(none, 0.9, 0.02)
    q = true_classes(p, 1.5, foreign)
    np.testing.assert_allclose(q.sum(axis=1), 1.0)
    matrix = transition(q, label, 4)
    np.testing.assert_allclose(matrix, np.vstack([PAIRS, np.full((1, 4), 0.25)]), atol=0.03)
    said = Reading(p, label, 1.5, foreign=foreign)
    wrong = (label != true) & ~none
    assert (said.true_class[wrong].argmax(axis=1) == true[wrong]).mean() > 0.95
    assert (said.true_class[none].argmax(axis=1) == 4).mean() > 0.9
    assert gain_over_even(p, label, 1.5, foreign) > 50
