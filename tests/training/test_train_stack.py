"""Many models at once train as each would alone."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from training_helpers import IN_BITS, Opaque, assert_same_weights, blobs, cnn, mlp

from graylearn.errors import SettingsError
from graylearn.methods import Method, make_method
from graylearn.training import PRESETS, OptimizerSettings, train, train_stack
from graylearn.training.mlp import MLPLearner, mlp_layers


def test_a_stack_trains_each_model_as_alone():
    x, y = blobs()
    methods = ["standard", "gl", "gl", "spl", "lcvd", "nlnl", "srcc", make_method("il", first=1)]
    nets = [mlp(seed=place) for place in range(len(methods))]
    alone = [
        train(copy.deepcopy(net), (x, y), method=copy.deepcopy(method), epochs=2, seed=place, log="none")
        for place, (net, method) in enumerate(zip(nets, methods, strict=True))
    ]
    stacked = train_stack(nets, (x, y), methods=methods, seeds=range(len(nets)), epochs=2, log="none")
    for net, one, other in zip(nets, alone, stacked, strict=True):
        assert other.model is net
        assert other.settings == one.settings
        assert_same_weights(other.model, one.model)
        assert other.log[-1]["loss"] == pytest.approx(one.log[-1]["loss"], rel=1e-4)
        np.testing.assert_allclose(other.history.label_confidence, one.history.label_confidence, atol=1e-3)


@pytest.mark.parametrize("name", ["gl", "gl-label", "sl", "lcvd", "srcc", "il"])
def test_neighbours_do_not_change_a_single_bit(name):
    # the second model's logits lie so far apart that losses underflow, and its batches are the same size
    x, y = blobs()
    x = torch.stack([x, 3e5 * x, x + 1])
    method = make_method(name, **({"first": 1} if name == "il" else {}))
    nets = [mlp(seed=seed) for seed in range(3)]
    alone = [
        train_stack([copy.deepcopy(net)], (x[g], y), methods=method, seeds=[g], epochs=3, log="none")[0]
        for g, net in enumerate(nets)
    ]
    stacked = train_stack(nets, (x, y), methods=method, seeds=range(3), epochs=3, log="none")
    for one, other in zip(alone, stacked, strict=True):
        assert_same_weights(other.model, one.model, tolerance=IN_BITS)
        assert other.log[-1]["accuracy"] == one.log[-1]["accuracy"]


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
        (lambda: [mlp(), mlp()], {"seeds": [1, 2, 3]}, "2 models, 3 seeds"),
        (lambda: [mlp(), mlp()], {"methods": "co-teaching"}, "train it alone"),
        (lambda: [mlp()], {"settings": PRESETS["paper"]}, "leave augment"),
    ],
)
def test_what_a_stack_cannot_do_is_refused(models, options, message):
    with pytest.raises(SettingsError, match=message):
        train_stack(models(), blobs(), epochs=1, log="none", **options)


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("again", ["each", "unequal"])
def test_the_passes_of_the_cpu_and_of_other_devices_give_the_gradients_of_autograd(models, features, again):
    nets = [mlp(seed=seed) for seed in range(models)]
    x, y = blobs(samples=12)
    inputs = x if models == 1 else x.expand(models, -1, -1).contiguous()
    target = y.repeat(models)
    further = {  # (model, inputs) of each further pass
        "each": [(model, x * 2) for model in range(models)],
        "unequal": [(model, x[: 4 + model]) for model in range(models)],
    }[again]

    def own_loss(logits, seen):
        return logits.square().mean(1) + (seen.square().mean(1) if features else 0)

    loss = sum(F.cross_entropy(net(x), y) for net in nets)
    for model, own in [(model, x) for model in range(models)] * features + further:
        loss = loss + own_loss(nets[model](own), nets[model][:-1](own)).sum() / 12
    loss.backward()
    expected = [[value.grad.clone() for value in net.parameters()] for net in nets]
    for by_numpy in (True, False):
        settings = OptimizerSettings("sgd", 0.1)
        learner = MLPLearner(nets, mlp_layers(nets[0]), settings, torch.device("cpu"), features=features)
        learner.by_numpy = by_numpy  # what is False on a GPU
        output = learner.forward(inputs)
        losses = [F.cross_entropy(output.logits, target, reduction="none")]
        if features:
            losses.append(own_loss(*output))
        losses += [own_loss(*learner.forward_again(own, model)) for model, own in further]
        before = [[value.detach().clone() for value in net.parameters()] for net in nets]
        together = torch.cat(losses)
        learner.gather(together, torch.full(together.shape, 1 / 12))
        learner.step()
        learner.sync()
        for net, olds, slopes in zip(nets, before, expected, strict=True):
            for value, old, slope in zip(net.parameters(), olds, slopes, strict=True):
                torch.testing.assert_close(value.detach(), old - 0.1 * slope, atol=1e-6, rtol=1e-5)
                value.data.copy_(old)


def test_a_further_pass_gives_the_slope_of_its_inputs_to_a_method_that_asks():
    class Adversary(Method):
        per_sample = False

        def loss(self, step):
            inputs = step.inputs.clone().requires_grad_()
            cost = F.cross_entropy(step.forward(inputs).logits, step.target)
            (slope,) = torch.autograd.grad(cost, inputs)
            worse = (step.inputs + 0.1 * slope.sign()).requires_grad_()
            return F.cross_entropy(step.forward(worse).logits, step.target, reduction="none")

    nets, opaque = [mlp(seed=1), mlp(seed=2)], [Opaque(mlp(seed=1)), Opaque(mlp(seed=2))]
    results = train_stack(nets, blobs(), methods=Adversary(), seeds=5, epochs=2, log="none")
    for result, module in zip(results, opaque, strict=True):
        train(module, blobs(), method=Adversary(), seed=5, epochs=2, log="none")
        assert_same_weights(result.model, module.model)
