"""NLNL: which loss on which samples in which epoch."""

import numpy as np
import pytest
import torch
from hand_made import make_step, make_task, softmax

from graylearn.methods import make_method

K = 4
CONFIDENCE = np.array([0.1, 0.25, 0.3, 0.5, 0.9, 0.49])
NUMBERS = np.random.default_rng(0)
LOGITS = NUMBERS.normal(size=(6, K))
TARGET = NUMBERS.integers(0, K, 6)
Q = softmax(LOGITS)
CLAIMED = -np.log(Q[np.arange(6), TARGET])
EXCLUDED = -(np.log(1 - Q).sum(1) - np.log(1 - Q[np.arange(6), TARGET]))


def started(**options):
    method = make_method("nlnl", **options)
    method.start(make_task(TARGET, K, epochs=9, confidence=CONFIDENCE))
    return method


def test_three_phases_over_the_samples_that_each_trusts():
    method = started(sampled=False)
    likelier_than_chance = np.array([0, 1, 1, 1, 1, 1])  # 1/4 itself is not below 1/4
    likely = np.array([0, 0, 0, 1, 1, 0])
    for epoch in range(9):
        loss = method.loss(make_step(LOGITS, TARGET, epoch=epoch)).numpy()
        if epoch < 3:
            expected = EXCLUDED
        elif epoch < 6:
            expected = EXCLUDED * likelier_than_chance * 6 / 5
        else:
            expected = CLAIMED * likely * 6 / 2
        np.testing.assert_allclose(loss, expected, rtol=1e-6, err_msg=str(epoch))
        method.end_epoch(epoch)
    assert set(method.task.history.asked) == {10}


def test_nobody_trusted_gives_zero():
    method = started(threshold=1.0, selnl_from=0.0, selpl_from=0.0)
    method.end_epoch(0)
    leaf = torch.tensor(LOGITS, requires_grad=True)
    loss = method.loss(make_step(leaf, TARGET, epoch=1))
    loss.mean().backward()
    assert loss.abs().sum() == 0
    assert leaf.grad.abs().sum() == 0


@pytest.mark.parametrize("epochs", [1, 2])
def test_short_runs_begin_with_nl(epochs):
    method = make_method("nlnl", sampled=False)
    method.start(make_task(TARGET, K, epochs=epochs, confidence=CONFIDENCE))
    loss = method.loss(make_step(LOGITS, TARGET)).numpy()
    np.testing.assert_allclose(loss, EXCLUDED, rtol=1e-6)
