"""What methods remember survives the engine's checkpoints: a broken run ends where an unbroken one does."""

import numpy as np
import pytest
import torch

from graylearn.methods import make_method
from graylearn.nets.mlp import MLP
from graylearn.training import train

REMEMBERING = {
    "spl": {},
    "spld": {},
    "il": {"first": 2, "every": 2},
    "nl": {"sampled": True},
    "nlnl": {},
    "srcc": {},
    "lcvd": {"blended": 3},
    "co-teaching": {"ramp": 2},
    "decoupling": {},
    "mentornet-pd": {},
    "gl-history": {},
    "choose": {"mixed": True},
    "oe": {},
    "prior-network": {},
    "confident": {"hidden": 4},
}
STEPS_AN_EPOCH = 7


class BrokenError(Exception):
    """The run is cut off here."""


def run(name, *, break_at=None, **settings):
    """Weights after six epochs of 100 random samples; or none, broken off within step `break_at`."""
    numbers = np.random.default_rng(0)
    x = numbers.normal(size=(100, 5)).astype(np.float32)
    y = numbers.integers(0, 3, 100)
    method = make_method(name, **REMEMBERING[name])
    plain_loss, calls = method.loss, 0

    def loss(step):
        nonlocal calls
        calls += 1
        if calls == break_at:
            raise BrokenError
        return plain_loss(step)

    method.loss = loss
    torch.manual_seed(0)
    net = MLP(3, (5,), hidden=(8,))
    train(net, (x, y), method=method, epochs=6, batch_size=16, device="cpu", log="none", **settings)
    return net.state_dict()


@pytest.mark.parametrize("name", REMEMBERING)
def test_broken_within_an_epoch_and_resumed(name, tmp_path):
    whole = run(name)
    keep = {"checkpoint": tmp_path, "checkpoint_steps": 4}
    with pytest.raises(BrokenError):  # in the fourth epoch, after its checkpoint at step 4
        run(name, break_at=3 * STEPS_AN_EPOCH + 6, **keep)
    resumed = run(name, resume=True, **keep)
    for part, weight in whole.items():
        assert torch.equal(weight, resumed[part]), part
