"""Many models at once train as each would alone."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from training_helpers import (
    HalfRate,
    assert_same_weights,
    blobs,
    cnn,
    mlp,
)

from graylearn.errors import SettingsError
from graylearn.training import OptimizerSettings, train, train_stack
from graylearn.training.mlp import MLPLearner, mlp_layers


def test_a_stack_trains_each_model_as_alone():
    x, y = blobs()
    methods = ["standard", "gl", "gl", "spl", "lcvd", "nlnl"]
    nets = [mlp(seed=place) for place in range(6)]
    alone = [
        train(copy.deepcopy(net), (x, y), method=method, epochs=2, seed=place, log="none")
        for place, (net, method) in enumerate(zip(nets, methods, strict=True))
    ]
    stacked = train_stack(nets, (x, y), methods=methods, seeds=range(6), epochs=2, log="none")
    for net, one, other in zip(nets, alone, stacked, strict=True):
        assert other.model is net
        assert_same_weights(other.model, one.model)
        assert other.log[-1]["loss"] == pytest.approx(one.log[-1]["loss"], rel=1e-4)
        np.testing.assert_allclose(other.history.label_confidence, one.history.label_confidence, atol=1e-3)


def test_a_stack_takes_data_labels_and_weights_of_each_model():
    sets = [blobs(seed=seed) for seed in range(3)]
    x, y = (
        torch.stack([x for x, _ in sets]),
        torch.stack([y.roll(place) for place, (_, y) in enumerate(sets)]),
    )
    weights = torch.ones(3, x.shape[1])
    weights[1, ::2] = 0
    nets = [mlp(seed=seed) for seed in range(3)]
    alone = [
        train(copy.deepcopy(nets[g]), (x[g], y[g]), epochs=2, seed=4, sample_weight=weights[g], log="none")
        for g in range(3)
    ]
    stacked = train_stack(nets, (x, y), seeds=4, epochs=2, sample_weight=weights, log="none")
    for one, other in zip(alone, stacked, strict=True):
        assert_same_weights(other.model, one.model)
        np.testing.assert_array_equal(other.history.targets, one.history.targets)


def test_a_stack_of_learning_rates_that_differ():
    x, y = blobs()
    nets = [mlp(seed=1), mlp(seed=1)]
    methods = [HalfRate(), "standard"]
    alone = [
        train(copy.deepcopy(n), (x, y), method=m, epochs=2, log="none")
        for n, m in zip(nets, methods, strict=True)
    ]
    for one, other in zip(
        alone, train_stack(nets, (x, y), methods=methods, epochs=2, log="none"), strict=True
    ):
        assert_same_weights(other.model, one.model)


def test_a_stack_makes_its_models_from_a_function_by_seed():
    def new():
        return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))

    first = train_stack(new, blobs(), methods="standard", seeds=[3, 9], epochs=1, log="none")
    second = train_stack(new, blobs(), methods="standard", seeds=[9], epochs=1, log="none")
    assert not torch.equal(first[0].model[0].weight, first[1].model[0].weight)
    torch.testing.assert_close(first[1].model[0].weight, second[0].model[0].weight)


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (lambda: [cnn(), cnn()], {}, "networks of one shape"),
        (lambda: [mlp(), mlp(classes=4)], {}, "networks of one shape"),
        (lambda: [mlp(), mlp()], {"seeds": [1, 2, 3]}, "2 models, 3 seeds"),
        (lambda: [mlp(), mlp()], {"methods": "co-teaching"}, "train it alone"),
        (lambda: [], {}, "no model"),
    ],
)
def test_what_a_stack_cannot_do_is_refused(models, options, message):
    with pytest.raises(SettingsError, match=message):
        train_stack(models(), blobs(), epochs=1, log="none", **options)


@pytest.mark.parametrize("models", [1, 3])
def test_the_passes_of_the_cpu_and_of_other_devices_give_the_gradients_of_autograd(models):
    nets = [mlp(seed=seed) for seed in range(models)]
    x, y = blobs(samples=12)
    inputs, target = (x, y) if models == 1 else (x.expand(models, -1, -1).contiguous(), y.repeat(models))
    loss = sum(F.cross_entropy(net(x), y) for net in nets)
    loss.backward()
    expected = [torch.cat([p.grad.t().flatten() for p in net.parameters()]) for net in nets]
    for numpy in (True, False):
        learner = MLPLearner(nets, mlp_layers(nets[0]), OptimizerSettings("sgd", 0.1), torch.device("cpu"))
        if not numpy:
            learner.on_cpu = None  # what runs on a GPU, here
        output = learner.forward(inputs)
        learner.update(
            F.cross_entropy(output.logits, target, reduction="none"), torch.full(target.shape, 1 / 12)
        )
        torch.testing.assert_close(learner.gradient, torch.stack(expected), atol=1e-6, rtol=1e-5)
