"""Networks that choose between people's labels and their own answers (CIFAR-10N), alone or two together.

    python benchmarks/human_choose.py --data FOLDER --labels worst --rule share
    python benchmarks/human_choose.py --data FOLDER --labels worst --rule share --network 0 --meet FOLDER &
    python benchmarks/human_choose.py --data FOLDER --labels worst --rule share --network 1 --meet FOLDER

After each epoch the network, as the mean of its weights over the last steps, is asked about all training
images; a sample's answer is the mean over the epochs, nine parts what it was and one part new, and with
`--even` each class is answered as often as every other. From 15 % of the epochs on (`--chosen-from`) what is
taught lies between label and answer:

    share       the label, as far as the answer holds it next to its likeliest class (to the power of
                `--power`), and for the rest the answer, sharpened (to the power of `--sharpened`)
    confused    the chance of each class by the answer, sharpened, times how often images of that class bear
                this label: counted anew after each epoch, from labels and answers

It is learned on blends of two images, every second one distorted. With `--meet` two such
runs, `--network 0` and `1`, wait for each other after each epoch and both go by the mean of their answers, or
with `--heed other` each by the other's; the last row is of both together, which answer with the mean of their
probabilities. ResNet18, the paper's schedule.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import record
import torch
from human_refine import Blended
from torch import Tensor

from graylearn.array_types import Ints, Singles
from graylearn.data import Contaminated
from graylearn.data.batches.augment import PixelScale, as_nhwc
from graylearn.data.batches.base import Preparation
from graylearn.estimator.committee import member_seeds
from graylearn.methods.distort import half_distorted
from graylearn.training import train
from graylearn.training.loop import EpochEnd
from graylearn.training.predict import predict_logits
from reproduction.cells import Cell
from reproduction.images import pipeline_of
from reproduction.measure import tested
from reproduction.sets import cell_samples

KEPT = 0.9
CHOSEN_FROM = 0.15
SHARPENED = 2.0
AVERAGE = 0.999
PATIENCE = 300.0
EVENING_ROUNDS = 5


@dataclass
class Distorted(Blended):
    """Blends of images of which every second is distorted; what is taught changes between epochs."""

    state = ("distributions",)

    def blend(self, inputs: Tensor) -> Tensor:
        """Distort, then blend."""
        return super().blend(half_distorted(inputs, self.task.generator))


def by_share(answer: Singles, label: Ints, power: int, sharpened: float) -> Singles:
    """(N, K) the label as far as the answer holds it, the answer for the rest."""
    held = answer[np.arange(len(label)), label] / answer.max(1)
    trust = (held**power)[:, None]
    return trust * np.eye(answer.shape[1], dtype=np.float32)[label] + (1 - trust) * scaled(answer**sharpened)


def by_confusion(answer: Singles, label: Ints, power: int, sharpened: float) -> Singles:
    """(N, K) how likely each class is by the answer and by the labels that its images bear."""
    borne = np.stack([answer[label == each].sum(0) for each in range(answer.shape[1])], 1)  # (class, label)
    return scaled(answer**sharpened * scaled(borne).T[label] ** power)


def evened(answer: Singles) -> Singles:
    """(N, K) answers of which each class has as much as every other."""
    for _ in range(EVENING_ROUNDS):
        answer = scaled(answer / answer.mean(0))
    return answer


def scaled(chances: Singles) -> Singles:
    """Rows that add up to 1."""
    return chances / chances.sum(1, keepdims=True)


RULES = {"share": by_share, "confused": by_confusion}


def softmax(logits: Singles) -> Singles:
    """Probabilities."""
    return torch.from_numpy(logits).softmax(1).numpy()


@dataclass
class Meeting:
    """Where two runs leave what they found for each other."""

    folder: Path
    network: int

    def exchange(self, name: str, own: Singles) -> Singles:
        """Leave an array, and wait for the other's of the same name."""
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = self.folder / f"{name}-{self.network}.part"
        with unfinished.open("wb") as file:
            np.save(file, own)
        unfinished.rename(self._left(name, self.network))
        other, began = self._left(name, 1 - self.network), time.monotonic()
        while not other.exists():
            if time.monotonic() - began > PATIENCE:
                raise SystemExit(f"{other} did not come")
            time.sleep(0.02)
        return np.load(other)

    def _left(self, name: str, network: int) -> Path:
        return self.folder / f"{name}-{network}.npy"


