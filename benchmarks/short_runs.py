"""What decides short runs of networks with batch norm: the last batch, the first steps, many classes.

    python -m benchmarks short_runs last-batch --data FOLDER      # ten minutes on one core
    python -m benchmarks short_runs first-steps --data FOLDER --device cuda
    python -m benchmarks short_runs many-classes --data FOLDER    # half an hour on one core

last-batch: ten batches of 256 images of CIFAR-10 at 16 x 16 and a few more, which are a batch of their own or
share the last two batches evenly. first-steps: ResNet18 on half of CIFAR-10, `paper` and `paper-warm`;
`grown` is the norm of all convolutions after the first epoch over that before it. many-classes: the first K
classes of Tiny-ImageNet at 16 x 16, clean and with a fifth of OOD samples, without an audit.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from torch import nn

from benchmarks.record import RESULTS, Row, append, described, markdown, record, rows, spread
from graylearn import GrayClassifier
from graylearn.nets import make
from graylearn.training import EpochEnd, train
from reproduction.catalog import load

BATCH, WHOLE, LEFT = 256, 10, (4, 16, 64, 128)
POOL, TEST, IMAGES = 25_000, 5_000, 24_576
"""Images to draw from, to test on and to train on, of first-steps."""


def halved(images: np.ndarray) -> np.ndarray:
    """Images of half the size."""
    count, side = images.shape[:2]
    parts = images.reshape(count, side // 2, 2, side // 2, 2, 3).mean((2, 4))
    return np.round(parts).astype(np.uint8)


def measure_last_batch(asked: argparse.Namespace) -> None:
    train_set, test_set = (load("cifar10", asked.data, part) for part in ("train", "test"))
    x, y = halved(train_set.x[: BATCH * (WHOLE + 1)]), train_set.y[: BATCH * (WHOLE + 1)]
    test_x, test_y = halved(test_set.x[:3000]), test_set.y[:3000]
    for seed in asked.seeds:
        for preset in ("paper", "fast"):
            for left in LEFT:
                count = BATCH * WHOLE + left
                for last in ("as left", "shared"):
                    torch.manual_seed(seed)
                    model = make("small_cnn", 10, (3, 16, 16), width=16)
                    # the engine splits evenly only if it sees batch norm
                    seen = ["batch norm"] if last == "shared" else []
                    with mock.patch("graylearn.training.train.batch_norms", return_value=seen):
                        result = train(
                            model, (x[:count], y[:count]), method="standard", preset=preset, epochs=20,
                            batch_size=BATCH, seed=seed, device="cpu", log="none",
                        )  # fmt: skip
                    right = float((result.predict_logits(test_x).argmax(1) == test_y).mean())
                    row = record(
                        "last batch", preset=preset, left=left, last=last, seed=seed, accuracy=right
                    )  # fmt: skip
                    append(row, RESULTS / "last_batch.jsonl")


def norm(model: nn.Module) -> float:
    kernels = [weight.detach() for weight in model.parameters() if weight.ndim == 4]
    return float(torch.stack([kernel.square().sum() for kernel in kernels]).sum().sqrt())


def measure_first_steps(asked: argparse.Namespace) -> None:
    train_set, test_set = (load("cifar10", asked.data, part) for part in ("train", "test"))
    for seed in asked.seeds:
        chosen = np.random.default_rng(seed).permutation(POOL)[:IMAGES]
        for method in ("standard", "gl"):
            for preset in ("paper", "paper-warm"):
                torch.manual_seed(0)
                model = make("resnet18", 10, (3, 32, 32))
                norms = [norm(model)]

                def watch(end: EpochEnd, norms: list[float] = norms) -> None:
                    norms.append(norm(end.model))

                result = train(
                    model, (train_set.x[chosen], train_set.y[chosen]), method=method, preset=preset,
                    epochs=16, batch_size=512, seed=seed, device=asked.device, callbacks=[watch], log="none",
                )  # fmt: skip
                found = np.asarray(result.predict_logits(test_set.x[:TEST])).argmax(1)
                row = record(
                    "first steps", preset=preset, method=method, seed=seed,
                    accuracy=float((found == test_set.y[:TEST]).mean()), grown=norms[1] / norms[0],
                )  # fmt: skip
                append(row, RESULTS / "first_steps.jsonl")


def measure_many_classes(asked: argparse.Namespace) -> None:
    train_set, test_set = load("tiny-imagenet", asked.data)
    for seed in asked.seeds:
        for classes in (10, 100):
            draw = np.random.default_rng(seed)
            known = draw.permutation(np.flatnonzero(train_set.y < classes))[:6000]
            foreign = draw.permutation(np.flatnonzero(train_set.y >= classes))[: len(known) // 4]
            x, y = halved(train_set.x[known]), train_set.y[known]
            dirty = np.concatenate([x, halved(train_set.x[foreign])])
            labels = np.concatenate([y, draw.integers(0, classes, len(foreign))])
            test = test_set.y < classes
            for what, data in (("clean", (x, y)), ("20 % OOD", (dirty, labels))):
                for method in ("standard", "gl", "gl-relative"):
                    model = GrayClassifier(
                        method=method, refine=False, audit=None, epochs=10, random_state=seed, device="cpu"
                    ).fit(*data)
                    accuracy = float(model.score(halved(test_set.x[test]), test_set.y[test]))
                    row = record(
                        "many classes",
                        method=method,
                        classes=classes,
                        data=what,
                        seed=seed,
                        accuracy=accuracy,
                    )
                    append(row, RESULTS / "many_classes.jsonl")


def percent(cell: list[Row]) -> str:
    return spread([row["accuracy"] for row in cell])


def last_batch() -> str:
    found = rows(RESULTS / "last_batch.jsonl")
    body = []
    for preset in ("paper", "fast"):
        for left in LEFT:
            cell = [row for row in found if (row["preset"], row["left"]) == (preset, left)]
            alone, shared = ([row for row in cell if row["last"] == way] for way in ("as left", "shared"))
            gains = [b["accuracy"] - a["accuracy"] for a in alone for b in shared if a["seed"] == b["seed"]]
            line = [f"`{preset}`, {left} of 256 left", str(len(gains)), percent(alone), percent(shared)]
            body.append([*line, spread(gains, sign="+")])
    return markdown(["preset and last batch", "seeds", "as left, %", "shared, %", "difference"], body)


def first_steps() -> str:
    found = rows(RESULTS / "first_steps.jsonl")
    body = []
    for method in ("standard", "gl"):
        line = [f"`{method}`"]
        for preset in ("paper", "paper-warm"):
            runs = [row for row in found if (row["method"], row["preset"]) == (method, preset)]
            runs.sort(key=lambda row: int(row["seed"]))
            grown = [row["grown"] for row in runs]
            line += [", ".join(f"{100 * row['accuracy']:.1f}" for row in runs), percent(runs)]
            line.append(f"x{min(grown):.2f} to x{max(grown):.2f}")
        body.append(line)
    head = ["method", "`paper`, by seed, %", "mean", "weights", "`paper-warm`, by seed, %", "mean", "weights"]
    return markdown(head, body)


def many_classes() -> str:
    found = rows(RESULTS / "many_classes.jsonl")
    methods = ("standard", "gl", "gl-relative")
    body = []
    for classes in (10, 100):
        for what in ("clean", "20 % OOD"):
            cell = [row for row in found if (row["classes"], row["data"]) == (classes, what)]
            line = [f"{classes} classes, {what}", str(len({row["seed"] for row in cell}))]
            body.append(line + [percent([row for row in cell if row["method"] == each]) for each in methods])
    return markdown(["training set", "seeds", *(f"`{method}`" for method in methods)], body)


LAB_TABLES = {
    "measurements.md": {"last batch": last_batch, "first steps": first_steps, "many classes": many_classes}
}


def main() -> None:
    parser = described(__doc__)
    every = {
        "last-batch": measure_last_batch, "first-steps": measure_first_steps,
        "many-classes": measure_many_classes,
    }  # fmt: skip
    parser.add_argument("what", choices=list(every))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--device", default="cpu", help="of first-steps")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    every[asked.what](asked)
