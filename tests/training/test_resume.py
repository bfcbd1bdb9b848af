"""Stopped runs go on as unbroken ones; runs that are over, and runs of other settings or data, do not."""

import copy
import json

import numpy as np
import pytest
import torch
from torch import nn
from training_helpers import StopAt, assert_same_weights, blobs, fit_into, mlp

from graylearn.errors import CheckpointError
from graylearn.training import OptimizerSettings, ScheduleSettings, train


def in_parts(folder, method, stopping_method, network=lambda: mlp(dropout=0.2), data=None, **options):
    """An unbroken run, and one that `stopping_method` interrupts and `method` goes on with."""
    data = blobs() if data is None else data
    options = {"epochs": 3, "batch_size": 16, "learning_rate": 0.01, "log": "none", **options}
    whole = train(network(), data, method=copy.deepcopy(method), **options)
    broken = train(network(), data, method=stopping_method, checkpoint=folder, **options)
    assert broken.interrupted
    again = train(network(), data, method=method, checkpoint=folder, resume=True, **options)
    return whole, again


@pytest.mark.parametrize("stop", [8, 20])  # 3 epochs of 8 steps, the first 8.4 a warm-up
@pytest.mark.parametrize("name", ["constant", "step", "one-cycle", "cosine"])
def test_stopped_at_any_place_of_a_schedule_the_rates_go_on_as_unbroken(name, stop, tmp_path):
    schedule = ScheduleSettings(name, warmup=0.35, initial=0.01)
    whole, again = in_parts(tmp_path, StopAt(), StopAt(stop), schedule=schedule)
    assert [row["learning_rate"] for row in again.log] == [row["learning_rate"] for row in whole.log]
    assert [row["accuracy"] for row in again.log] == [row["accuracy"] for row in whole.log]
    assert_same_weights(again.model, whole.model, tolerance=0)


@pytest.mark.parametrize("optimizer", [OptimizerSettings("sgd", momentum=0.9), OptimizerSettings("adam")])
def test_a_network_of_images_with_channels_last_goes_on_as_unbroken(optimizer, tmp_path):
    _, y = blobs()
    images = torch.randn(len(y), 3, 4, 4, generator=torch.Generator().manual_seed(0)), y

    def network():
        torch.manual_seed(0)
        layers = [nn.Conv2d(3, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(36, 5)]
        return nn.Sequential(*layers).to(memory_format=torch.channels_last)

    whole, again = in_parts(tmp_path, StopAt(), StopAt(3), network, images, optimizer=optimizer)
    assert_same_weights(again.model, whole.model, tolerance=0)


class Counting(StopAt):
    """Counts the epochs that began, in place, and scales the loss by the count."""

    state = ("begun",)

    def start(self, task):
        super().start(task)
        self.begun = torch.zeros(())

    def start_epoch(self, epoch):
        self.begun += 1

    def loss(self, step):
        return super().loss(step) * self.begun


class Anew(StopAt):
    """Makes a factor on the loss at the start of each epoch, which no checkpoint keeps."""

    def start_epoch(self, epoch):
        self.factor = 1 + epoch

    def loss(self, step):
        return super().loss(step) * self.factor


@pytest.mark.parametrize("method", [Counting, Anew])
def test_what_a_method_does_at_the_start_of_an_epoch_is_done_once(method, tmp_path):
    whole, again = in_parts(tmp_path, method(), method(12))
    assert_same_weights(again.model, whole.model, tolerance=0)


def test_resuming_a_finished_run_trains_no_more(tmp_path):
    first = fit_into(tmp_path)
    second = fit_into(tmp_path, resume=True)
    assert len(second.log) == 2
    assert_same_weights(first.model, second.model, tolerance=0)
    np.testing.assert_array_equal(first.history.label_confidence, second.history.label_confidence)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [0, 1]


def test_resuming_a_run_that_a_callback_ended_trains_no_more_and_says_so(tmp_path, capsys):
    ended = fit_into(tmp_path, epochs=4, callbacks=[lambda end: end.epoch == 1])
    again = fit_into(tmp_path, epochs=4, resume=True, log="lines")
    assert "ended by itself after epoch 2" in capsys.readouterr().err
    assert again.log == ended.log
    assert len(again.log) == 2
    assert_same_weights(ended.model, again.model, tolerance=0)


def test_resume_in_an_empty_folder_starts_from_the_beginning(tmp_path):
    assert len(fit_into(tmp_path / "new", resume=True).log) == 2


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
