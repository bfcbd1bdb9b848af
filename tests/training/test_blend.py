"""A method may give the network other inputs than those of the batch: alone, and beside others in a stack."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from graylearn.methods import Method, make_method
from graylearn.nets import make
from graylearn.training import train, train_stack


@dataclass
class Halved(Method):
    """Standard training on inputs of half their size."""

    def blend(self, inputs):
        return inputs / 2

    def loss(self, step):
        return F.cross_entropy(step.logits, step.target, reduction="none")


def samples():
    random = np.random.default_rng(0)
    return random.normal(size=(40, 3)).astype(np.float32), np.arange(40) % 2


def network():
    torch.manual_seed(0)
    return make("mlp", 2, (3,), hidden=(8,))


def weights(model):
    return torch.cat([value.flatten() for value in model.state_dict().values()])


def trained(x, y, method, smoothing=0.0):
    options = {"label_smoothing": smoothing, "epochs": 2, "device": "cpu", "log": "none"}
    return weights(train(network(), (x, y), method=method, **options).model)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_network_learns_from_what_its_method_blends(smoothing):
    x, y = samples()
    halved = trained(x / 2, y, "standard", smoothing)
    torch.testing.assert_close(trained(x, y, Halved(), smoothing), halved)
    assert not torch.equal(halved, trained(x, y, "standard", smoothing))


def test_in_a_stack_each_network_has_its_own_inputs():
    x, y = samples()
    methods = [make_method("standard"), Halved()]
    results = train_stack(
        [network(), network()], (x, y), methods=methods, seeds=[0, 0], epochs=2, device="cpu", log="none"
    )
    torch.testing.assert_close(weights(results[0].model), trained(x, y, "standard"))
    torch.testing.assert_close(weights(results[1].model), trained(x / 2, y, "standard"))
