"""The loop for tables that the paper's authors released, step by step.

It differs from the paper's text: one hidden layer; a softmax at the end of the network and again in the loss,
so that the largest score a loss ever sees is one above the smallest; no scaling of the features unless
asked for; the OOD class is named by hand and all its rows are used. Each step reads one batch of shuffled
in-distribution rows and one of OOD rows in file order, side by side, until either runs out, so that Iris is
trained for one step an epoch. Its comparison methods are lighter than those they are named after.

Published at https://github.com/Lawliet-zzl/GL (main.py, Ndata.py); written anew here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graylearn.data import Samples
from reproduction.catalog.tables import RELEASED
from reproduction.catalog.tasks import feature_sum_labels
from reproduction.cells import CLEAN, Cell
from reproduction.measure import majority, tested
from reproduction.splits import hold_out_classes, hold_out_smallest

EPS = 1e-5
"""Inside their logarithms of 1 - Q."""
WEIGHT = 0.5
"""Their w (`--alpha`): (1 - w) C L_G + w (1 - C) L_C. Their logs name it, so others were run too."""

Loss = Callable[[Tensor, Tensor], Tensor]
"""(scores (N, K), which are probabilities already, labels (N,)) -> the loss of a batch."""


def train_released(cell: Cell, samples: Samples) -> dict[str, Any]:
    """What was measured of one cell."""
    began = time.perf_counter()
    train, test, ood = released_parts(samples, cell)
    x, test_x, ood_x = (np.nan_to_num(each.x.to_numpy(np.float64)) for each in (train, test, ood))
    if dict(cell.recipe).get("normalised"):
        mean, deviation = x.mean(0), x.std(0)
        with np.errstate(divide="ignore", invalid="ignore"):  # a constant column becomes 0
            x, test_x, ood_x = (
                np.nan_to_num((each - mean) / deviation, posinf=0.0, neginf=0.0)
                for each in (x, test_x, ood_x)
            )
    measured: dict[str, Any] = {"samples": len(x) + len(ood_x), "ood_samples": len(ood_x)}
    if cell.method in CLEAN:
        measured |= {"samples": len(x), "ood_samples": 0}
    measured["alpha"] = measured["ood_samples"] / measured["samples"]
    if cell.method == "majority":
        return measured | majority(train.y, test.y, samples.num_classes - 1)
    torch.manual_seed(cell.seed)
    classes = samples.num_classes - 1
    network = nn.Sequential(nn.Linear(x.shape[1], 128), nn.ReLU(), nn.Linear(128, classes), nn.Softmax(dim=1))
    ood_y = feature_sum_labels(ood_x, classes)
    inside = (torch.tensor(x, dtype=torch.float32), torch.from_numpy(train.y))
    outside = (torch.tensor(ood_x, dtype=torch.float32), torch.from_numpy(ood_y))
    if cell.method == "oracle":
        outside = (outside[0][:0], outside[1][:0])
    optimizer = torch.optim.Adam(network.parameters())
    loss_of = LOSSES["standard" if cell.method == "oracle" else cell.method]
    if cell.options:
        loss_of = partial(_gray, **dict(cell.options))
    steps = 0
    for _ in range(cell.epochs):
        for batch, labels in _batches(inside, outside, cell.batch_size):
            loss = loss_of(network(batch), labels)
            if loss.requires_grad:  # self-paced learning may select nothing
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            steps += 1
    with torch.no_grad():
        said = network(torch.tensor(test_x, dtype=torch.float32)).clamp_min(1e-30).log().numpy()
    measured |= tested(said, test.y, with_bins=False)
    return measured | {"steps": steps, "seconds": time.perf_counter() - began}


def released_parts(samples: Samples, cell: Cell) -> tuple[Samples, Samples, Samples]:
    """(train, test, OOD): OOD is the class that their code names, test a plain random fifth of the rest."""
    known = RELEASED.get(cell.dataset)
    ood_class = known.ood if known else hold_out_smallest(samples)[1].classes[0]
    inside, ood = hold_out_classes(samples, [ood_class])
    order = np.random.default_rng(cell.seed).permutation(len(inside))
    count = -(-len(inside) // 5)  # a fifth, rounded up
    return inside.take(order[count:]), inside.take(order[:count]), ood


def _batches(
    inside: tuple[Tensor, Tensor], outside: tuple[Tensor, Tensor], size: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """The steps of one epoch; both sets are cut into as many parts as `size` in-distribution rows make."""
    parts = len(inside[0]) // size + 1
    each, each_ood = len(inside[0]) // parts, max(1, len(outside[0]) // parts)
    order = torch.randperm(len(inside[0]))
    rows = order.split(each)  # type: ignore[no-untyped-call]
    if len(outside[0]) == 0:
        yield from ((inside[0][row], inside[1][row]) for row in rows)
        return
    ood_rows = torch.arange(len(outside[0])).split(each_ood)  # type: ignore[no-untyped-call]
    for row, ood_row in zip(rows, ood_rows, strict=False):
        yield (
            torch.cat([inside[0][row], outside[0][ood_row]]),
            torch.cat([inside[1][row], outside[1][ood_row]]),
        )


def _label(values: Tensor, target: Tensor) -> Tensor:
    return values.gather(1, target.unsqueeze(1)).squeeze(1)


def _excluded(scores: Tensor, target: Tensor) -> Tensor:
    each = -(1 - scores.softmax(1) + EPS).log()
    return each.sum(1) - _label(each, target)


def _gray(scores: Tensor, target: Tensor, w: float = WEIGHT) -> Tensor:
    trust = scores.softmax(1).amax(1).detach()
    claimed = F.cross_entropy(scores, target, reduction="none")
    return ((1 - w) * trust * claimed + w * (1 - trust) * _excluded(scores, target)).mean()


def _bootstrap(scores: Tensor, target: Tensor) -> Tensor:
    said = scores.log_softmax(1)
    mixed = (F.one_hot(target, scores.shape[1]) + scores.softmax(1).detach()) / 2
    return -(mixed * said).sum(1).mean()


def _symmetric(scores: Tensor, target: Tensor) -> Tensor:
    """softmax(one-hot) stands for the label in both terms, and neither has a weight."""
    label = F.one_hot(target, scores.shape[1]).float()
    claimed = -(label.softmax(1) * scores.log_softmax(1)).sum(1).mean()
    return claimed - (scores.softmax(1) * label.log_softmax(1)).sum(1).mean()


def _self_paced(scores: Tensor, target: Tensor) -> Tensor:
    losses = F.cross_entropy(scores, target, reduction="none")
    easy = losses.detach() <= losses.detach().mean() - 0.01
    return losses[easy].mean() if easy.any() else scores.new_zeros(())


def _absolute(scores: Tensor, target: Tensor) -> Tensor:
    return (1 - _label(scores.softmax(1), target)).square().mean() / 2


def _iterative(scores: Tensor, target: Tensor) -> Tensor:
    trust = scores.softmax(1).amax(1).detach()
    return (trust * F.cross_entropy(scores, target, reduction="none")).mean()


LOSSES: dict[str, Loss] = {
    "standard": F.cross_entropy,
    "mae": _absolute,
    "bt": _bootstrap,
    "spl": _self_paced,
    "il": _iterative,
    "sl": _symmetric,
    "nl": lambda scores, target: _excluded(scores, target).mean(),
    "gl": _gray,
}
"""The eight methods that it has, by our names; LCVD and SRCC are not among them."""
