"""Leave-one-out class probabilities from kernel ridge regression, in closed form.

A second opinion beside the network: it needs no folds, as the prediction for a sample left out follows
from the fit with it. A few hundred landmarks (Nystroem) keep the cost linear in the number of samples, and
rows are mapped and asked in blocks, so that memory holds the landmarks' view of one block at a time. A large
set is regressed on a part of its samples, and the others are asked as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import eigh
from torch import Tensor

from graylearn.array_types import Floats, Ints
from graylearn.audit.blocks import drawn, precision_for, row_blocks, sampled_blocks
from graylearn.audit.neighbours import squared_distance
from graylearn.audit.progress import tell

Rows = slice | Tensor
Columns = Callable[[Rows], Tensor]
"""Rows -> their (n, columns), whose inner products are the kernel."""

RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
SHARPNESS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)
LANDMARKS, FEW_LANDMARKS = 400, 160
"""Samples that all are compared with; the second in large sets of which a part says all."""
KEPT = 1 << 25
"""Values of all rows' columns up to which they are made once and kept: 128 MB."""


class Landmarks:
    """The map of rows of `features` to columns whose inner products approximate a Gaussian kernel.

    The kernel's width is the median squared distance between landmarks.
    """

    def __init__(
        self, features: NDArray[np.float32], device: torch.device | str = "cpu", count: int = LANDMARKS
    ) -> None:
        self.x = x = torch.as_tensor(np.ascontiguousarray(features, dtype=np.float32))
        chosen = x[torch.from_numpy(np.random.default_rng(0).permutation(len(x))[:count])]
        between = squared_distance(chosen, chosen).double().numpy()
        off_diagonal = between[np.triu_indices(len(chosen), 1)]
        width = float(np.median(off_diagonal)) if len(off_diagonal) else 1.0
        self.width = width if width > 0 else 1.0
        value, vector = eigh(np.exp(-between / self.width))
        kept = value > value.max() * 1e-6
        # The large products are in single precision, which is enough for votes; what is inverted is not.
        weight = (vector[:, kept] / np.sqrt(value[kept])).astype(np.float32)
        self.weight, self.chosen = torch.from_numpy(weight).to(device), chosen.to(device)

    def __call__(self, rows: Rows) -> Tensor:
        """(n, columns) of some rows."""
        return self.times(rows, self.weight)

    def by(self, rows: Rows, slopes: Tensor) -> Tensor:
        """(n, K) columns of some rows times slopes (columns, K), without making the columns."""
        return self.times(rows, self.weight @ slopes)

    def times(self, rows: Rows, weight: Tensor) -> Tensor:
        """(n, K) likeness of some rows to the landmarks times a weight (landmarks, K)."""
        square = squared_distance(self.x[rows].to(self.chosen.device), self.chosen)
        return square.mul_(-1.0 / self.width).exp_() @ weight


def kernel_probabilities(
    features: NDArray[np.float32],
    label: Ints,
    num_classes: int,
    device: torch.device | str = "cpu",
    landmarks: int = LANDMARKS,
) -> Floats:
    """`leave_one_out` of the landmarks' columns of features (N, D), in blocks, on any device.

    Of a large set, the samples that the regression did not see need not be left out of it.
    """
    columns = Landmarks(features, device, landmarks)
    some = drawn(label, num_classes)
    if some is None:
        return leave_one_out(columns, label, num_classes)[0]
    index = torch.from_numpy(some)
    own, slopes, sharpness = leave_one_out(lambda rows: columns(index[rows]), label[some], num_classes)
    found = np.empty((len(label), num_classes), dtype=precision_for(len(label) * num_classes))
    for rows in row_blocks(len(label), max(len(columns.chosen), num_classes)):
        tell("asking a kernel regression", rows.start, len(label))
        found[rows] = (sharpness * columns.by(rows, slopes).double()).softmax(1).cpu().numpy()
    found[some] = own
    return found


