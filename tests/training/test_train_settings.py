"""Settings, presets, callbacks and seeds do what they say."""

import contextlib

import pytest
import torch
from training_helpers import assert_same_weights, blobs, cnn, mlp, pictures

from graylearn.errors import DataError, SettingsError
from graylearn.methods import make_method
from graylearn.training import Augment, devices, evaluate, train


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"optimizer": "sgd"}, "give learning_rate"),
        ({"device": "abacus"}, "device 'abacus'"),
        ({"resume": True}, "resume needs checkpoint"),
        ({"checkpoint": __file__}, r"test_train_settings.py', a file; name a folder"),
        ({"sample_weight": [-1.0] * 120}, "sample weights must be"),
        ({"augment": True}, "needs images"),
        ({"learning_rate": "0.1"}, "learning_rate is '0.1', expected a positive number"),
        ({"schedule": 0.1}, "schedule is of type float, expected ScheduleSettings"),
        ({"optimizer": torch.optim.Adam(mlp().parameters())}, "the Adam is made for other parameters than"),
    ],
)
def test_bad_settings_are_refused_by_name(options, message):
    with pytest.raises((SettingsError, DataError), match=message):
        train(mlp(), blobs(), **{"epochs": 1, "log": "none", **options})


def test_a_network_that_cannot_read_the_samples_is_refused_with_what_to_do():
    with pytest.raises(SettingsError, match=r"torch.float32 samples of shape \(6,\) .*: call model.float"):
        train(mlp().double(), (blobs()[0].double(), blobs()[1]), epochs=1, log="none")
    with pytest.raises(SettingsError, match=r"samples of shape \(6,\) .*: give one made for them"):
        train(mlp(features=5), blobs(), epochs=1, log="none")


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
    assert_same_weights(first.model, second.model, tolerance=0)
    assert not torch.equal(first.model[0].weight, other.model[0].weight)


def test_images_on_cuda_run_in_bfloat16_by_default_and_tables_do_not():
    cuda = torch.device("cuda")  # only named: nothing runs there
    assert devices.autocast_type("auto", cuda, images=True) == torch.bfloat16
    assert not devices.autocast_type("fp32", cuda, images=True)
    assert not devices.autocast_type("auto", torch.device("cpu"), images=True)
    assert not devices.autocast_type("auto", cuda, images=False)
    assert devices.autocast_type("bf16", cuda, images=False) == torch.bfloat16
