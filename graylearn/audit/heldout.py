"""Held-out class probabilities: what networks that never saw a sample say of it.

Repeated stratified folds, all of them trained at once as one stack of small networks (one batched
matrix product a layer), predictions averaged over epochs and repeats. Averaging over epochs is worth
about four points of AUROC over the last epoch alone: early epochs have not yet fitted wrong labels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graylearn.array_types import Floats, Ints
from graylearn.audit.blocks import BLOCK, precision_for
from graylearn.audit.keeping import OnTheWay
from graylearn.audit.progress import tell
from graylearn.audit.rounds import MANY
from graylearn.losses import gray_loss
from graylearn.nets.mlp import MLP
from graylearn.training import OptimizerSettings, devices, seeding
from graylearn.training.cross_fit import held_out_rows, stratified_folds
from graylearn.training.mlp import MLPLearner, add_multiply, mlp_layers
from graylearn.training.schedules import batch_size_for, epochs_for

DROPOUT = 51 / 256
"""A fifth, as a byte can say it."""
EPOCHS, LEAST_EPOCHS, ROWS = 20, 2, 50_000
"""The first number of passes up to so many samples. Larger sets have fewer, at least the second number: each
network learns as often, and from more samples."""
LEAST_BATCH, LARGEST_BATCH, MOST_STEPS = 256, 2048, 4_000
"""Samples of a step of larger sets: at least the first number, and up to the second where a network would
take more steps than the third."""
_CHUNK = 4096


def schedule_for(num_samples: int, epochs: int) -> tuple[int, float, int]:
    """Batch size, learning rate and epochs of a network for so many samples."""
    batch = batch_size_for(num_samples)
    return batch, 1e-3 * math.sqrt(batch / 32), epochs_for(num_samples, batch, epochs)


def schedule_by_size(num_samples: int, seen: int, epochs: int) -> tuple[int, float, int]:
    """`schedule_for` networks that see so many of the samples; in larger sets, steps of more samples."""
    batch, rate, epochs = schedule_for(seen, epochs)
    while num_samples > ROWS and batch < LARGEST_BATCH:
        if batch >= LEAST_BATCH and epochs * seen <= MOST_STEPS * batch:
            break
        batch, rate = 2 * batch, rate * math.sqrt(2)
    return batch, rate, epochs


def epochs_by_size(num_samples: int, num_classes: int = 1) -> int:
    """Passes over a set of this size unless told; fewer too where there are more class probabilities than
    one round of networks is asked for."""
    most = min(ROWS / max(num_samples, 1), MANY / max(num_samples * num_classes, 1), 1.0)
    return max(LEAST_EPOCHS, int(EPOCHS * most))


def _padded(members: list[Ints], device: torch.device) -> Tensor:
    """Rows of equal length: shorter ones begin again from their start."""
    longest = max(len(row) for row in members)
    return torch.as_tensor(np.stack([np.resize(row, longest) for row in members]), device=device)


def held_out_probabilities(
    features: NDArray[np.float32],
    label: Ints,
    num_classes: int,
    *,
    folds: int = 2,
    repeats: int = 3,
    epochs: int | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
    group: Ints | None = None,
) -> Floats:
    """(N, K) class probabilities from `repeats` x `folds` networks, each asked about what it did not see.

    features: (N, D), standardised. group: as in `stratified_folds`. Two folds are enough: three repeats of
    two cost less than one round of five, and their average is better. Small sets get more epochs, so that
    every network takes at least 160 steps; `epochs` is by size unless told.
    """
    where = devices.choose(device)
    x = torch.as_tensor(np.ascontiguousarray(features, dtype=np.float32), device=where)
    y = torch.as_tensor(label, device=where)
    fold = stratified_folds(label, folds, repeats, seed, group)
    held = held_out_rows(fold, folds)
    seen = [np.flatnonzero(row != f) for row in fold for f in range(folds)]
    train_rows, held_rows = _padded(seen, where), _padded(held, where)
    n = train_rows.shape[1]
    if epochs is None:
        epochs = epochs_by_size(len(label), num_classes)
    batch, rate, epochs = schedule_by_size(len(label), n, epochs)
    summed = torch.zeros(len(label), num_classes, device=where)
    way = OnTheWay("networks on the way", [*x.shape, num_classes, len(held), batch, epochs, seed])
    with seeding.seeded(seed, where):
        learner = networks(len(held), num_classes, x.shape[1], rate, where)
        with devices.threads_for(learner, batch, where):
            stand = _Stand(learner, summed)
            stand.go_on(way.found())
            while stand.epoch < epochs:
                epoch = stand.epoch
                drawn = torch.rand(train_rows.shape, device=where, generator=learner.generator)
                shuffled = train_rows.gather(1, drawn.argsort(dim=1))
                stand.ordered()
                for start in range(stand.start, n, batch):
                    learn(learner, x, y, shuffled[:, start : start + batch])
                    tell("asking networks", epoch * n + start, epochs * n)
                    stand.start = start + batch
                    way.keep(stand.arrays)
                if epoch % 2 == 1 or epoch == epochs - 1:
                    stand.taken += 1
                    _add_said(summed, learner, x, held_rows, [len(rows) for rows in held])
                stand.ended()
    way.done()
    summed /= stand.taken * repeats
    return summed.cpu().numpy().astype(precision_for(summed.numel()))


def _add_said(summed: Tensor, learner: MLPLearner, x: Tensor, rows: Tensor, lengths: list[int]) -> None:
    """Add to (N, K) what each of M networks says of the samples at its rows (M, n), padded beyond lengths."""
    chunk = max(1, min(_CHUNK, BLOCK // (len(rows) * summed.shape[1])))
    for start in range(0, rows.shape[1], chunk):
        some = rows[:, start : start + chunk]
        for index, said in enumerate(said_by(learner, taken(x, some))):
            asked = some[index, : lengths[index] - start]
            summed[asked] += said[: len(asked)]


class _Stand:
    """How far the networks are, as arrays to keep and go on from."""

    def __init__(self, learner: MLPLearner, summed: Tensor) -> None:
        self.learner, self.summed = learner, summed
        self.epoch = self.start = self.taken = 0
        """The epoch, its samples that were learned from, and how often the networks have answered."""
        self.began = self.random()
        """Random numbers as they stood before the epoch."""
        self.drawn: Tensor | None = None
        """As they stand later in an epoch that is gone on with."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that decides what comes."""
        moments = self.learner.optimizer_state()
        tensors = {
            "weights": self.learner.flat, "first": moments["first"], "second": moments["second"],
            "summed": self.summed, "began": self.began, "drawn": self.random(),
        }  # fmt: skip
        counts = np.array([self.epoch, self.start, self.taken, moments["taken"]])
        return {"counts": counts, **{name: value.cpu().numpy() for name, value in tensors.items()}}

    def go_on(self, found: dict[str, NDArray[Any]] | None) -> None:
        """Stand where `arrays` were kept."""
        if found is None:
            return
        tensors = {name: torch.from_numpy(value) for name, value in found.items()}
        self.epoch, self.start, self.taken, steps = tensors["counts"].tolist()
        self.learner.flat.copy_(tensors["weights"])
        self.learner.load_optimizer_state({**tensors, "taken": steps})
        self.summed.copy_(tensors["summed"])
        self.began, self.drawn = tensors["began"], tensors["drawn"]
        self.set_random(self.began)

    def random(self) -> Tensor:
        """How the generator stands that orders and dropout are drawn from."""
        own, device = self.learner.generator, self.summed.device
        return own.get_state() if own is not None else torch.get_device_module(device).get_rng_state(device)

    def set_random(self, state: Tensor) -> None:
        """Draw on from there."""
        own, device = self.learner.generator, self.summed.device
        if own is not None:
            own.set_state(state)
        else:
            torch.get_device_module(device).set_rng_state(state, device)

    def ordered(self) -> None:
        """The order of the epoch is drawn."""
        if self.drawn is not None:
            self.set_random(self.drawn)
            self.drawn = None

    def ended(self) -> None:
        """The epoch has ended."""
        self.epoch, self.start, self.began = self.epoch + 1, 0, self.random()


