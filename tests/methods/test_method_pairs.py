"""co-teaching and decoupling: two networks, numbers worked out by hand."""

import numpy as np
import torch
from hand_made import logits_with_loss, make_step, make_task

from graylearn.methods import make_method

FIRST = [1.0, 2.0, 3.0, 4.0, 5.0]
SECOND = [5.0, 1.0, 2.0, 4.0, 3.0]
LABELS = torch.zeros(5, dtype=torch.int64)


def both(first, second):
    return torch.stack([logits_with_loss(first), logits_with_loss(second)])


def test_each_network_learns_what_the_other_finds_easy():
    method = make_method("co-teaching", noise_rate=0.4, ramp=2)
    method.start(make_task(LABELS, 2))
    step = make_step(both(FIRST, SECOND), LABELS, epoch=2)
    # the first finds 0, 1, 2 easy, the second 1, 2, 4, and each trains on what the other finds easy
    expected = np.array([0, 2, 3, 0, 5]) * 5 / 3 + np.array([5, 1, 2, 0, 0]) * 5 / 3
    np.testing.assert_allclose(method.loss(step).numpy(), expected, rtol=1e-9)


def test_the_gradient_of_a_network_is_that_of_its_own_mean_loss():
    method = make_method("co-teaching", noise_rate=0.4, ramp=1)
    method.start(make_task(LABELS, 2))
    leaf = both(FIRST, SECOND).requires_grad_()
    method.loss(make_step(leaf, LABELS, epoch=5)).mean().backward()
    expected = torch.zeros(2, 5, 2, dtype=torch.float64)
    for network, losses, chosen in ((0, FIRST, [1, 2, 4]), (1, SECOND, [0, 1, 2])):
        for i in chosen:  # dCE/dz = (q - 1, 1 - q)
            pull = 1 - np.exp(-losses[i])
            expected[network, i] = torch.tensor([-pull, pull]) / 3
    torch.testing.assert_close(leaf.grad, expected)


def test_something_is_always_kept():
    method = make_method("co-teaching", noise_rate=1.0)
    method.start(make_task([0], 2))
    loss = method.loss(make_step(both([1.5], [0.5]), torch.zeros(1, dtype=torch.int64), epoch=20))
    np.testing.assert_allclose(loss.numpy(), [2.0])


def test_decoupling_updates_where_predictions_differ():
    easy, hard = 0.1, 2.0  # predicts label 0, predicts label 1
    first = [easy, easy, hard, hard, easy]
    second = [easy, hard, easy, hard, 0.2]
    method = make_method("decoupling")
    method.start(make_task(LABELS, 2))
    loss = method.loss(make_step(both(first, second), LABELS))
    np.testing.assert_allclose(loss.numpy(), np.array([0, 2.1, 2.1, 0, 0]) * 5 / 2, rtol=1e-9)


def test_decoupling_without_any_difference_is_zero_not_nan():
    leaf = both(FIRST, FIRST).requires_grad_()
    method = make_method("decoupling")
    method.start(make_task(LABELS, 2))
    loss = method.loss(make_step(leaf, LABELS))
    loss.mean().backward()
    assert loss.abs().sum() == 0
    assert leaf.grad.abs().sum() == 0
    warm = make_method("decoupling", warmup=1)
    np.testing.assert_allclose(warm.loss(make_step(leaf, LABELS)).detach().numpy(), 2 * np.array(FIRST))
