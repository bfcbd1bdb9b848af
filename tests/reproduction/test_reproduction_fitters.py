"""Fitters: a cell's numbers are its own, and each protocol does what it says."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from graylearn.methods import METHODS, make_method
from graylearn.methods.base import Output, Step
from reproduction.cells import Cell
from reproduction.readings import SoftmaxFirst
from reproduction.released import LOSSES
from reproduction.tables import run_tables


def numbers(measured):
    """What must not depend on the machine's mood."""
    kept = {name: value for name, value in measured.items() if name not in ("seconds", "images_per_second")}
    return kept | {"reliability": str(kept.get("reliability"))}  # whose NaN of empty bins equal nothing


def test_refining_a_table_begins_with_its_gl_fit():
    digits = Cell("table", "digits", "gl", 0, epochs=3, train_size=400, alpha=0.2)
    gl, refined = run_tables([digits, digits.but(method="gl+refine")], None)
    assert refined["refined"]
    assert refined["ece"] != gl["ece"]
    assert 0 < refined["audit_flagged"] < 1
    assert refined["audit_auroc"] > 0.8


def step(logits, target, forward=None):
    return Step(
        torch.zeros(len(target), 3), target, torch.arange(len(target)), Output(logits, None), 0, forward
    )


def test_a_softmax_first_is_a_softmax_before_the_loss_takes_its_own():
    logits, target = torch.randn(6, 4, dtype=torch.float64).float() * 5, torch.tensor([0, 1, 2, 3, 0, 1])
    twice = SoftmaxFirst(make_method("standard")).loss(step(logits, target))
    torch.testing.assert_close(twice, F.cross_entropy(logits.softmax(1), target, reduction="none"))
    for name in METHODS:
        wrapped = SoftmaxFirst(make_method(name))
        assert wrapped.needs_features == wrapped.inner.needs_features
        assert wrapped.networks == wrapped.inner.networks


def test_the_losses_of_the_released_loop_by_hand():
    """Written out in float64; `scores` are probabilities already, as its network gives them."""
    generator = np.random.default_rng(0)
    scores = generator.dirichlet([1, 1, 1], size=4)
    labels = np.array([0, 2, 1, 0])
    Q = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    q, top = Q[np.arange(4), labels], Q.max(1)
    hot = np.eye(3)[labels]
    soft = np.exp(hot) / np.exp(hot).sum(1, keepdims=True)
    excluded = -(np.log(1 - Q + 1e-5) * (1 - hot)).sum(1)
    easy = -np.log(q) <= -np.log(q).mean() - 0.01
    expected = {
        "standard": -np.log(q).mean(),
        "mae": ((1 - q) ** 2 / 2).mean(),
        "bt": -((hot + Q) / 2 * np.log(Q)).sum(1).mean(),
        "spl": -np.log(q)[easy].mean(),
        "il": -(top * np.log(q)).mean(),
        "sl": -(soft * np.log(Q)).sum(1).mean() - (Q * np.log(soft)).sum(1).mean(),
        "nl": excluded.mean(),
        "gl": (0.5 * top * -np.log(q) + 0.5 * (1 - top) * excluded).mean(),
    }
    assert LOSSES.keys() == expected.keys()
    for name, loss in LOSSES.items():
        found = loss(torch.tensor(scores), torch.tensor(labels))
        assert float(found) == pytest.approx(expected[name], rel=1e-9), name