def networks(count: int, num_classes: int, columns: int, rate: float, device: torch.device) -> MLPLearner:
    """So many small networks that learn side by side at this rate."""
    models = [MLP(num_classes, (columns,), dropout=DROPOUT).to(device, torch.float32) for _ in range(count)]
    layers = mlp_layers(models[0])
    assert layers is not None  # an MLP is what the learner is made for
    optimizer = OptimizerSettings("adamw", rate, weight_decay=1e-2)
    own = seeding.own_generator(device)
    learner = MLPLearner(models, layers, optimizer, device, generator=own, by_bytes=True)
    learner.set_learning_rates([rate] * count)
    return learner


def learn(learner: MLPLearner, x: Tensor, y: Tensor, rows: Tensor) -> None:
    """One step of each of M networks, on the samples at its rows (M, n)."""
    loss = gray_loss(learner.forward(taken(x, rows)).logits, y[rows].flatten(), reduction="none")
    learner.update(loss, torch.full_like(loss, 1.0 / rows.shape[1]))


def taken(x: Tensor, rows: Tensor) -> Tensor:
    """(M, n, D) of x at rows (M, n); x[rows] takes twice as long."""
    return x.index_select(0, rows.reshape(-1)).view(*rows.shape, -1)


@torch.no_grad()
def said_by(learner: MLPLearner, x: Tensor, model: int | None = None) -> Tensor:
    """Class probabilities (M, N, K) of inputs (M, N, D), without dropout; of one model (N, K) of (N, D)."""
    for (kernel, bias), layer in zip(learner.weights_and_biases, learner.layers, strict=True):
        if model is not None:
            kernel, bias = kernel[model], bias[model]
        x = add_multiply(bias, x, kernel)
        x = x.relu_() if layer.relu else x
    return x.softmax(dim=-1)
