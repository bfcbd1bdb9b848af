"""Audits of what a network said while it trained."""

import numpy as np
import pytest
import torch
from planted import clusters, digits
from sklearn.metrics import roc_auc_score

from graylearn.audit import Audit, audit
from graylearn.audit.history import epochs_before_memorising
from graylearn.errors import DataError
from graylearn.training import History, train


def trained(x, y, classes):
    """The history of a few epochs of a small network."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 32), torch.nn.ReLU(), torch.nn.Linear(32, classes)
    )
    options = {"learning_rate": 3e-3, "batch_size": 32, "epochs": 4, "device": "cpu", "log": "none"}
    return train(network, (x.astype(np.float32), y), **options).history


@pytest.fixture(scope="module")
def run():
    """Digits of which a tenth belong to no class, and what a network said of them."""
    data = digits(0.1, seed=2)
    return data, trained(np.asarray(data.x).reshape(len(data), -1) / 16, data.y, 8)


def test_history_of_a_run_is_enough(run):
    data, history = run
    names = np.array(data.classes)[data.y]
    alone = Audit.from_history(history, names)
    assert alone.mode == "history"
    assert roc_auc_score(data.is_ood, alone.score) > 0.85
    np.testing.assert_array_equal(audit(history, names).score, alone.score)
    richer = Audit.from_history(history, names, data.x)
    assert roc_auc_score(data.is_ood, richer.score) > 0.9
    with pytest.raises(DataError, match="does not match"):
        Audit.from_history(history, np.roll(names, 1))
    for few in ({"classes": ("a", "b")}, {"y": np.array(["a", "b"])[data.y % 2]}):
        with pytest.raises(DataError, match="2 classes and 8 logits per sample: give classes="):
            Audit.from_history(history, **few)


def test_a_history_in_another_order_has_the_same_verdicts(run):
    data, history = run
    order = np.random.default_rng(0).permutation(len(data))
    turned = history.selected(lambda values: values[..., order], history.targets[order], history.ids[order])
    one, other = Audit.from_history(history), Audit.from_history(turned)
    np.testing.assert_array_equal(other.suspected, one.suspected[order])
    np.testing.assert_allclose(other.posterior, one.posterior[order], atol=1e-6)


@pytest.mark.parametrize("epochs", [1, 6])
def test_a_network_that_has_learned_nothing_yet_contradicts_nothing(epochs):
    random = np.random.default_rng(0)
    label = torch.from_numpy(random.integers(0, 10, 300))
    history = History(label, 10, epochs)
    for epoch in range(epochs):
        history.start_epoch(epoch)
        history.record(epoch, torch.arange(300), label, torch.from_numpy(random.normal(size=(300, 10))))
        history.end_epoch(epoch)
    assert Audit.from_history(history, overlap="none").suspected.mean() <= 0.02


def test_a_run_that_ended_in_its_first_epoch_is_no_history():
    with pytest.raises(DataError, match="no complete epoch: train for one at least"):
        Audit.from_history(History(torch.arange(60) % 3, 3, 5))


def test_an_audit_by_a_short_run_finds_what_is_planted():
    planted = clusters(400)
    found = audit(planted.x, planted.y, mode="history")
    assert found.mode == "history"
    assert found.suspected[planted.wrong].mean() >= 0.8
    assert planted.wrong[found.suspected].mean() >= 0.8


def test_the_callers_random_numbers_are_left_as_they_were():
    planted = clusters(100)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    audit(planted.x, planted.y, mode="history", epochs=1)
    assert torch.equal(torch.rand(3), expected)


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
    window = epochs_before_memorising(label, said)
    assert 2 <= window.start < 15
    assert 33 <= window.stop <= 45
    assert epochs_before_memorising(label, said[:39]) == slice(None)  # too short to tell
    seen = random.random(said.shape) < 0.6  # as a sampler draws that puts back
    part = epochs_before_memorising(label, np.where(seen, said, 0), seen)
    assert 2 <= part.start < 15
    assert 33 <= part.stop <= 45
