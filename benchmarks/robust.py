"""The best network from dirty labels: people's labels of CIFAR, and CIFAR-100 with wrong and foreign images.

    python -m benchmarks.robust --data ~/data --set c10n-worst --method believe --out results/robust.jsonl

ResNet18, `--epochs`, the network of the last one. `--hold-out .1` keeps a tenth of the dirty training set
apart and reports how often the network gives its labels, wrong ones included: what options are chosen by.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import graylearn as gl
from benchmarks.record import append, described, record
from graylearn.data import Contaminated, Samples, contaminate
from graylearn.data.splits import stratified_choice
from graylearn.metrics import auroc
from graylearn.nets import ResNet18
from graylearn.training import PRESETS, OptimizerSettings
from graylearn.training.loop import EpochEnd
from graylearn.training.optimizers import ScheduleSettings
from graylearn.training.result import predict_logits
from reproduction.catalog import load

PEOPLE = {
    "c10n-aggregate": ("cifar10", "cifar-10n", "aggregate"),
    "c10n-worst": ("cifar10", "cifar-10n", "worst"),
    "c100n": ("cifar100", "cifar-100n", "noisy"),
}
"""Sets whose labels people gave: which images, the folder of labels.npz, the array in it."""
MIXED = {
    f"c100-{source}-{wrong}-{foreign}": (f"{source}-imagenet", wrong / 10, foreign / 10)
    for source in ("mini", "tiny") for wrong, foreign in ((2, 2), (2, 4), (2, 6), (4, 4))
}  # fmt: skip
"""CIFAR-100 whose 50,000 training images hold shares of wrong labels and of foreign images."""
SCHEDULES = {
    "paper": (PRESETS["paper"].optimizer, PRESETS["paper"].schedule),
    "cosine": (
        OptimizerSettings("sgd", 0.1, weight_decay=5e-4, momentum=0.9, nesterov=True),
        ScheduleSettings("cosine"),
    ),
}


def dirty(name: str, data: Path, seed: int) -> tuple[Contaminated, Samples]:
    """The training set with the truth about it, and the clean test set."""
    if name in PEOPLE:
        images, folder, array = PEOPLE[name]
        train, test = (load(images, data, split=part) for part in ("train", "test"))
        with np.load(data / folder / "labels.npz") as labels:
            said = labels[array].astype(np.int64)
            assert np.array_equal(labels["clean"], train.y)
        mixed = contaminate(train, ood_x=train.take(np.empty(0, dtype=np.int64)), alpha=0.0, seed=seed)
        return replace(mixed, y=said, is_flipped=said != mixed.true_y), test
    source, wrong, foreign = MIXED[name]
    train, test = (load("cifar100", data, split=part) for part in ("train", "test"))
    left = round((1 - foreign) * len(train.y))
    inside = train.take(np.sort(stratified_choice(train.y, left, seed)))
    ood = load(source, data, split="train")
    return contaminate(inside, ood_x=ood, alpha=foreign, flip=wrong / (1 - foreign), seed=seed), test


def trained(given: Any, kept: Path | None = None) -> dict[str, Any]:
    """Train as asked, and measure."""
    train, test = dirty(given.set, given.data, given.seed)
    held = np.zeros(len(train.y), dtype=bool)
    if given.hold_out:
        held[np.random.default_rng([given.seed, 7]).permutation(len(held))[: int(given.hold_out * len(held))]] = True
    part, apart = train.take(np.flatnonzero(~held)), train.take(np.flatnonzero(held))
    if given.size:
        part, test = part.take(np.arange(given.size)), test.take(np.arange(given.size))
        apart = apart.take(np.arange(min(given.size, len(apart.y))))
    if given.method == "oracle":
        part = part.take(np.flatnonzero(~part.is_ood & ~part.is_flipped))
    method = gl.make_method("standard" if given.method == "oracle" else given.method, **given.options)
    optimizer, schedule = SCHEDULES[given.schedule]
    torch.manual_seed(given.seed)
    curve: list[float] = []
    began = time.perf_counter()

    def tested(end: EpochEnd) -> None:
        row = end.row
        if (end.epoch + 1) % given.every == 0:
            curve.append(round(accuracy(end.model), 4))
            row["test"] = curve[-1]
        seconds = time.perf_counter() - began
        line = {name: row.get(name) for name in ("epoch", "loss", "accuracy", "samples_per_second", "test")}
        print(json.dumps(line | {"at": round(seconds, 1)}), file=sys.stderr, flush=True)

    def accuracy(model: torch.nn.Module) -> float:
        kind = "bf16" if torch.cuda.is_available() else "fp32"
        logits = predict_logits(model, test.x, preparation=preparation(), batch_size=2500, precision=kind)
        return float((logits.argmax(1) == test.y).mean())

    def preparation() -> Any:
        from graylearn.data.batches.base import Preparation

        return Preparation(scale=scale, dtype=torch.bfloat16 if torch.cuda.is_available() else torch.float32)

    scale = gl.training.PixelScale.measure(part.x)
    result = gl.train(
        ResNet18(test.num_classes, (3, 32, 32)), (part.x, part.y), method=method, preset="paper",
        optimizer=optimizer, schedule=schedule, epochs=given.epochs, batch_size=given.batch_size,
        seed=given.seed, scale=scale, callbacks=tested, log="none", compile=torch.cuda.is_available(),
    )  # fmt: skip
    seconds = time.perf_counter() - began
    wrong = part.is_flipped
    measured: dict[str, Any] = {
        "accuracy": float((result.predict_logits(test.x).argmax(1) == test.y).mean()),
        "curve": curve, "every": given.every, "seconds": seconds, "samples": len(part.y),
        "wrong": float(wrong.mean()), "foreign": float(part.is_ood.mean()),
        "images_per_second": float(np.median([row["samples_per_second"] for row in result.log])),
    }  # fmt: skip
    if held.any():
        said = result.predict_logits(apart.x).argmax(1)
        measured["held_out_agrees"] = float((said == apart.y).mean())
        inside = ~apart.is_ood
        measured["held_out_right"] = float((said == apart.true_y)[inside].mean())
    measured |= detected("history", 1 - result.history.mean_label_confidence(), part)
    if hasattr(method, "given"):  # believe
        answers = method.answers.float()
        told = torch.nn.functional.one_hot(method.task.targets, answers.shape[1]).float()
        belief = method._belief(answers, told)
        doubt = (1 - (belief * told).sum(1)).cpu().numpy()
        measured |= detected("belief", doubt, part)
        measured |= detected("unsure", -answers.amax(1).cpu().numpy(), part)
        guess = belief.argmax(1).cpu().numpy()
        measured["belief_right"] = float((guess == part.true_y)[~part.is_ood].mean())
        measured["mean_sure"] = float(method.sure)
        if kept is not None:
            np.savez_compressed(
                kept, answers=answers.half().cpu().numpy(), y=part.y, true=part.true_y, ood=part.is_ood,
                given=method.given.cpu().numpy(), label=result.history.label_confidence[::4],
            )  # fmt: skip
    return measured


def detected(name: str, score: np.ndarray, part: Contaminated) -> dict[str, float]:
    """How well a score tells wrong labels, and foreign images, from the samples that belong."""
    found = {}
    belongs = ~part.is_ood & ~part.is_flipped
    for what, bad in (("wrong", part.is_flipped & ~part.is_ood), ("foreign", part.is_ood)):
        if bad.any():
            some = belongs | bad
            found[f"{name}_{what}_auroc"] = auroc(score[some], bad[some])
    return found


def main() -> None:
    """Train once and add a row."""
    made = described(__doc__)
    made.add_argument("--data", type=Path, required=True)
    made.add_argument("--set", choices=[*PEOPLE, *MIXED], default="c10n-worst")
    made.add_argument("--method", default="believe")
    made.add_argument("--options", type=json.loads, default={})
    made.add_argument("--schedule", choices=list(SCHEDULES), default="paper")
    made.add_argument("--epochs", type=int, default=200)
    made.add_argument("--batch-size", type=int, default=128)
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--hold-out", type=float, default=0.0)
    made.add_argument("--every", type=int, default=10, help="epochs from one test to the next")
    made.add_argument("--size", type=int, default=None, help="of training and test set, to try it")
    made.add_argument("--kept", type=Path, default=None, help="an npz of the last mean answers")
    made.add_argument("--out", type=Path, default=Path("results/robust.jsonl"))
    given = made.parse_args()
    cell = {
        name: getattr(given, name)
        for name in ("set", "method", "options", "schedule", "epochs", "batch_size", "seed", "hold_out", "size")
    }
    row = record("robust", cell=cell, measured=trained(given, given.kept))
    append(row, given.out)
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
