"""Audits of what a network said while it trained."""

import re

import numpy as np
import pytest
import torch
from audit_digits import digits
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from graylearn.audit import Audit, audit
from graylearn.audit.history import train_for_history
from graylearn.audit.inputs import as_features
from graylearn.errors import DataError
from graylearn.training import History, train


def test_history_of_a_run_is_enough():
    data = digits(0.2, seed=2)
    features = as_features(data.x, len(data))
    history = train_for_history(features, data.y, 8)
    alone = Audit.from_history(history, np.array(data.classes)[data.y])
    assert roc_auc_score(data.is_ood, alone.score) > 0.93
    richer = Audit.from_history(history, np.array(data.classes)[data.y], data.x)
    assert roc_auc_score(data.is_ood, richer.score) > 0.98
    assert richer.mode == "history"
    same = audit(history, np.array(data.classes)[data.y])
    np.testing.assert_array_equal(same.score, alone.score)
    with pytest.raises(DataError, match="does not match"):
        Audit.from_history(history, np.roll(np.array(data.classes)[data.y], 1))
    for few in ({"classes": ("a", "b")}, {"y": np.array(["a", "b"])[data.y % 2]}):
        with pytest.raises(DataError, match="2 classes and 8 logits a sample: give classes="):
            Audit.from_history(history, **few)


@pytest.mark.parametrize(
    ("epochs", "why"),
    [
        (1, "was asked in one epoch alone"),
        (6, r"called \d+% of the samples otherwise from one epoch to the next"),
    ],
)
def test_a_network_that_has_learned_nothing_yet_contradicts_nothing(epochs, why):
    random = np.random.default_rng(0)
    label = torch.from_numpy(random.integers(0, 10, 300))
    history = History(label, 10, epochs)
    for epoch in range(epochs):
        logits = torch.from_numpy(random.normal(size=(300, 10)))
        history.start_epoch(epoch)
        history.record(epoch, torch.arange(300), label, logits)
        history.end_epoch(epoch)
    found = Audit.from_history(history, overlap="none")
    assert not found.suspected.any()
    assert re.search(f"nothing flagged: the network {why}, too little to contradict", found.summary())


def hardly_trained(rate: float, flip: float = 0.0) -> History:
    """The history of a few epochs on digits, of which a part may bear other labels."""
    x, y = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    given = np.where(random.random(len(y)) < flip, (y + random.integers(1, 10, len(y))) % 10, y)
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    options = {"learning_rate": rate, "batch_size": 64, "epochs": 8, "device": "cpu", "log": "none"}
    return train(network, ((x / 16).astype(np.float32), given), **options).history


@pytest.mark.parametrize("overlap", ["auto", "none"])
def test_a_network_that_hardly_learned_contradicts_nothing(overlap):
    """Clean digits at a hundredth of the rate: what it says hardly changes, and is mostly wrong."""
    found = Audit.from_history(hardly_trained(3e-5), overlap=overlap)
    assert not found.suspected.any()
    assert (
        "the network contradicts most of the labels that it was taught: train it for longer"
        in found.summary()
    )


def test_by_its_history_alone_nothing_is_sure_where_a_network_has_not_learned_a_class_yet():
    found = Audit.from_history(hardly_trained(2e-4, flip=0.1))
    assert found.suspected.any()
    assert not (found.table["level"] == "sure").any()
    assert re.search(r"nothing is sure: the network contradicts most labels of \d", found.summary())
    longer = Audit.from_history(hardly_trained(1e-2, flip=0.1))
    assert (longer.table["level"] == "sure").sum() > 50


def test_a_run_that_ended_in_its_first_epoch_is_no_history():
    with pytest.raises(DataError, match="no complete epoch: train for one at least"):
        Audit.from_history(History(torch.arange(60) % 3, 3, 5))
