"""What the second fit may add on labels that people got wrong (CIFAR-10N): ways to learn the same beliefs.

    python benchmarks/human_refine.py --data FOLDER --kept FOLDER --labels worst --ways soft mixup --epochs 60

`--kept` holds the history of the gl fit (`python -m reproduction human --methods gl --keep FOLDER`), whose
audit says what to believe of each sample; the beliefs are written to LABELS-beliefs.npz there, and read from
it where it is. ResNet18, the paper's schedule over `--epochs`.

    soft        cross entropy with the beliefs
    mixup       the same on blends of two images, with the blend of their beliefs as the target
    follow      after a tenth of the epochs the beliefs move towards what the network says, a tenth an epoch
    both        mixup, whose beliefs move by what is left of an answer when the partner's part is taken out
    views       only what the history is settled on is taught, half as many images of a class as bear its
                label: those that most epochs before labels are learned by heart call so. Of the others, what
                the network is sure of in the plain view is taught to it in a distorted one
    choose      the method of that name, told the labels; with `--kept` the beliefs

`--first-round 60` puts a fit of 60 epochs by `soft` before: the audit of its history gives new beliefs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import record
import torch
from torch import Tensor

from graylearn.array_types import Floats
from graylearn.audit.history import epochs_before_heart
from graylearn.estimator.committee import member_seeds
from graylearn.estimator.pipeline import Pipeline, PlannedFit
from graylearn.estimator.refine import SoftTargets, soft_targets
from graylearn.methods import Method, make_method
from graylearn.methods.base import Step
from graylearn.methods.distort import half_distorted
from graylearn.methods.softened import Softened
from graylearn.training import History, Result
from reproduction.cells import Cell
from reproduction.images import pipeline_of
from reproduction.measure import tested
from reproduction.sets import cell_samples
from reproduction.traces import Traces

MOMENTUM = 0.9
WAIT = 0.1
SETTLED = 0.5
SURE = 0.95


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


@dataclass
class Views(SoftTargets):
    """Half of the images distorted; the target of one that is not settled comes from its plain view."""

    def blend(self, inputs: Tensor) -> Tensor:
        """Every second image distorted, drawn anew each step."""
        self.plain = inputs
        return half_distorted(inputs, self.task.generator)

    def loss(self, step: Step) -> Tensor:
        """Cross entropy with what is settled, or else with a sure answer to the plain view."""
        taught = self.distributions[step.index]
        with torch.no_grad():
            said = step.forward(self.plain).logits.float().softmax(1)
        largest, answer = said.max(1)
        sure = torch.nn.functional.one_hot(answer, said.shape[1]) * (largest > SURE).unsqueeze(1)
        target = torch.where(taught.any(1, keepdim=True), taught, sure.float())
        return -(target * step.logits.log_softmax(1)).sum(1)


WAYS: dict[str, Callable[[Tensor], Method]] = {
    "soft": SoftTargets,
    "mixup": Blended,
    "follow": Following,
    "both": Both,
    "views": Views,
    "choose": lambda told: Softened(make_method("choose"), targets=told.float()),
}


def kept_history(first: Cell, folder: Path) -> History:
    """The history of the gl fit."""
    kept = Traces(histories=folder).kept(first)
    if kept is None:
        raise SystemExit(f"{folder} has no history of {first} ({first.key})")
    return kept[0]


def beliefs(pipeline: Pipeline, first: Cell, folder: Path) -> tuple[Floats, Floats]:
    """(targets, weights) that the audit of the gl fit's history gives."""
    file = folder / f"{first.labels}-beliefs.npz"
    if not file.exists():
        target, weight = soft_targets(pipeline.judge(kept_history(first, folder)))
        np.savez_compressed(file, target=target.astype(np.float32), weight=weight)
    with np.load(file) as arrays:
        return arrays["target"], arrays["weight"]