@dataclass
class Chooser:
    """Asks the network after each epoch, and says what is taught in the next."""

    train_set: Contaminated
    method: Distorted
    epochs: int
    rule: str
    power: int
    sharpened: float
    chosen_from: float
    even: bool
    meeting: Meeting | None
    heed: str
    half: bool
    answers: Singles | None = None
    right: list[float] = field(default_factory=list)
    """After each epoch: of what is taught, and of the answers."""

    def __post_init__(self) -> None:
        scale = PixelScale.measure(as_nhwc(torch.from_numpy(self.train_set.x)))
        self.preparation = Preparation(scale=scale, dtype=torch.bfloat16 if self.half else torch.float32)

    def __call__(self, end: EpochEnd) -> None:
        """Take in the answers of an epoch."""
        logits = predict_logits(
            end.model,
            self.train_set.x,
            preparation=self.preparation,
            precision="bf16" if self.half else "fp32",
        )
        said = softmax(logits)
        self.answers = said if self.answers is None else KEPT * self.answers + (1 - KEPT) * said
        answers = self.answers
        if self.meeting is not None:
            others = self.meeting.exchange(f"{end.epoch:03d}", answers)
            answers = others if self.heed == "other" else (answers + others) / 2
        if self.even:
            answers = evened(answers)
        label, true = self.train_set.y, self.train_set.true_y
        taught = np.eye(answers.shape[1], dtype=np.float32)[label]
        if end.epoch + 1 >= self.chosen_from * self.epochs:
            taught = RULES[self.rule](answers, label, self.power, self.sharpened)
            self.method.distributions.copy_(torch.from_numpy(taught))
        self.right = [float((each.argmax(1) == true).mean()) for each in (taught, answers)]
        print(f"{end.epoch} {end.row['seconds']:.1f} s", *(f"{each:.4f}" for each in self.right), flush=True)


def main() -> None:
    """Measure one network, and both together where they met."""
    options = record.described(__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--labels", default="worst", choices=("worst", "aggregate"))
    options.add_argument("--rule", default="share", choices=tuple(RULES))
    options.add_argument("--power", type=int, default=1, help="how much less than likely is believed")
    options.add_argument("--sharpened", type=float, default=SHARPENED, help="1: answers as they are")
    options.add_argument("--chosen-from", type=float, default=CHOSEN_FROM, help="share of the epochs before")
    options.add_argument("--even", action="store_true", help="each class is answered as often as another")
    options.add_argument("--heed", default="both", choices=("both", "other"), help="whose answers count")
    options.add_argument("--average", type=float, default=AVERAGE, help="share of the mean that a step keeps")
    options.add_argument("--network", type=int, default=0, choices=(0, 1))
    options.add_argument("--meet", type=Path, help="folder where the two runs meet; without, one goes alone")
    options.add_argument("--epochs", type=int, default=200)
    options.add_argument("--batch-size", type=int, default=128)
    options.add_argument("--net", default="resnet18")
    options.add_argument("--device")
    options.add_argument("--out", type=Path, default=Path("results/human_choose.jsonl"))
    given = options.parse_args()
    cell = Cell(
        kind="image", dataset="cifar10", method="standard", seed=0, labels=given.labels, net=given.net,
        preset="paper", epochs=given.epochs, batch_size=given.batch_size,
    )  # fmt: skip
    train_set, test = cell_samples(cell, str(given.data))
    pipeline = pipeline_of(cell, train_set, test, given.device)
    seed = member_seeds(0, 2)[given.network]
    method = Distorted(torch.eye(len(train_set.classes))[torch.from_numpy(train_set.y)])
    meeting = None if given.meet is None else Meeting(given.meet, given.network)
    half = given.device == "cuda"
    chooser = Chooser(
        train_set, method, given.epochs, given.rule, given.power, given.sharpened, given.chosen_from,
        given.even, meeting, given.heed, half,
    )  # fmt: skip
    began = time.perf_counter()
    result = train(
        pipeline.new_network(seed),
        (pipeline.samples.x, pipeline.samples.y),
        method=method,
        settings=replace(pipeline.settings, seed=seed, average=given.average or None),
        callbacks=chooser,
    )
    logits = result.predict_logits(test.x)
    taught_right, answers_right = chooser.right

    def note(networks: int, logits: Singles) -> None:
        measured = tested(logits, test.y, with_bins=False)
        record.append(
            record.record(
                "human-choose", labels=given.labels, rule=given.rule, power=given.power,
                sharpened=given.sharpened, chosen_from=given.chosen_from, even=given.even, heed=given.heed,
                average=given.average, together=meeting is not None, networks=networks, network=given.network,
                epochs=given.epochs, batch_size=given.batch_size, net=given.net, seed=0, **measured,
                train_accuracy=result.log[-1]["accuracy"], taught_right=taught_right,
                answers_right=answers_right, seconds=round(time.perf_counter() - began, 1),
            ),
            given.out,
        )  # fmt: skip

    note(1, logits)
    if meeting is not None:
        both = (softmax(logits) + softmax(meeting.exchange("logits", logits))) / 2
        if given.network == 0:
            note(2, np.log(both + 1e-12))


if __name__ == "__main__":
    main()
