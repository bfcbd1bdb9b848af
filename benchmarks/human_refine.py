"""What the second fit may add on labels that people got wrong (CIFAR-10N): ways to learn the same beliefs.

    python benchmarks/human_refine.py --data FOLDER --kept FOLDER --labels worst --ways soft mixup --epochs 60

`--kept` holds the history of the gl fit (`python -m reproduction human --methods gl --keep FOLDER`), whose
audit says what to believe of each sample; the beliefs are written to LABELS-beliefs.npz there, and read from
it where it is. ResNet18, the paper's schedule over `--epochs`.

    soft        cross entropy with the beliefs
    mixup       the same on blends of two images, with the blend of their beliefs as the target
    follow      after a tenth of the epochs the beliefs move towards what the network says, a tenth an epoch
    both        mixup, whose beliefs move by what is left of an answer when the partner's part is taken out

`--first-round 60` puts a fit of 60 epochs by `soft` before: the audit of its history gives new beliefs.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import record
import torch
from numpy.typing import NDArray
from torch import Tensor

from graylearn.estimator.committee import member_seeds
from graylearn.estimator.pipeline import Pipeline, PlannedFit
from graylearn.estimator.refine import SoftTargets, soft_targets
from graylearn.methods.base import Step
from graylearn.training import Result
from reproduction.cells import Cell
from reproduction.images import pipeline_of
from reproduction.measure import tested
from reproduction.sets import cell_samples
from reproduction.traces import Traces

Floats = NDArray[np.float64]
MOMENTUM = 0.9
WAIT = 0.1


@dataclass
class Blended(SoftTargets):
    """Beliefs about blends of two samples."""

    state = ()

    def blend(self, inputs: Tensor) -> Tensor:
        """The batch mixed with itself in another order, by a share drawn anew each step."""
        draw = torch.rand((), generator=self.task.generator, device=inputs.device)
        self.share = torch.maximum(draw, 1 - draw)
        self.partner = torch.randperm(len(inputs), generator=self.task.generator, device=inputs.device)
        return torch.lerp(inputs[self.partner], inputs, self.share.to(inputs.dtype))

    def loss(self, step: Step) -> Tensor:
        """Cross entropy with the blend of both beliefs."""
        own = self.distributions[step.index]
        target = torch.lerp(own[self.partner], own, self.share)
        return -(target * step.logits.log_softmax(1)).sum(1)


@dataclass
class Following(SoftTargets):
    """Beliefs that move towards what the network says."""

    state = ("distributions",)

    def loss(self, step: Step) -> Tensor:
        """Cross entropy with the belief as it stands after this step's answer."""
        if step.epoch >= WAIT * self.task.epochs:
            said = step.logits.detach().softmax(1)
            self.distributions[step.index] = torch.lerp(said, self.distributions[step.index], MOMENTUM)
        return super().loss(step)


@dataclass
class Both(Blended):
    """Blends, and beliefs that move."""

    state = ("distributions",)

    def loss(self, step: Step) -> Tensor:
        """As a blend; then the own part of the answer moves the belief."""
        losses = super().loss(step)
        if step.epoch >= WAIT * self.task.epochs:
            own = self.distributions[step.index]
            said = step.logits.detach().softmax(1)
            part = (said - (1 - self.share) * own[self.partner]).clamp(min=1e-6)
            self.distributions[step.index] = torch.lerp(part / part.sum(1, keepdim=True), own, MOMENTUM)
        return losses


WAYS = {"soft": SoftTargets, "mixup": Blended, "follow": Following, "both": Both}


def beliefs(pipeline: Pipeline, first: Cell, folder: Path) -> tuple[Floats, Floats]:
    """(targets, weights) that the audit of the gl fit's history gives."""
    file = folder / f"{first.labels}-beliefs.npz"
    if not file.exists():
        kept = Traces(histories=folder).kept(first)
        if kept is None:
            raise SystemExit(f"{folder} has no history of {first} ({first.key})")
        target, weight = soft_targets(pipeline.judge(kept[0]))
        np.savez_compressed(file, target=target.astype(np.float32), weight=weight)
    with np.load(file) as arrays:
        return arrays["target"], arrays["weight"]


def main() -> None:
    """Measure the ways asked for, one row each."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--kept", type=Path, required=True, help="folder of the gl fit's history")
    options.add_argument("--labels", default="worst", choices=("worst", "aggregate"))
    options.add_argument("--ways", nargs="+", default=list(WAYS), choices=tuple(WAYS))
    options.add_argument("--epochs", type=int, default=200)
    options.add_argument("--net", default="resnet18")
    options.add_argument("--first-round", type=int, help="epochs of a fit whose history is audited again")
    options.add_argument("--device")
    options.add_argument("--out", type=Path, default=Path("results/human_refine.jsonl"))
    given = options.parse_args()
    first = Cell(
        kind="image", dataset="cifar10", method="gl", seed=0, labels=given.labels, net="resnet18",
        preset="paper", epochs=200, batch_size=128,
    )  # fmt: skip
    cell = first.but(epochs=given.epochs, net=given.net)
    train_set, test = cell_samples(first, str(given.data))
    target, weight = beliefs(pipeline_of(first, train_set, test, given.device), first, given.kept)
    seed = member_seeds(0, 1)[0]

    def learn(way: str, cell: Cell) -> tuple[Pipeline, Result]:
        pipeline = pipeline_of(cell, train_set, test, given.device)
        teaching = WAYS[way](torch.from_numpy(target))
        fit = PlannedFit("refined", (pipeline.new_network(seed),), (seed,), teaching, weight, True)
        return pipeline, pipeline.train(fit)[0]

    if given.first_round is not None:
        pipeline, result = learn("soft", cell.but(epochs=given.first_round))
        target, weight = soft_targets(pipeline.judge(result.history))
        target = target.astype(np.float32)
    for way in given.ways:
        began = time.perf_counter()
        _, result = learn(way, cell)
        measured = tested(result.predict_logits(test.x), test.y, with_bins=False)
        record.append(
            record.record(
                "human-refine", labels=given.labels, way=way, first_round=given.first_round,
                epochs=given.epochs, net=given.net, seed=0, **measured,
                train_accuracy=result.log[-1]["accuracy"],
                beliefs_right=float((target.argmax(1) == train_set.true_y).mean()),
                seconds=round(time.perf_counter() - began, 1),
            ),
            given.out,
        )  # fmt: skip


if __name__ == "__main__":
    main()
