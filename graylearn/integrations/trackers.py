"""Trackers of experiments: each is a callback of `gl.train` that logs the row of an epoch.

gl.train(network, data, callbacks=to_tensorboard("runs/first"))      # or a SummaryWriter that is there
gl.train(network, data, callbacks=to_mlflow())                       # into the active run, or a new one
gl.train(network, data, callbacks=to_wandb(wandb.init(project="p")))

What is logged are the numbers of the row: loss, accuracy, learning_rate, seconds, validation_loss, ...
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from graylearn.lazy import require
from graylearn.training import Callback, EpochEnd


def to_tensorboard(writer: Any = "runs") -> Callback:
    """Log to a `SummaryWriter`, or to one made for this folder."""
    if isinstance(writer, str | Path):
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(str(writer))

    def log(end: EpochEnd) -> None:
        for name, value in _numbers(end).items():
            writer.add_scalar(name, value, end.epoch)
        writer.flush()

    return log


def to_mlflow(client: Any = None) -> Callback:
    """Log to the active run of MLflow; `client` is `mlflow`, or what has its `log_metrics`."""
    told = require("mlflow", "serve") if client is None else client
    return lambda end: told.log_metrics(_numbers(end), step=end.epoch)


def to_wandb(run: Any = None) -> Callback:
    """Log to a run of Weights & Biases; without one, to that of `wandb.init()`."""
    told = importlib.import_module("wandb").init() if run is None else run
    return lambda end: told.log(_numbers(end), step=end.epoch)


def _numbers(end: EpochEnd) -> dict[str, float]:
    return {name: float(value) for name, value in end.row.items() if name != "epoch"}
