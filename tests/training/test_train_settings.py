"""Settings, presets, callbacks and seeds do what they say."""

import contextlib

import numpy as np
import pytest
import torch
from training_helpers import (
    blobs,
    cnn,
    mlp,
    pictures,
)

from graylearn.errors import DataError, SettingsError
from graylearn.methods import make_method
from graylearn.training import (
    Augment,
    Settings,
    evaluate,
    train,
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"optimizer": "lion"}, "optimizer 'lion' is not known"),
        ({"optimizer": "sgd"}, "give learning_rate"),
        ({"schedule": "zigzag"}, "schedule 'zigzag' is not known"),
        ({"precision": "fp8"}, "precision 'fp8'"),
        ({"device": "abacus"}, "device 'abacus'"),
        ({"preset": "slow"}, "no preset 'slow'"),
        ({"preset": "fast", "settings": Settings()}, "not both"),
        ({"method": "gll"}, "no method 'gll'"),
        ({"resume": True}, "resume needs checkpoint"),
        ({"compile": "sometimes"}, "compile 'sometimes'"),
        ({"learning_rate": -1.0}, "learning_rate is -1"),
        ({"sample_weight": [1.0]}, "1 sample weights for 120 samples"),
        ({"sample_weight": [-1.0] * 120}, "sample weights must be"),
        ({"augment": True}, "needs images"),
    ],
)
def test_bad_settings_are_refused_by_name(options, message):
    with pytest.raises((SettingsError, DataError), match=message):
        train(mlp(), blobs(), **{"epochs": 1, "log": "none", **options})


def test_presets_scale_with_epochs():
    result = train(
        cnn(),
        pictures(),
        preset="paper",
        epochs=4,
        augment=Augment(crop=1),
        method=make_method("standard"),
        log="none",
    )
    assert [row["learning_rate"] for row in result.log] == pytest.approx([0.1, 0.1, 0.01, 0.001])
    assert result.settings.batch_size == 128


def test_callbacks_see_each_epoch_and_may_end_the_run():
    seen = []

    def stop_at_two(end):
        seen.append((end.epoch, end.row["accuracy"], evaluate(end.model, *blobs())["accuracy"]))
        return end.epoch == 1

    result = train(mlp(), blobs(), epochs=5, callbacks=[stop_at_two], log="none")
    assert [epoch for epoch, _, _ in seen] == [0, 1]
    assert len(result.log) == 2
    assert not result.interrupted


def test_the_callers_random_numbers_are_left_as_they_were():
    torch.manual_seed(11)
    np.random.seed(11)  # noqa: NPY002
    expected = torch.rand(3), np.random.rand(3)  # noqa: NPY002
    torch.manual_seed(11)
    np.random.seed(11)  # noqa: NPY002
    x, y = blobs()
    state = torch.get_rng_state()
    model = mlp(dropout=0.5)
    torch.set_rng_state(state)
    train(model, (x, y), epochs=1, log="none")
    assert torch.equal(torch.rand(3), expected[0])
    np.testing.assert_array_equal(np.random.rand(3), expected[1])  # noqa: NPY002


@pytest.mark.parametrize("fails", [False, True])
def test_a_method_that_reads_features_leaves_no_hook_on_the_network(fails):
    model = mlp()
    method = make_method("srcc")
    if fails:
        method.loss = lambda step: 1 / 0
    with pytest.raises(ZeroDivisionError) if fails else contextlib.nullcontext():
        train(model, blobs(), method=method, epochs=1, log="none")
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_same_seed_same_bits_other_seed_other_bits():
    x, y = blobs()
    first, second, other = (
        train(mlp(dropout=0.2), (x, y), method="lcvd", epochs=2, seed=seed, log="none") for seed in (1, 1, 2)
    )
    for mine, theirs in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert not torch.equal(first.model[0].weight, other.model[0].weight)
