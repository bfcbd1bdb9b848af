"""A network from people's labels of CIFAR-100, of which 40 % are wrong.

    python -m benchmarks robust --data ~/data --method believe

ResNet18, the network of the last epoch, tested on true labels after each. The rows of 2026-11-19 are from a
loop of its own with the same rules (see the commit that they name).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

import graylearn as gl
from benchmarks import record
from graylearn.nets import ResNet18
from graylearn.training import OptimizerSettings, ScheduleSettings
from reproduction.catalog import load

EPOCHS = 150
OPTIMIZER = OptimizerSettings("sgd", 0.1, weight_decay=5e-4, momentum=0.9, nesterov=True)


def measure(method: str, seed: int, data: Path) -> Iterator[record.Row]:
    """Train once; the accuracy after each epoch."""
    train, test = (load("cifar100", data, split=part) for part in ("train", "test"))
    with np.load(data / "cifar-100n" / "labels.npz") as labels:
        said = labels["noisy"].astype(np.int64)
    torch.manual_seed(seed)
    began = time.perf_counter()
    result = gl.train(
        ResNet18(test.num_classes, (3, 32, 32)),
        (train.x, said),
        method=method,
        validation=(test.x, test.y),
        preset="paper",
        optimizer=OPTIMIZER,
        schedule=ScheduleSettings("cosine", warmup=1 / EPOCHS),
        epochs=EPOCHS,
        batch_size=256,
        seed=seed,
        log="lines",
    )
    curve = [round(row["validation_accuracy"], 4) for row in result.log]
    yield {"epochs": EPOCHS, "accuracy": curve[-1], "curve": curve, "seconds": time.perf_counter() - began}


def main() -> None:
    made = record.parser(__doc__, record.RESULTS / "robust.jsonl", "data", seeds=1)
    made.add_argument("--method", default="believe")
    given = made.parse_args()
    cells = [{"method": given.method, "seed": seed} for seed in given.seeds]
    record.sweep("robust", given.out, cells, partial(measure, data=given.data))
