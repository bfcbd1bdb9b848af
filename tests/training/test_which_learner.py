"""Networks that only look like a plain perceptron are trained as what they are."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from training_helpers import Opaque, assert_same_weights, blobs, mlp

from graylearn.errors import SettingsError
from graylearn.training import train, train_stack

OPTIONS = {"method": "standard", "epochs": 2, "log": "none"}


class Shared(nn.Module):
    """Runs through its first layer twice."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.out = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.out(F.relu(self.a(F.relu(self.a(x)))))


class Noisy(nn.Module):
    """Adds noise to what it reads, in training only."""

    def __init__(self):
        super().__init__()
        self.model = mlp(dropout=0.2)

    def forward(self, x):
        return self.model(x + torch.randn_like(x) if self.training else x)


class StillDropout(nn.Module):
    """Never lets its dropout drop."""

    def __init__(self):
        super().__init__()
        self.model = mlp(dropout=0.5)

    def train(self, mode=True):
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.Dropout):
                module.eval()
        return self

    def forward(self, x):
        return self.model(x)


@pytest.mark.parametrize("arrives_in_training", [True, False])
@pytest.mark.parametrize("network", [Shared, Noisy, StillDropout])
def test_a_network_is_trained_as_what_it_is(network, arrives_in_training):
    model = network().train(arrives_in_training)
    other = Opaque(copy.deepcopy(model))
    train(model, blobs(), **OPTIONS)
    assert_same_weights(model, train(other, blobs(), **OPTIONS).model.model)


def test_a_stack_is_of_networks_whose_layers_are_used_once():
    with pytest.raises(SettingsError, match="each layer used once"):
        train_stack([Shared(), Shared()], blobs(), epochs=1, log="none")


HOOKS = {
    "module backward": lambda model, seen: model[2].register_full_backward_hook(
        lambda *_: seen.append(1) or None
    ),
    "accumulated": lambda model, seen: model[0].weight.register_post_accumulate_grad_hook(
        lambda _: seen.append(1) or None
    ),
}


@pytest.mark.parametrize("register", HOOKS.values(), ids=HOOKS.keys())
def test_hooks_on_gradients_are_called(register):
    model, seen = mlp(), []
    register(model, seen)
    train(model, blobs(), **OPTIONS)
    assert len(seen) == 16  # every step


@pytest.mark.parametrize("opaque", [False, True], ids=["mlp", "any module"])
def test_training_goes_on_from_weights_that_a_callback_changed(opaque, tmp_path):
    x, y = blobs()
    model = Opaque(mlp()) if opaque else mlp()
    reference = copy.deepcopy(model)
    settings = {**OPTIONS, "optimizer": "sgd", "learning_rate": 0.1, "batch_size": len(x)}

    @torch.no_grad()
    def halve(end):
        for value in end.model.parameters():
            value *= 0.5

    train(model, (x, y), callbacks=[halve], checkpoint=tmp_path, **settings)
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(reference(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for value in reference.parameters():
                value *= 0.5
    assert_same_weights(model, reference)
    resumed = Opaque(mlp()) if opaque else mlp()
    train(resumed, (x, y), callbacks=[halve], checkpoint=tmp_path, resume=True, **settings)
    assert_same_weights(resumed, reference)
