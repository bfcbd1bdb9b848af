"""Clipped, gathered and averaged steps, the best epoch, and frozen batch norms: against loops by hand."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from training_helpers import Opaque, StopAt, assert_same_weights, blobs, cnn, mlp, pictures

from graylearn.errors import CheckpointError
from graylearn.runs.find import make_classifier
from graylearn.runs.settings import RunSettings
from graylearn.training import OptimizerSettings, train, train_stack
from graylearn.training.seeding import epoch_order

PLAIN = {"method": "standard", "epochs": 2, "learning_rate": 0.05, "optimizer": "sgd", "log": "none"}
NETS = {"small": lambda: mlp(), "any": lambda: Opaque(mlp())}


def by_hand(model, x, y, batch_size, clip=None, average=None, weights=None):
    """The loop that anybody would write; gives the mean of the weights, where asked."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    mean, steps = [value.detach().double() for value in model.parameters()], 0
    for epoch in range(2):
        for index in epoch_order(len(x), 0, epoch).split(batch_size):
            optimizer.zero_grad()
            losses = F.cross_entropy(model(x[index]), y[index], reduction="none")
            (losses if weights is None else losses * weights[index]).mean().backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if average is not None:
                keep = min(average, (1 + steps) / (10 + steps))
                mean = [
                    keep * old + (1 - keep) * new.detach().double()
                    for old, new in zip(mean, model.parameters(), strict=True)
                ]
            steps += 1
    if average is not None:
        with torch.no_grad():
            for value, kept in zip(model.parameters(), mean, strict=True):
                value.copy_(kept)
    return model


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize(
    "changed", [{"clip_norm": 0.3}, {"average": 0.8}, {"clip_norm": 0.3, "average": 0.8}]
)
def test_clipping_and_averaging_are_those_of_a_loop_by_hand(net, changed):
    result = train(NETS[net](), blobs(), batch_size=16, **PLAIN, **changed)
    clip, average = changed.get("clip_norm"), changed.get("average")
    wanted = by_hand(mlp(), *blobs(), 16, clip=clip, average=average)
    assert_same_weights(result.model, wanted, tolerance=2e-6)
    with pytest.raises(AssertionError):
        assert_same_weights(result.model, by_hand(mlp(), *blobs(), 16), tolerance=1e-3)


@pytest.mark.parametrize("net", NETS)
def test_batches_gathered_step_as_one_batch_of_all_their_samples(net):
    weights = torch.linspace(0.5, 1.5, 120)
    options = {**PLAIN, "accumulate": 4, "clip_norm": 0.3, "sample_weight": weights}
    result = train(NETS[net](), blobs(), batch_size=9, **options)  # 13 and a rest of 3: the last step has 12
    wanted = by_hand(mlp(), *blobs(), 36, clip=0.3, weights=weights)
    assert_same_weights(result.model, wanted, tolerance=2e-6)


def test_a_stack_clips_gathers_and_averages_each_model_as_one_alone():
    changed = {
        "clip_norm": 0.3,
        "accumulate": 2,
        "average": 0.8,
        "epochs": 2,
        "batch_size": 16,
        "log": "none",
    }
    optimizer = OptimizerSettings("adam", 1e-2)
    alone = [train(mlp(seed=seed), blobs(), seed=seed, optimizer=optimizer, **changed) for seed in (1, 2)]
    nets = [mlp(seed=seed) for seed in (1, 2)]
    stack = train_stack(nets, blobs(), seeds=[1, 2], optimizer=optimizer, **changed)
    for one, other in zip(alone, stack, strict=True):
        assert_same_weights(one.model, other.model, tolerance=1e-6)


def test_the_run_ends_without_a_better_epoch_and_keeps_the_best():
    x, y = blobs()
    clean = (x[:60] + 1.5, y[:60])  # others than it learns, so that it gets worse there
    weights = []
    keep = lambda end: weights.append(copy.deepcopy(end.model.state_dict()))  # noqa: E731
    options = {**PLAIN, "epochs": 60, "batch_size": 16}
    result = train(mlp(), (x, y.roll(1)), validation=clean, patience=3, callbacks=keep, **options)
    reached = [(row["validation_accuracy"], -row["validation_loss"]) for row in result.log]
    assert result.best_epoch == reached.index(max(reached))
    assert len(result.log) == result.best_epoch + 4 < 60
    assert result.evaluate(*clean)["loss"] == result.log[result.best_epoch]["validation_loss"]
    for name, value in result.model.state_dict().items():
        assert torch.equal(value, weights[result.best_epoch][name])


@pytest.mark.parametrize("net", NETS)
def test_stopped_in_the_third_epoch_the_run_goes_on_to_the_same_bits(net, tmp_path):
    x, y = blobs()
    options = {
        "epochs": 6, "batch_size": 16, "learning_rate": 0.05, "log": "none",
        "validation": (x[:60] + 1, y[:60]), "clip_norm": 0.3, "accumulate": 3, "average": 0.9, "patience": 2,
    }  # fmt: skip
    make = lambda: mlp(dropout=0.2) if net == "small" else Opaque(mlp(dropout=0.2))  # noqa: E731
    whole = train(make(), (x, y), method=StopAt(), checkpoint=tmp_path / "whole", **options)
    broken = train(make(), (x, y), method=StopAt(20), checkpoint=tmp_path / "broken", **options)
    assert broken.interrupted
    options |= {"checkpoint": tmp_path / "broken", "resume": True}
    again = train(make(), (x, y), method=StopAt(), **options)
    assert again.best_epoch == whole.best_epoch
    assert [row["validation_loss"] for row in again.log] == [row["validation_loss"] for row in whole.log]
    assert_same_weights(again.model, whole.model, tolerance=0)
    once_more = train(make(), (x, y), method=StopAt(), **options)  # it is over, and still knows its best
    assert torch.equal(next(once_more.model.parameters()), next(whole.model.parameters()))
    with pytest.raises(CheckpointError, match=r"its clip_norm is 0\.3, not None"):
        train(make(), (x, y), method=StopAt(), **{**options, "clip_norm": None})


@pytest.mark.parametrize("how", ["requires_grad", "eval"])
@pytest.mark.parametrize("method", ["standard", "co-teaching"])
def test_a_frozen_batch_norm_stays_as_it_is(how, method):
    x, y = pictures()
    net = cnn().train()
    norm = net[1]
    norm.running_mean.fill_(0.5)
    if how == "eval":
        norm.eval()
    else:
        norm.requires_grad_(False)
    first = net[0].weight.clone()
    train(net, (x, y), method=method, epochs=1, batch_size=8, log="none", validation=(x, y))
    assert torch.equal(norm.running_mean, torch.full((8,), 0.5))
    assert not torch.equal(net[0].weight, first)
    thawed = cnn()
    train(thawed, (x, y), method=method, epochs=1, batch_size=8, log="none")
    assert thawed[1].num_batches_tracked == 5


def test_the_options_reach_the_classifier_from_a_run():
    classifier = make_classifier(RunSettings(clip_norm=0.5, accumulate=2, average=0.9))
    assert (classifier.clip_norm, classifier.accumulate, classifier.average) == (0.5, 2, 0.9)
    x, y = (each.numpy() for each in blobs())
    classifier.set_params(audit=None, refine=False, epochs=2)
    assert classifier.fit(x, y).score(x, y) > 0.5