def settled(first: Cell, folder: Path) -> Floats:
    """(N, K) of each class the images that most epochs before heart call so; zeros for the others."""
    file = folder / f"{first.labels}-votes.npz"
    if not file.exists():
        history = kept_history(first, folder)
        label = history.targets.cpu().numpy().astype(np.int64)
        said = history.predicted[epochs_before_heart(label, history.predicted)]
        votes = np.stack([(said == number).mean(0) for number in range(history.num_classes)], 1)
        np.savez_compressed(file, votes=votes.astype(np.float32), bearing=np.bincount(label))
    with np.load(file) as arrays:
        votes, bearing = arrays["votes"], arrays["bearing"]
    called, taught = votes.argmax(1), np.zeros_like(votes)
    for number, count in enumerate(bearing):
        members = np.flatnonzero(called == number)
        most = members[np.argsort(-votes[members, number], kind="stable")[: int(SETTLED * count)]]
        taught[most, number] = 1
    return taught


def main() -> None:
    """Measure the ways asked for, one row each."""
    options = record.described(__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--kept", type=Path, help="folder of the gl fit's history; choose may do without")
    options.add_argument("--labels", default="worst", choices=("worst", "aggregate"))
    options.add_argument("--ways", nargs="+", default=list(WAYS), choices=tuple(WAYS))
    options.add_argument("--epochs", type=int, default=200)
    options.add_argument("--batch-size", type=int, default=128)
    options.add_argument("--net", default="resnet18")
    options.add_argument("--first-round", type=int, help="epochs of a fit whose history is audited again")
    options.add_argument("--device")
    options.add_argument("--out", type=Path, default=Path("results/human_refine.jsonl"))
    given = options.parse_args()
    first = Cell(
        kind="image", dataset="cifar10", method="gl", seed=0, labels=given.labels, net="resnet18",
        preset="paper", epochs=200, batch_size=128,
    )  # fmt: skip
    cell = first.but(epochs=given.epochs, batch_size=given.batch_size, net=given.net)
    train_set, test = cell_samples(first, str(given.data))
    if given.kept is None and set(given.ways) != {"choose"}:
        options.error("--kept: all ways but choose learn what the audit of the gl fit's history believes")
    target, weight = np.eye(len(train_set.classes))[train_set.y], np.ones(len(train_set))
    if given.kept is not None:
        target, weight = beliefs(pipeline_of(first, train_set, test, given.device), first, given.kept)
    seed = member_seeds(0, 1)[0]

    def learn(method: Method, cell: Cell, weight: Floats) -> tuple[Pipeline, Result]:
        pipeline = pipeline_of(cell, train_set, test, given.device)
        fit = PlannedFit("refined", (pipeline.new_network(seed),), (seed,), method, weight, True)
        return pipeline, pipeline.train(fit)[0]

    if given.first_round is not None:
        teaching = SoftTargets(torch.from_numpy(target))
        pipeline, result = learn(teaching, cell.but(epochs=given.first_round), weight)
        target, weight = soft_targets(pipeline.judge(result.history))
        target = target.astype(np.float32)
    for way in given.ways:
        taught = settled(first, given.kept) if way == "views" else target
        method = WAYS[way](torch.from_numpy(taught))
        began = time.perf_counter()
        _, result = learn(method, cell, weight)
        measured = tested(result.predict_logits(test.x), test.y, with_bins=False)
        known = taught.any(1)
        answered = np.asarray(result.predict_logits(train_set.x)).argmax(1)
        record.append(
            record.record(
                "human-refine", labels=given.labels, way=way,
                told="labels" if given.kept is None else "beliefs", first_round=given.first_round,
                epochs=given.epochs, batch_size=given.batch_size, net=given.net, seed=0, **measured,
                train_accuracy=result.log[-1]["accuracy"], taught=float(known.mean()),
                beliefs_right=float((taught.argmax(1) == train_set.true_y)[known].mean()),
                answers_right=float((answered == train_set.true_y).mean()),
                seconds=round(time.perf_counter() - began, 1),
            ),
            given.out,
        )  # fmt: skip


if __name__ == "__main__":
    main()
