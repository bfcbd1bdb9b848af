"""Held-out class probabilities: what networks that never saw a sample say of it.

Repeated stratified folds, all of them trained at once as one stack of small networks (one batched
matrix product a layer), predictions averaged over epochs and repeats. Averaging over epochs is worth
about four points of AUROC over the last epoch alone: early epochs have not yet fitted wrong labels.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graylearn.losses import gray_loss

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HIDDEN = 128
DROPOUT = 0.2
_CHUNK = 4096


def stratified_folds(label: Ints, folds: int, repeats: int, seed: int) -> Ints:
    """(repeats, N) which fold each sample is held out in; every class is dealt round the folds."""
    random = np.random.default_rng(seed)
    fold = np.empty((repeats, len(label)), dtype=np.int64)
    for row in fold:
        dealt = 0  # goes on from class to class, so that folds stay even where classes are tiny
        for k in np.unique(label):
            members = random.permutation(np.flatnonzero(label == k))
            row[members] = (np.arange(len(members)) + dealt) % folds
            dealt += len(members)
    return fold


class _Stack:
    """M networks of two hidden layers side by side; weights are (M, in, out)."""

    def __init__(
        self, models: int, inputs: int, classes: int, generator: torch.Generator, device: torch.device
    ) -> None:
        self.generator = generator
        self.parameters: list[Tensor] = []
        for fan_in, fan_out in ((inputs, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, classes)):
            bound = 1.0 / math.sqrt(fan_in)
            for rows in (fan_in, 1):
                drawn = torch.rand(models, rows, fan_out, generator=generator, device=device)
                self.parameters.append(((drawn * 2 - 1) * bound).requires_grad_())

    def __call__(self, x: Tensor, *, train: bool) -> Tensor:
        """Logits (M, N, K) of inputs (M, N, D)."""
        for layer in range(3):
            x = torch.baddbmm(self.parameters[2 * layer + 1], x, self.parameters[2 * layer])
            if layer < 2:
                x = torch.relu(x)
                if train:
                    kept = torch.rand(x.shape, generator=self.generator, device=x.device) >= DROPOUT
                    x = x * (kept / (1.0 - DROPOUT))
        return x


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
    epochs: int = 20,
    weight: Floats | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Floats:
    """(N, K) class probabilities from `repeats` x `folds` networks, each asked about what it did not see.

    features: (N, D), standardised. weight: (N,) of each sample in training. Two folds are enough: three
    repeats of two cost less than one round of five, and their average is better. Small sets get more
    epochs, so that every network takes at least 160 steps.
    """
    device = torch.device(device)
    generator = torch.Generator(device).manual_seed(seed)
    x = torch.as_tensor(np.ascontiguousarray(features, dtype=np.float32), device=device)
    y = torch.as_tensor(label, device=device)
    fold = stratified_folds(label, folds, repeats, seed)
    held = [np.flatnonzero(row == f) for row in fold for f in range(folds)]
    seen = [np.flatnonzero(row != f) for row in fold for f in range(folds)]
    models = len(held)
    train_rows, held_rows = _padded(seen, device), _padded(held, device)
    n = train_rows.shape[1]
    batch = int(np.clip(2 ** round(math.log2(max(n, 1) / 10)), 16, 128))
    steps = math.ceil(n / batch)
    epochs = max(epochs, math.ceil(160 / steps))
    stack = _Stack(models, x.shape[1], num_classes, generator, device)
    optimizer = torch.optim.AdamW(
        stack.parameters, lr=1e-3 * math.sqrt(batch / 32), weight_decay=1e-2, fused=True
    )
    sample_weight = None if weight is None else torch.as_tensor(weight, dtype=torch.float32, device=device)

    total = torch.zeros(models, held_rows.shape[1], num_classes, device=device)
    taken = 0
    for epoch in range(epochs):
        order = torch.rand(models, n, generator=generator, device=device).argsort(dim=1)
        shuffled = train_rows.gather(1, order)
        for start in range(0, n, batch):
            rows = shuffled[:, start : start + batch]
            target = y[rows]
            logits = stack(x[rows], train=True)
            loss = gray_loss(logits.flatten(0, 1), target.flatten(), reduction="none").view_as(target)
            if sample_weight is not None:
                loss = loss * sample_weight[rows]
            optimizer.zero_grad(set_to_none=True)
            loss.mean(dim=1).sum().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        if epoch % 2 == 1 or epoch == epochs - 1:
            taken += 1
            with torch.no_grad():
                for start in range(0, held_rows.shape[1], _CHUNK):
                    rows = held_rows[:, start : start + _CHUNK]
                    total[:, start : start + _CHUNK] += stack(x[rows], train=False).softmax(-1)

    mean = np.zeros((len(label), num_classes))
    for rows_held, probability in zip(held, total.double().cpu().numpy(), strict=True):
        mean[rows_held] += probability[: len(rows_held)]
    return np.asarray(mean / (taken * repeats))