class _Ridges:
    """Ridge regressions of the columns on the labels, one for each of `RIDGES`, which share their sums."""

    def __init__(self, columns: Columns, label: Ints, num_classes: int) -> None:
        example = columns(slice(0, 1))
        n, d, kind, self.device = len(label), example.shape[1], example.dtype, example.device
        self.columns, self.num_classes, self.kind = columns, num_classes, kind
        self.y = torch.as_tensor(label).to(self.device)
        self.width = max(d, num_classes)
        """Numbers of a row that are held at once."""
        gram = torch.zeros(d, d, dtype=torch.float64)
        moment = torch.zeros(d, num_classes, dtype=kind, device=self.device)
        self.kept: Tensor | None = None
        if n * d <= KEPT:
            self.kept = torch.empty(n, d, dtype=kind, device=self.device)
        for rows in row_blocks(n, self.width):
            tell("fitting a kernel regression", rows.start, n)
            read = columns(rows)
            gram += (read.T @ read).double().cpu()
            moment += read.T @ self.target(rows)
            if self.kept is not None:
                self.kept[rows] = read
        value, vector = eigh(gram.numpy())
        self.turn = torch.from_numpy(vector).to(self.device, kind)
        self.moment = self.turn.T @ moment
        if self.kept is not None:
            for rows in row_blocks(n, self.width):
                self.kept[rows] = self.kept[rows] @ self.turn
        self.shrunk = [
            torch.from_numpy(1.0 / (np.maximum(value, 0.0) + ridge)).to(self.device, kind) for ridge in RIDGES
        ]

    def target(self, rows: slice) -> Tensor:
        """(n, K) what is regressed: 1 for the label of each row, less the mean of all classes."""
        own = self.y[rows]
        shape = (len(own), self.num_classes)
        found = torch.full(shape, -1.0 / self.num_classes, dtype=self.kind, device=self.device)
        found[torch.arange(len(own), device=self.device), own] += 1.0
        return found

    def outside(self, rows: slice, which: Sequence[int]) -> list[Tensor]:
        """What is predicted of these rows without them, (n, K) for each of some ridges."""
        rotated = self.columns(rows) @ self.turn if self.kept is None else self.kept[rows]
        wanted, square, found = self.target(rows), rotated**2, []
        for index in which:
            slopes = self.moment * self.shrunk[index][:, None]
            found.append(left_out(rotated, square, self.shrunk[index], slopes, wanted))
        return found

    def slopes(self, which: int) -> Tensor:
        """(columns, K) of one ridge."""
        return self.turn @ (self.moment * self.shrunk[which][:, None])


def left_out(rotated: Tensor, square: Tensor, shrunk: Tensor, slopes: Tensor, target: Tensor) -> Tensor:
    """(n, K) what a ridge regression predicts of each row without it, from the fit with it.

    rotated: (n, columns) along the eigenvectors of all rows' products; square: their squares. shrunk:
    (columns,) one over each eigenvalue and the ridge. slopes: (columns, K). target: (n, K).
    """
    leverage = (square @ shrunk).clamp_max(0.999)[:, None]
    return (rotated @ slopes - leverage * target) / (1.0 - leverage)


def leave_one_out(columns: Columns, label: Ints, num_classes: int) -> tuple[Floats, Tensor, float]:
    """(N, K) class probabilities of each sample, from a ridge regression of the columns on all the others;
    the regression's slopes (columns, K); and the sharpness of the softmax.

    The ridge is the one with the least squared error on the samples left out, and the sharpness the one under
    which their labels are most likely; large sets choose them on a part of the samples.
    """
    n, ridges = len(label), _Ridges(columns, label, num_classes)
    blocks = list(sampled_blocks(n, ridges.width))
    error = np.zeros(len(RIDGES))
    for rows in blocks:
        wanted, every = ridges.target(rows), ridges.outside(rows, range(len(RIDGES)))
        error += [float(((wanted - predicted) ** 2).sum(dtype=torch.float64)) for predicted in every]
    best = int(np.argmin(error))
    likelihood = np.zeros(len(SHARPNESS))
    for rows in blocks:
        predicted = ridges.outside(rows, [best])[0].double()
        own = predicted.gather(1, ridges.y[rows][:, None])[:, 0]
        likelihood += [
            float((s * own - (s * predicted).logsumexp(1)).exp().add(1e-12).log().sum()) for s in SHARPNESS
        ]
    sharpness = SHARPNESS[int(np.argmax(likelihood))]
    found = np.empty((n, num_classes), dtype=precision_for(n * num_classes))
    for rows in row_blocks(n, ridges.width):
        tell("leaving samples out of a kernel regression", rows.start, n)
        predicted = ridges.outside(rows, [best])[0].double()
        found[rows] = (sharpness * predicted).softmax(1).cpu().numpy()
    return found, ridges.slopes(best), sharpness
