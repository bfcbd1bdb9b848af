"""`train` does what the loop one would write by hand does, for every kind of network."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from training_helpers import OPTIMIZERS, Opaque, assert_same_weights, blobs, hand_loop, mlp

from graylearn.errors import SettingsError
from graylearn.methods import Method
from graylearn.training import OptimizerSettings, ScheduleSettings, train

PLAIN = {"method": "standard", "log": "none"}


@pytest.mark.parametrize("opaque", [False, True], ids=["mlp", "any module"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_equals_the_plain_loop_in_weights_history_and_log(name, opaque):
    settings, kind, options = OPTIMIZERS[name]
    x, y = blobs()
    model = Opaque(mlp()) if opaque else mlp()
    reference = copy.deepcopy(model)
    steps = {"epochs": 3, "batch_size": 16, "seed": 5}
    result = train(model, (x, y), optimizer=settings, **PLAIN, **steps)
    seen = hand_loop(reference, x, y, kind(reference.parameters(), lr=1e-2, **options), **steps)
    assert_same_weights(model, reference)
    assert result.model is model
    history = result.history
    np.testing.assert_allclose(history.label_confidence, seen[0], atol=1e-3)
    np.testing.assert_allclose(history.max_confidence, seen[1], atol=1e-3)
    np.testing.assert_array_equal(history.predicted, seen[2])
    np.testing.assert_allclose(history.mean_label_confidence(), seen[0].mean(0), atol=1e-3)
    assert [row["epoch"] for row in result.log] == [0, 1, 2]
    np.testing.assert_allclose(
        [row["accuracy"] for row in result.log], (seen[2] == y.numpy()).mean(1), atol=1e-6
    )


def test_the_hand_written_way_back_equals_autograd_with_dropout():
    x, y = blobs()
    model = mlp(dropout=0.3)
    reference = Opaque(copy.deepcopy(model))
    options = {**PLAIN, "epochs": 2, "batch_size": 10, "seed": 1}
    train(model, (x, y), **options)
    train(reference, (x, y), **options)
    # the masks come from the same global generator in the same order, so the two runs are one
    assert_same_weights(model, reference.model)


@pytest.mark.parametrize("name", ["lcvd", "srcc", "spl", "gl"])
def test_methods_that_look_again_or_select_train_alike_by_both_learners(name):
    x, y = blobs()
    model = mlp()
    reference = Opaque(copy.deepcopy(model))
    options = {"method": name, "epochs": 2, "batch_size": 16, "log": "none"}
    train(model, (x, y), **options)
    train(reference, (x, y), **options)
    assert_same_weights(model, reference.model, 1e-4)


@pytest.mark.parametrize("opaque", [False, True])
def test_sample_weights_scale_the_losses_and_zero_leaves_a_sample_out(opaque):
    x, y = blobs()
    weights = torch.rand(len(x), generator=torch.Generator().manual_seed(3)) + 0.1
    weights[::4] = 0
    model = Opaque(mlp()) if opaque else mlp()
    reference = copy.deepcopy(model)
    settings, kind, options = OPTIMIZERS["plain sgd"]
    steps = {"epochs": 2, "batch_size": 16}
    train(model, (x, y), optimizer=settings, sample_weight=weights.numpy() * 7, **PLAIN, **steps)
    optimizer = kind(reference.parameters(), lr=1e-2, **options)
    hand_loop(reference, x, y, optimizer, weights=weights / weights.mean(), **steps)
    assert_same_weights(model, reference)


def test_the_loss_in_the_log_is_the_weighted_mean():
    x, y = blobs()
    weights = torch.rand(len(x), generator=torch.Generator().manual_seed(3)) + 0.1
    model = mlp()
    with torch.no_grad():
        losses = F.cross_entropy(model(x), y, reduction="none")
    result = train(model, (x, y), epochs=1, batch_size=len(x), sample_weight=weights, **PLAIN)
    expected = float((losses * weights).sum() / weights.sum())
    assert result.log[0]["loss"] == pytest.approx(expected, rel=1e-5)
    assert expected != pytest.approx(float(losses.mean()), rel=1e-3)


@pytest.mark.parametrize(
    ("schedule", "after_warmup"),
    [
        (ScheduleSettings("one-cycle", warmup=0.25), [1 - step / 12 for step in range(12)]),
        (ScheduleSettings("step", milestones=(0.5,), warmup=0.25), [1.0] * 4 + [0.1] * 8),
        (ScheduleSettings("constant", warmup=0.25), [1.0] * 12),
        (
            ScheduleSettings("cosine", warmup=0.25, final=0.2),
            [0.2 + 0.8 * (1 + np.cos(np.pi * step / 12)) / 2 for step in range(12)],
        ),
    ],
    ids=["one-cycle", "step", "constant", "cosine"],
)
def test_a_schedule_changes_the_rate_at_every_step(schedule, after_warmup):
    x, y = blobs()
    settings, kind, options = OPTIMIZERS["sgd"]
    model = mlp()
    reference = copy.deepcopy(model)
    steps = {"epochs": 4, "batch_size": 30}
    result = train(model, (x, y), optimizer=settings, schedule=schedule, **PLAIN, **steps)
    # 16 steps: a line from .1 up to 1 over the first 4, then what the schedule does over the other 12
    factors = [0.1 + 0.9 * step / 4 for step in range(4)] + after_warmup
    optimizer = kind(reference.parameters(), lr=1e-2, **options)
    hand_loop(reference, x, y, optimizer, rates=[1e-2 * factor for factor in factors], **steps)
    assert_same_weights(model, reference)
    assert result.log[-1]["learning_rate"] == pytest.approx(1e-2 * factors[-1])


class ReadsFeatures(Method):
    """Cross entropy that also keeps the features it was shown."""

    needs_features = True

    def loss(self, step):
        self.seen = step.features.detach()
        self.inputs = step.inputs
        return F.cross_entropy(step.logits, step.target, reduction="none") + 0 * step.features.sum(1)


def test_features_are_what_the_last_linear_layer_reads():
    method = ReadsFeatures()
    model = mlp()
    x, y = blobs(samples=16)
    slow = OptimizerSettings("sgd", 1e-9)
    train(model, (x, y), method=method, epochs=1, batch_size=16, optimizer=slow, log="none")
    with torch.no_grad():
        expected = model[:-1](method.inputs)
    torch.testing.assert_close(method.seen, expected, atol=1e-5, rtol=0)


def test_a_last_batch_of_one_sample_passes_batch_norm():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    loader = DataLoader(TensorDataset(*blobs(samples=33)), batch_size=16)  # whose batches stay as they are
    result = train(model, loader, epochs=2, log="none")
    assert (result.history.count == 2).all()
    assert int(model[1].num_batches_tracked) == 4  # the lone sample adds nothing to the statistics


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda losses: losses.mean(), "losses of shape"),
        (lambda losses: None, "NoneType for 16 samples"),
        (lambda losses: losses.detach(), "no gradient"),
    ],
    ids=["mean", "none", "detached"],
)
@pytest.mark.parametrize("wrap", [lambda model: model, Opaque], ids=["mlp", "any module"])
def test_losses_that_teach_nothing_are_refused(wrap, make, match):
    class Mine(Method):
        def loss(self, step):
            return make(F.cross_entropy(step.logits, step.target, reduction="none"))

    with pytest.raises(SettingsError, match=match):
        train(wrap(mlp()), blobs(), method=Mine(), epochs=1, log="none")
