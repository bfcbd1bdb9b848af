"""Each tracker gets the row of every epoch, by the calls that it documents."""

import mlflow
import pytest
import torch
from torch import nn

import graylearn as gl
from graylearn.integrations import trackers


class Writer:
    """Keeps what it is told: the calls of a SummaryWriter, and of a run of Weights & Biases."""

    def __init__(self):
        self.told, self.flushed = [], 0

    def add_scalar(self, name, value, step):
        self.told.append((name, value, step))

    def flush(self):
        self.flushed += 1

    def log(self, numbers, step):
        self.told += [(name, value, step) for name, value in numbers.items()]


def train(callback):
    x = torch.arange(24.0).reshape(12, 2) / 24
    y = torch.arange(12) % 3
    options = {"epochs": 2, "batch_size": 4, "device": "cpu", "log": "none", "validation": (x, y)}
    return gl.train(nn.Linear(2, 3), (x, y), callbacks=callback, **options)


def rows(told):
    found = [{}, {}]
    for name, value, step in told:
        found[step][name] = value
    return found


def wanted(result):
    return [{name: value for name, value in row.items() if name != "epoch"} for row in result.log]


@pytest.mark.parametrize("make", [trackers.to_tensorboard, trackers.to_wandb])
def test_each_epoch_is_logged_under_its_number(make):
    writer = Writer()
    result = train(make(writer))
    assert rows(writer.told) == wanted(result)
    assert {"loss", "accuracy", "learning_rate", "validation_accuracy"} <= set(wanted(result)[0])
    assert writer.flushed == (2 if make is trackers.to_tensorboard else 0)


def test_mlflow_has_the_epochs_in_its_run(tmp_path):
    mlflow.set_tracking_uri((tmp_path / "tracked").as_uri())
    try:
        with mlflow.start_run() as run:
            result = train(trackers.to_mlflow())
        kept = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")
        assert [metric.value for metric in kept] == [row["loss"] for row in result.log]
        assert [metric.step for metric in kept] == [0, 1]
    finally:
        mlflow.set_tracking_uri(None)
