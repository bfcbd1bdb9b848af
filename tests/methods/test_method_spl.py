"""Self-paced learning: whom the schedule admits, worked out by hand."""

import numpy as np
import pytest
import torch
from hand_made import logits_with_loss, make_step, make_task

from graylearn.methods import make_method


def run_epoch(method, losses, target, epoch, batch_size):
    """One epoch at these losses; what the method returned, in the order of the samples."""
    returned = torch.empty(len(losses), dtype=torch.float64)
    for index in torch.arange(len(losses)).split(batch_size):
        step = make_step(logits_with_loss(losses)[index], target[index], index=index, epoch=epoch)
        returned[index] = method.loss(step)
    method.end_epoch(epoch)
    return returned.numpy()


def test_half_first_then_lambda_times_1_3():
    losses = np.array([3.0, 1.0, 4.0, 2.0, 8.0, 5.0, 7.0, 6.0])
    target = torch.zeros(8, dtype=torch.int64)
    method = make_method("spl")
    method.start(make_task(target, 2))
    np.testing.assert_allclose(run_epoch(method, losses, target, 0, 8), losses)  # warm up: all
    # half of eight are below 5; two of the kept four count twice, so that the mean is theirs
    np.testing.assert_allclose(run_epoch(method, losses, target, 1, 8), losses * (losses < 5) * 2)
    # 5 x 1.3 = 6.5 admits six, 6.5 x 1.3 = 8.45 all
    np.testing.assert_allclose(run_epoch(method, losses, target, 2, 8), losses * (losses < 6.5) * 8 / 6)
    np.testing.assert_allclose(run_epoch(method, losses, target, 3, 8), losses)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_diverse_variant_follows_its_rule_in_every_class(gamma):
    numbers = np.random.default_rng(3)
    losses = numbers.uniform(0.1, 3, 60)
    losses[:15] += 2  # a class that plain self-paced learning would leave out
    target = torch.as_tensor(np.repeat([0, 1, 3, 4], 15))  # class 2 is absent
    method = make_method("spld", gamma=gamma)
    method.start(make_task(target, 5))
    logits = logits_with_loss(losses)
    method.loss(make_step(logits, torch.zeros(60, dtype=torch.int64)))
    method.end_epoch(0)
    threshold = np.sort(losses)[30]
    expected = np.zeros(60, dtype=bool)
    for label in (0, 1, 3, 4):
        members = np.flatnonzero(target.numpy() == label)
        for i, member in enumerate(members[np.argsort(losses[members])], start=1):
            bonus = gamma * threshold / (np.sqrt(i) + np.sqrt(i - 1))
            expected[member] = losses[member] < threshold + bonus
    np.testing.assert_array_equal(method.selected.numpy(), expected)
    assert expected[:15].any() == (gamma > 0)
