"""Held-out and history probabilities: nobody is asked about what it learnt from."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.preprocessing import scale

from graylearn.audit import heldout, keeping
from graylearn.audit.heldout import held_out_probabilities
from graylearn.audit.history import (
    epochs_before_heart,
    epochs_differ,
    history_probabilities,
    train_for_history,
)
from graylearn.training import History
from graylearn.training.cross_fit import stratified_folds


@pytest.mark.parametrize(("folds", "repeats"), [(2, 3), (5, 1)])
def test_folds_are_stratified_and_even(folds, repeats):
    label = np.repeat([0, 1, 2, 3], [50, 21, 7, 1])
    fold = stratified_folds(label, folds, repeats, seed=0)
    assert fold.shape == (repeats, 79)
    for row in fold:
        sizes = np.bincount(row, minlength=folds)
        assert np.ptp(sizes) <= 1
        for k in range(4):
            assert np.ptp(np.bincount(row[label == k], minlength=folds)) <= 1
    if repeats > 1:
        assert (fold[0] != fold[1]).any()


def test_digits_are_predicted_without_being_seen():
    x, y = load_digits(return_X_y=True)
    x, y = scale(x)[:900].astype(np.float32), y[:900].astype(np.int64)
    p = held_out_probabilities(x, y, 10, repeats=1, epochs=12)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-5)
    assert (p.argmax(axis=1) == y).mean() > 0.9
    again = held_out_probabilities(x, y, 10, repeats=1, epochs=12)
    np.testing.assert_array_equal(p, again)


def test_labels_without_any_pattern_stay_unpredicted():
    """A network that had seen the sample would have learnt its label by heart."""
    random = np.random.default_rng(0)
    x, y = random.normal(size=(120, 40)).astype(np.float32), random.integers(2, size=120)
    p = held_out_probabilities(x, y, 2, epochs=30)
    assert abs(p[np.arange(120), y].mean() - 0.5) < 0.1


def test_history_becomes_the_mean_of_what_it_recorded():
    torch.manual_seed(0)
    target = torch.tensor([0, 2, 1, 1])
    history = History(target, 3, 2)
    logits = torch.randn(2, 4, 3) * 2
    for epoch in range(2):
        history.start_epoch(epoch)
        history.record(epoch, torch.arange(4), target, logits[epoch])
        history.end_epoch(epoch)
    # with three classes, label, largest and the rest tell each probability unless the label is the largest
    expected = logits.softmax(-1).double().numpy()
    for e in range(2):
        for i in range(4):
            t = int(target[i])
            if expected[e, i].argmax() == t:
                others = [k for k in range(3) if k != t]
                expected[e, i, others] = expected[e, i, others].mean()
    np.testing.assert_allclose(history_probabilities(history), expected.mean(axis=0), atol=2e-3)


def test_history_of_samples_never_seen_is_even():
    history = History(torch.tensor([0, 1]), 2, 1)
    history.start_epoch(0)
    history.record(0, torch.tensor([0]), torch.tensor([0]), torch.tensor([[2.0, 0.0]]))
    history.end_epoch(0)
    p = history_probabilities(history)
    np.testing.assert_allclose(p[1], 0.5)
    assert p[0, 0] == pytest.approx(1 / (1 + np.exp(-2)), abs=1e-3)


def test_one_run_remembers_wrong_labels():
    x, y = load_digits(return_X_y=True)
    x, y = scale(x)[:600].astype(np.float32), y[:600].astype(np.int64)
    wrong = np.random.default_rng(0).random(600) < 0.2
    given = np.where(wrong, (y + 3) % 10, y)
    p = history_probabilities(train_for_history(x, given, 10))
    own = p[np.arange(600), given]
    assert own[wrong].mean() < 0.35 < 0.6 < own[~wrong].mean()


def test_epochs_in_which_labels_are_learnt_by_heart_do_not_count():
    random = np.random.default_rng(0)
    true = random.integers(5, size=2000)
    label = np.where(random.random(2000) < 0.3, (true + 1) % 5, true)
    said = np.empty((60, 2000), dtype=np.int64)
    for epoch in range(60):
        right = random.random(2000) < min(0.2 + 0.1 * epoch, 0.85)
        said[epoch] = np.where(right, true, random.integers(5, size=2000))
        by_heart = random.random(2000) < (epoch - 35) / 20
        said[epoch] = np.where(by_heart, label, said[epoch])
    window = epochs_before_heart(label, said)
    assert 2 <= window.start < 15
    assert 33 <= window.stop <= 45
    assert epochs_before_heart(label, said[:39]) == slice(None)  # too short to tell
    seen = random.random(said.shape) < 0.6  # as a sampler draws that puts back
    unseen_is_0 = np.where(seen, said, 0)
    part = epochs_before_heart(label, unseen_is_0, seen)
    assert 2 <= part.start < 15
    assert 33 <= part.stop <= 45


def test_epochs_differ_where_a_sample_is_seen_again_and_called_otherwise():
    said = np.array([[1, 2, 0, 3], [1, 0, 0, 2], [1, 3, 0, 3]])
    seen = np.array([[1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 1]], dtype=bool)
    assert epochs_differ(said, seen) == (0 + 1 + 1) / 3  # the third was never seen
    assert epochs_differ(said, np.ones_like(seen)) == 4 / 8
    assert epochs_differ(said[:1], seen[:1]) == 1  # one epoch


@pytest.mark.parametrize("last", [3, 24])
def test_networks_that_were_stopped_go_on_from_where_they_were(tmp_path, monkeypatch, last):
    """In the first epoch, before any answer, and in a later one: the same bits as of those never stopped."""
    random = np.random.default_rng(0)
    label = np.arange(300) % 3
    features = (2 * np.eye(3, 6)[label] + random.normal(size=(300, 6))).astype(np.float32)
    whole = held_out_probabilities(features, label, 3, epochs=20)
    steps = []

    def count(stage, done, total):
        steps.append(done)
        if len(steps) == last:
            raise KeyboardInterrupt

    monkeypatch.setattr(heldout, "tell", count)
    with keeping.kept_in(tmp_path):
        with monkeypatch.context() as patch:
            patch.setattr(keeping, "EVERY", 0.0)
            with pytest.raises(KeyboardInterrupt):
                held_out_probabilities(features, label, 3, epochs=20)
        again = held_out_probabilities(features, label, 3, epochs=20)
        assert (again == whole).all()
        assert steps[last] == steps[last - 1]  # the step that it was stopped in, and no earlier one
        assert not list(tmp_path.iterdir())
        other = held_out_probabilities(features, label, 3, epochs=21)  # not of this one
    assert (other != whole).any()
