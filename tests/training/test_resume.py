"""Stopped runs go on as unbroken ones; runs that are over, and runs of other settings or data, do not."""

import numpy as np
import pytest
import torch
from torch import nn
from training_helpers import StopAt, assert_same_weights, blobs, fit_into, mlp

from graylearn.errors import CheckpointError
from graylearn.training import OptimizerSettings, train


@pytest.mark.parametrize("optimizer", [OptimizerSettings("sgd", momentum=0.9), OptimizerSettings("adam")])
def test_a_network_of_images_with_channels_last_goes_on_as_unbroken(optimizer, tmp_path):
    _, y = blobs()
    images = torch.randn(len(y), 3, 4, 4, generator=torch.Generator().manual_seed(0)), y

    def network():
        torch.manual_seed(0)
        layers = [nn.Conv2d(3, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(36, 5)]
        return nn.Sequential(*layers).to(memory_format=torch.channels_last)

    options = {"epochs": 3, "batch_size": 16, "learning_rate": 0.01, "optimizer": optimizer, "log": "none"}
    whole = train(network(), images, method=StopAt(), **options)
    assert train(network(), images, method=StopAt(12), checkpoint=tmp_path, **options).interrupted
    again = train(network(), images, method=StopAt(), checkpoint=tmp_path, resume=True, **options)
    assert_same_weights(again.model, whole.model, tolerance=0)


def test_resuming_a_finished_run_trains_no_more(tmp_path):
    first = fit_into(tmp_path)
    second = fit_into(tmp_path, resume=True)
    assert len(second.log) == 2
    assert_same_weights(first.model, second.model, tolerance=0)
    np.testing.assert_array_equal(first.history.label_confidence, second.history.label_confidence)
    assert second.log == first.log


def test_resuming_a_run_that_a_callback_ended_trains_no_more_and_says_so(tmp_path, capsys):
    ended = fit_into(tmp_path, epochs=4, callbacks=[lambda end: end.epoch == 1])
    again = fit_into(tmp_path, epochs=4, resume=True, log="lines")
    assert "ended by itself after epoch 2" in capsys.readouterr().err
    assert again.log == ended.log
    assert len(again.log) == 2
    assert_same_weights(ended.model, again.model, tolerance=0)


def test_a_run_is_not_written_over(tmp_path):
    fit_into(tmp_path)
    with pytest.raises(CheckpointError, match="holds a checkpoint already: pass resume=True"):
        fit_into(tmp_path)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"batch_size": 8}, "batch_size is 16, not 8"),
        ({"method": "standard"}, "method is"),
        ({"learning_rate": 0.5}, "optimizer is"),
        ({"sample_weight": np.ones(120)}, "sample_weight is"),
    ],
)
def test_other_settings_are_refused_by_name(changes, named, tmp_path):
    fit_into(tmp_path)
    with pytest.raises(CheckpointError, match=named):
        fit_into(tmp_path, resume=True, **changes)


def test_other_data_and_another_network_are_refused(tmp_path):
    fit_into(tmp_path)
    x, y = blobs()
    options = {
        "method": "gl",
        "epochs": 2,
        "batch_size": 16,
        "checkpoint": tmp_path,
        "resume": True,
        "log": "none",
    }
    with pytest.raises(CheckpointError, match="its data is other"):
        train(mlp(), (x + 1, y), **options)
    with pytest.raises(CheckpointError, match="its data is other"):
        train(mlp(), (x, y.roll(1)), **options)
    with pytest.raises(CheckpointError, match="its weights is other"):
        train(mlp(classes=4), (x, y), **options)
    with pytest.raises(CheckpointError, match="its weights is other"):  # also where another learner takes it
        train(nn.Sequential(mlp(), nn.GELU(), nn.Linear(3, 3)), (x, y), **options)
    with pytest.raises(CheckpointError, match="its method is Gray"):
        train(mlp(), (x, y), **{**options, "method": "co-teaching"})
