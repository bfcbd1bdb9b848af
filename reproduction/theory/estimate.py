"""The discrepancy between two labelled sets, estimated by its definition: networks trained to find it."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graylearn.errors import DataError, SettingsError

ArrayLike: TypeAlias = npt.ArrayLike | Tensor


@dataclass(frozen=True)
class Discrepancy:
    """An estimate of sup_h |risk_a(h) - risk_b(h)|, from below, by two trained networks."""

    value: float
    """The larger of the two held-out gaps, at least 0: the estimate."""
    error: float
    """Standard error of that gap, from the spread of losses over the held-out samples."""
    gaps: tuple[float, float]
    """Held-out risk_a - risk_b of the network trained to raise it, risk_b - risk_a of the other."""
    training_gaps: tuple[float, float]
    """The same on the halves they were trained on; far above `gaps` where the networks learned by heart."""


def discrepancy(
    x_a: ArrayLike,
    y_a: ArrayLike,
    x_b: ArrayLike,
    y_b: ArrayLike,
    *,
    model: nn.Module | None = None,
    loss_bound: float | None = None,
    steps: int = 300,
    batch_size: int = 256,
    learning_rate: float = 3e-3,
    seed: int = 0,
) -> Discrepancy:
    """How differently one network can fare on two labelled sets: sup_h |risk_a(h) - risk_b(h)|.

    By its definition: two networks are trained, one to raise risk_a - risk_b and one to lower it, on a
    random half of each set, and judged on the other halves. A better search could only find more, so the
    estimate errs low. The loss must be bounded for the supremum to be finite: 1 - Q_y in [0, 1], or with
    `loss_bound` = c cross entropy bent to end at c, -log(exp(-c) + (1 - exp(-c)) Q_y).

    `model` is the hypothesis class and the start of both searches (copies are trained); by default, two
    hidden layers of 128 ReLU on flattened, standardised inputs. `steps` are steps of AdamW at
    `learning_rate`, each on `batch_size` samples of either set. The same `seed` gives the same answer.
    """
    if loss_bound is not None and not loss_bound > 0:
        raise SettingsError(f"loss_bound is {loss_bound}, expected a positive number, or None for 1 - Q_y")
    if steps < 1 or batch_size < 1:
        raise SettingsError(f"steps is {steps} and batch_size {batch_size}, expected at least 1 of each")
    a, b = _labelled(x_a, y_a, "a"), _labelled(x_b, y_b, "b")
    if a.x.shape[1:] != b.x.shape[1:] or a.x.device != b.x.device:
        raise DataError(
            f"x_a holds samples of shape {tuple(a.x.shape[1:])} on {a.x.device} and x_b of shape "
            f"{tuple(b.x.shape[1:])} on {b.x.device}, expected the same: one network must take both"
        )
    generator = torch.Generator().manual_seed(seed)
    halves_a, halves_b = a.halves(generator), b.halves(generator)
    start = model
    if start is None:
        halves_a, halves_b = _standardised(halves_a, halves_b)
    signed: list[tuple[float, float, float]] = []
    # The caller's random numbers stay as they were.
    with torch.random.fork_rng(devices=[a.x.device] if a.x.is_cuda else []):
        torch.manual_seed(seed)
        if start is None:
            num_classes = max(int(a.y.max()), int(b.y.max()), 1) + 1
            start = _small_network(halves_a[0].x.shape[1], num_classes)
        for sign in (1, -1):
            net = copy.deepcopy(start).to(a.x.device)
            optimizer = torch.optim.AdamW(net.parameters(), lr=learning_rate)
            net.train()
            for _ in range(steps):
                batch_a, batch_b = (each[0].draw(batch_size, generator) for each in (halves_a, halves_b))
                gap = _batch_gap(net, batch_a, batch_b, loss_bound)
                optimizer.zero_grad()
                (-sign * gap).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            training, held_out = (
                _gap(net, of_a, of_b, loss_bound) for of_a, of_b in zip(halves_a, halves_b, strict=True)
            )
            signed.append((sign * held_out[0], held_out[1], sign * training[0]))
    value, error, _ = max(signed)
    up, down = signed
    return Discrepancy(max(value, 0.0), error, gaps=(up[0], down[0]), training_gaps=(up[2], down[2]))


def _batch_gap(net: nn.Module, a: _Labelled, b: _Labelled, loss_bound: float | None) -> Tensor:
    """risk_a - risk_b on two batches, in one pass, so that batch norm cannot tell them apart."""
    losses = _bounded_loss(net(torch.cat((a.x, b.x))), torch.cat((a.y, b.y)), loss_bound)
    return losses[: len(a.y)].mean() - losses[len(a.y) :].mean()


class _Labelled(NamedTuple):
    """Samples (N, ...) and their labels (N,)."""

    x: Tensor
    y: Tensor

    def halves(self, generator: torch.Generator) -> tuple[_Labelled, _Labelled]:
        order = torch.randperm(len(self.y), generator=generator)
        first, second = order.tensor_split(2)
        return _Labelled(self.x[first], self.y[first]), _Labelled(self.x[second], self.y[second])

    def draw(self, count: int, generator: torch.Generator) -> _Labelled:
        rows = torch.randint(len(self.y), (count,), generator=generator)
        return _Labelled(self.x[rows], self.y[rows])


def _labelled(x: ArrayLike, y: ArrayLike, name: str) -> _Labelled:
    """Either set as tensors, once it can be halved and judged."""
    samples = torch.as_tensor(x if isinstance(x, Tensor) else np.asarray(x)).float()
    labels = torch.as_tensor(y if isinstance(y, Tensor) else np.asarray(y)).to(samples.device)
    if samples.ndim < 2 or labels.shape != samples.shape[:1] or len(labels) < 4:
        raise DataError(
            f"x_{name} has shape {tuple(samples.shape)} and y_{name} {tuple(labels.shape)}, expected "
            "(N, ...) and (N,) with N of at least 4: each half needs two samples"
        )
    if labels.is_floating_point() or labels.min() < 0:
        raise DataError(f"y_{name} holds negative or broken numbers, expected indices of classes from 0 on")
    if not samples.isfinite().all():
        raise DataError(f"x_{name} holds NaN or infinite values, expected finite ones: fill or drop them")
    return _Labelled(samples, labels.long())


_Halves: TypeAlias = tuple[_Labelled, _Labelled]


def _standardised(a: _Halves, b: _Halves) -> tuple[_Halves, _Halves]:
    """All samples flattened, and scaled by what both training halves show; constant columns become 0."""
    seen = torch.cat((a[0].x, b[0].x)).flatten(1)
    mean, spread = seen.mean(0), seen.std(0)
    scale = torch.where(spread > 0, 1 / spread, 0.0)

    def convert(samples: _Labelled) -> _Labelled:
        return _Labelled((samples.x.flatten(1) - mean) * scale, samples.y)

    return (convert(a[0]), convert(a[1])), (convert(b[0]), convert(b[1]))


def _small_network(inputs: int, num_classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, num_classes)
    )


def _bounded_loss(logits: Tensor, target: Tensor, loss_bound: float | None) -> Tensor:
    """1 - Q_y in [0, 1], or cross entropy bent smoothly to end at `loss_bound`; one a sample."""
    cross_entropy = F.cross_entropy(logits.float(), target, reduction="none")
    if loss_bound is None:
        return -torch.expm1(-cross_entropy)
    most = torch.full_like(cross_entropy, -loss_bound)
    return -torch.logaddexp(most, math.log(-math.expm1(-loss_bound)) - cross_entropy)


@torch.no_grad()
def _gap(net: nn.Module, a: _Labelled, b: _Labelled, loss_bound: float | None) -> tuple[float, float]:
    """risk_a - risk_b of a network, and its standard error."""
    net.eval()
    risks, variances = [], []
    for samples in (a, b):
        losses = torch.cat(
            [
                _bounded_loss(net(x), y, loss_bound)
                for x, y in zip(torch.split(samples.x, 4096), torch.split(samples.y, 4096), strict=True)
            ]
        ).double()
        risks.append(float(losses.mean()))
        variances.append(float(losses.var()) / len(losses))
    return risks[0] - risks[1], math.sqrt(sum(variances))
