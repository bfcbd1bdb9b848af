"""A network from dirty labels: people's labels of CIFAR, and CIFAR-100 with wrong labels and foreign images.

    python -m benchmarks robust --data ~/data --set c100n --method believe

ResNet18, the network of the last epoch, tested on true labels after each. The rows of 2026-11-19 are from a
loop of its own with the same rules (see the commit that they name).
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import graylearn as gl
from benchmarks.record import RESULTS, append, described, record
from graylearn.data import Contaminated, Samples, contaminate
from graylearn.data.splits import stratified_choice
from graylearn.nets import ResNet18
from graylearn.training import OptimizerSettings, ScheduleSettings
from reproduction.catalog import load

PEOPLE = {
    "c10n-aggregate": ("cifar10", "cifar-10n", "aggregate"),
    "c10n-worst": ("cifar10", "cifar-10n", "worst"),
    "c100n": ("cifar100", "cifar-100n", "noisy"),
}
"""Sets whose labels people gave: which images, the folder of labels.npz, the array in it."""
MIXED = {
    f"c100-mini-{wrong}-{foreign}": (wrong, foreign) for wrong, foreign in ((2, 2), (2, 4), (2, 6), (4, 4))
}
"""CIFAR-100 whose 50,000 training images hold tenths of wrong labels and of images of Mini-ImageNet."""
OPTIMIZER = OptimizerSettings("sgd", 0.1, weight_decay=5e-4, momentum=0.9, nesterov=True)


def dirty(name: str, data: Path, seed: int) -> tuple[Contaminated, Samples]:
    """The training set with the truth about it, and the clean test set."""
    if name in PEOPLE:
        images, folder, array = PEOPLE[name]
        train, test = (load(images, data, split=part) for part in ("train", "test"))
        with np.load(data / folder / "labels.npz") as labels:
            said = labels[array].astype(np.int64)
        mixed = contaminate(train, ood_x=train.take(np.empty(0, dtype=np.int64)), alpha=0.0, seed=seed)
        return replace(mixed, y=said, is_flipped=said != mixed.true_y), test
    wrong, foreign = (tenths / 10 for tenths in MIXED[name])
    train, test = (load("cifar100", data, split=part) for part in ("train", "test"))
    inside = train.take(np.sort(stratified_choice(train.y, round((1 - foreign) * len(train.y)), seed)))
    ood = load("mini-imagenet", data, split="train")
    return contaminate(inside, ood_x=ood, alpha=foreign, flip=wrong / (1 - foreign), seed=seed), test


def main() -> None:
    """Train once and add a row."""
    made = described(__doc__)
    made.add_argument("--data", type=Path, required=True)
    made.add_argument("--set", choices=[*PEOPLE, *MIXED], default="c100n")
    made.add_argument("--method", default="believe")
    made.add_argument("--epochs", type=int, default=150)
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--out", type=Path, default=RESULTS / "robust.jsonl")
    given = made.parse_args()
    train, test = dirty(given.set, given.data, given.seed)
    torch.manual_seed(given.seed)
    began = time.perf_counter()
    result = gl.train(
        ResNet18(test.num_classes, (3, 32, 32)),
        (train.x, train.y),
        method=given.method,
        validation=(test.x, test.y),
        preset="paper",
        optimizer=OPTIMIZER,
        schedule=ScheduleSettings("cosine", warmup=1 / given.epochs),
        epochs=given.epochs,
        batch_size=256,
        seed=given.seed,
        log="lines",
    )
    curve = [round(row["validation_accuracy"], 4) for row in result.log]
    cell = {name: getattr(given, name) for name in ("set", "method", "epochs", "seed")}
    measured = {"accuracy": curve[-1], "curve": curve, "seconds": time.perf_counter() - began}
    append(record("robust", cell=cell, measured=measured), given.out)


if __name__ == "__main__":
    main()
