"""Views: what each sample looks like without its own label, in closed form.

Neighbours, kernel ridge regression left one out, class centres, and random trees out of bag. Each gives class
probabilities (N, K); together with distances they are what evidence is made of.
Nothing is trained by gradient and nothing is drawn by a seed: landmarks and trees are drawn by a hash of the
samples' content, so that another order of rows, or a few rows more, draws the same.

Samples of one group never say anything of one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from graylearn.array_types import Floats, Ints
from graylearn.audit.forest import forest_votes
from graylearn.audit.near import Near, nearest
from graylearn.audit.scaling import row_blocks
from graylearn.progress import tell

LANDMARKS = 400
WIDTHS = (1.0, 0.15)
"""Of the kernel, in median squared distances between landmarks: the second sees the fine print of a table."""
RIDGES = (1e-2, 1e-1, 1.0, 10.0, 100.0)
SHARPNESS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)
FITTED = 50_000
"""Samples that regressions, centres and trees are made from at most, the first by their hash."""
CHOSEN = 4_000
"""Rows on which ridge, width and sharpness are chosen."""
TRIM, ROUNDS = 0.7, 8
"""Share of a label's samples that its centre is made of, and rounds of choosing them."""
FOLDS = 10
"""Of groups, each of which a regression is asked about without it."""


@dataclass(frozen=True)
class Rows:
    """N different samples that bear one of K labels, as the views are asked about them."""

    x: NDArray[np.float32]
    """(N, D) scaled features."""
    y: Ints
    """(N,) labels, index in the classes."""
    num_classes: int
    draw: Floats
    """(N,) a number in [0, 1) from the content of each, by which samples are drawn."""
    weight: Floats
    """(N,) how many samples each stands for: 1, and more where equal rows are no copies."""
    group: Ints | None = None
    """(N,) what samples belong to that say nothing of one another."""

    def __len__(self) -> int:
        return len(self.y)

    def without_features(self) -> Rows:
        """The same samples, of which nothing is known but their labels."""
        return replace(self, x=np.zeros((len(self), 0), np.float32), weight=np.ones(len(self)))

    @property
    def priors(self) -> Floats:
        """(K,) share of each label, drawn a little towards even ones."""
        count = np.bincount(self.y, self.weight, minlength=self.num_classes) + 0.5
        return np.asarray(count / count.sum())

    def fitted(self) -> Ints:
        """The rows that regressions, centres and trees are made from, in order: the first by their draw."""
        if len(self) <= FITTED:
            return np.arange(len(self))
        return np.sort(np.argpartition(self.draw, FITTED)[:FITTED])


@dataclass(frozen=True)
class Views:
    """What the views say of N samples."""

    opinions: Mapping[str, Floats]
    """(N, K) class probabilities by name: "neighbours", "kernel", "centre", "trees"."""
    columns: Mapping[str, Floats]
    """(N,) by name, larger = farther from everything: see `look`."""
    near: Near
    """The nearest."""


def look(rows: Rows) -> Views:
    """Ask every view about samples of which none is another's copy."""
    near = nearest(rows.x, rows.group, rows.draw)
    opinions = {"neighbours": votes(near, rows)}
    columns = {"away": np.log(near.distance.mean(axis=1) + 1e-6), "thin": _thin(near)}
    opinions["kernel"], columns["kernel is silent"] = kernel_ridge(rows)
    opinions["centre"], columns["off centre"], columns["off own centre"], columns["next centre"] = (
        class_centres(rows)
    )
    columns["off any class"], columns["off own class"], columns["next class"] = class_distances(rows)
    opinions["trees"] = forest_votes(
        rows.x, rows.y, rows.num_classes, rows.draw, rows.weight, rows.fitted(), rows.group
    )
    return Views(opinions, columns, near)


def votes(near: Near, rows: Rows) -> Floats:
    """(N, K) labels of the nearest, closer ones counting more, drawn to the labels' shares by half a vote."""
    n, k = near.index.shape
    share = np.tile(0.5 * rows.priors, (n, 1))
    if k == 0:
        return np.asarray(2.0 * share)
    scale = near.distance.mean(axis=1, keepdims=True) + 1e-12
    weight = np.exp(-near.distance / scale) + 1e-3
    weight *= rows.weight[near.index]
    weight *= k / np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)
    every = np.arange(n)
    for column in range(k):  # one neighbour of each at a time: no cell twice
        share[every, rows.y[near.index[:, column]]] += weight[:, column]
    own = rows.weight - 1.0  # equal rows of the same label that are no copies
    share[every, rows.y] += own
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def _thin(near: Near) -> Floats:
    """(N,) how much farther its neighbours are than they are from their own, as a logarithm."""
    if near.index.shape[1] == 0:
        return np.zeros(len(near.index))
    mean = np.log(near.distance.mean(axis=1) + 1e-6)
    return np.asarray(mean - mean[near.index].mean(axis=1))


# A regression on landmarks.


def _squared(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    square = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * (a @ b.T)
    return np.asarray(np.maximum(square, 0.0, out=square))


def _eigen(symmetric: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues and vectors, on one thread: of so few columns several are no faster, and on a busy machine
    they wait for one another, up to a hundred times as long."""
    with threadpool_limits(1):
        value, vector = np.linalg.eigh(symmetric)
    return value, vector


def _landmarks(x: NDArray[np.float32], draw: Floats, width: float) -> Callable[..., NDArray[np.float32]]:
    """The map of rows to columns whose inner products approximate a Gaussian kernel (Nystroem)."""
    chosen = x[np.argsort(draw, kind="stable")[:LANDMARKS]]
    between = _squared(chosen, chosen).astype(np.float64)
    off = between[np.triu_indices(len(chosen), 1)]
    size = float(np.median(off)) if len(off) else 1.0
    size = width * (size if size > 0 else 1.0)
    value, vector = _eigen(np.exp(-between / size))
    kept = value > value.max() * 1e-6
    weight = (vector[:, kept] / np.sqrt(value[kept])).astype(np.float32)

    def columns(rows: NDArray[np.float32]) -> NDArray[np.float32]:
        square = _squared(rows, chosen)
        square /= np.float32(-size)
        return np.asarray(np.exp(square, out=square) @ weight)

    return columns


def kernel_ridge(rows: Rows) -> tuple[Floats, Floats]:
    """(N, K) class probabilities of a kernel ridge regression on all others, and (N,) how silent it is.

    A regression is silent where no landmark is near: it then expects no class above another.
    """
    fitted = rows.fitted()
    y, weight = rows.y[fitted], rows.weight[fitted]
    best: tuple[float, _Ridge, float] | None = None
    for width in WIDTHS:
        columns = _landmarks(rows.x[fitted], rows.draw[fitted], width)
        ridge = _Ridge(columns(rows.x[fitted]), y, rows.num_classes, weight, _of(rows.group, fitted))
        for value in RIDGES:
            error = ridge.error(value)
            if best is None or error < best[0]:
                best = error, ridge, value
                chosen = columns
        tell("kernel regression", WIDTHS.index(width) + 1, len(WIDTHS) + 1)
    assert best is not None
    _, ridge, value = best
    raw = np.empty((len(rows), rows.num_classes), dtype=np.float32)
    if len(fitted) < len(rows):
        slopes = ridge.slopes(value)
        for part in row_blocks(len(rows), LANDMARKS + rows.num_classes):
            raw[part] = chosen(rows.x[part]) @ slopes
    raw[fitted] = ridge.without_itself(value)
    some = fitted[:: max(1, len(fitted) // CHOSEN)]
    sharp = _sharpest(raw[some], rows.y[some])
    silent = -np.log(np.maximum(np.sqrt(((raw - raw.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)), 1e-4))
    return softmax(sharp * raw.astype(np.float64)), np.asarray(silent, dtype=np.float64)


def _of(group: Ints | None, rows: Ints) -> Ints | None:
    return None if group is None else group[rows]


def _folds(group: Ints | None) -> list[NDArray[np.bool_]]:
    """(N,) for each part of the groups, which samples are in it; nothing if each sample stands alone."""
    if group is None:
        return []
    number = np.unique(group, return_inverse=True)[1]
    return [number % FOLDS == fold for fold in range(FOLDS)]


class _Ridge:
    """Ridge regressions of columns (n, M) on labels, which share their sums; each row is left out."""

    def __init__(
        self, columns: NDArray[np.float32], y: Ints, num_classes: int, weight: Floats, group: Ints | None
    ) -> None:
        self.y, self.num_classes = y, num_classes
        target = np.full((len(y), num_classes), -1.0 / num_classes, dtype=np.float32)
        target[np.arange(len(y)), y] += 1.0
        heavy = columns * weight[:, None].astype(np.float32)
        gram = (heavy.T @ columns).astype(np.float64)
        self.target = target
        self.moment = heavy.T @ target
        self.gram = gram
        self.value, turn = _eigen(gram)
        self.turn = turn.astype(np.float32)
        self.rotated = columns @ self.turn
        self.square = self.rotated**2
        self.folds = _folds(group)
        if self.folds:
            self.columns, self.heavy = columns, heavy

    def _shrunk(self, ridge: float) -> NDArray[np.float32]:
        return np.asarray(1.0 / (np.maximum(self.value, 0.0) + ridge), dtype=np.float32)

    def slopes(self, ridge: float) -> NDArray[np.float32]:
        """(M, K)."""
        return np.asarray(self.turn @ ((self.turn.T @ self.moment) * self._shrunk(ridge)[:, None]))

    def without_itself(self, ridge: float, some: slice | Ints = slice(None)) -> NDArray[np.float32]:
        """(n, K) what is predicted of each row from all others, or from the groups of other folds."""
        if self.folds:
            found = np.empty_like(self.target)
            for out in self.folds:
                gram = self.gram - self.heavy[out].T.astype(np.float64) @ self.columns[out]
                moment = self.moment - self.heavy[out].T @ self.target[out]
                slopes = np.linalg.solve(gram + ridge * np.eye(len(gram)), moment.astype(np.float64))
                found[out] = self.columns[out] @ slopes.astype(np.float32)
            return found[some]
        shrunk = self._shrunk(ridge)
        leverage = np.minimum(self.square[some] @ shrunk, 0.999)[:, None]
        turned = (self.turn.T @ self.moment) * shrunk[:, None]
        return np.asarray((self.rotated[some] @ turned - leverage * self.target[some]) / (1.0 - leverage))

    def error(self, ridge: float) -> float:
        """Mean squared error on rows left out."""
        some = slice(None, None, max(1, len(self.y) // CHOSEN))
        return float(((self.without_itself(ridge, some) - self.target[some]) ** 2).mean(dtype=np.float64))


def softmax(z: Floats) -> Floats:
    """Rows of sum one; z is overwritten."""
    z -= z.max(axis=1, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    return z


def _sharpest(raw: NDArray[np.float32], y: Ints) -> float:
    """The sharpness under which softmax makes the labels most likely."""
    likelihood = []
    for sharp in SHARPNESS:
        p = softmax(sharp * raw.astype(np.float64))[np.arange(len(y)), y]
        likelihood.append(float(np.log(0.99 * p + 0.01 / raw.shape[1]).sum()))
    return SHARPNESS[int(np.argmax(likelihood))]


# Class centres.


def _sums(x: NDArray[np.float32], y: Ints, weight: Floats, num_classes: int) -> NDArray[np.float32]:
    """(K, D) weighted sum of the rows of each label."""
    order = np.argsort(y, kind="stable")
    count = np.bincount(y, minlength=num_classes)
    total = np.zeros((num_classes, x.shape[1]), dtype=np.float32)
    there = np.flatnonzero(count)
    if len(there):
        first = (np.cumsum(count) - count)[there]
        heavy = x[order] * weight[order, None].astype(np.float32)
        total[there] = np.add.reduceat(heavy, first, axis=0)
    return total


def unit_rows(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length one; rows of zeros stay."""
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))


def _closest(nearness: Floats, y: Ints) -> NDArray[np.bool_]:
    """(N,) which are among the `TRIM` of their label's samples that are nearest."""
    order = np.lexsort((-nearness, y))
    count = np.bincount(y)
    rank = np.empty(len(y), dtype=np.int64)
    rank[order] = np.arange(len(y)) - (np.cumsum(count) - count)[y[order]]
    return np.asarray(rank < np.ceil(TRIM * count)[y])


def _own_cosine(unit: NDArray[np.float32], total: NDArray[np.float32], y: Ints, without: Floats) -> Floats:
    """(N,) cosine to the sum of the own label, with so much of the sample itself taken out of it."""
    direction = total[y] - unit * without[:, None].astype(np.float32)
    length = np.maximum(np.linalg.norm(direction, axis=1), 1e-12)
    return np.asarray(np.einsum("nd,nd->n", unit, direction) / length)


def class_centres(rows: Rows) -> tuple[Floats, Floats, Floats, Floats]:
    """(N, K) class probabilities by the angle to each label's trimmed centre, and (N,) how far the nearest
    centre is, the own one without the sample itself, and from the own one the next."""
    fitted = rows.fitted()
    unit, y = unit_rows(rows.x[fitted]), rows.y[fitted]
    weight = np.ones(len(y))
    total = _sums(unit, y, weight, rows.num_classes)
    for _ in range(ROUNDS):
        weight = _closest(_own_cosine(unit, total, y, weight), y).astype(np.float64)
        total = _sums(unit, y, weight, rows.num_classes)
    direction = unit_rows(total)
    cosine = np.empty((len(rows), rows.num_classes), dtype=np.float32)
    for part in row_blocks(len(rows), rows.x.shape[1] + rows.num_classes):
        cosine[part] = unit_rows(rows.x[part]) @ direction.T
    cosine[fitted, y] = _own_cosine(unit, total, y, weight)
    for out in _folds(_of(rows.group, fitted)):
        rest = total - _sums(unit[out], y[out], weight[out], rows.num_classes)
        cosine[fitted[out]] = unit[out] @ unit_rows(rest).T
    some = fitted[:: max(1, len(fitted) // CHOSEN)]
    sharp = _sharpest(cosine[some], rows.y[some])
    own = cosine[np.arange(len(rows)), rows.y].astype(np.float64)
    off = -cosine.max(axis=1).astype(np.float64)
    alike = np.where(total.any(axis=1), direction @ direction.T, -1.0)
    np.fill_diagonal(alike, -1.0)
    following = -alike.max(axis=1).astype(np.float64)[rows.y]
    return softmax(sharp * cosine.astype(np.float64)), off, -own, following


def class_distances(rows: Rows) -> tuple[Floats, Floats, Floats]:
    """(N,) distance to the nearest trimmed class mean, to the own one, and from it to the next, in spreads.

    One spread for all classes, drawn towards a round one the fewer samples there are for each column; what a
    sample itself adds to mean and spread is taken out again.
    """
    fitted = rows.fitted()
    x, y = rows.x[fitted], rows.y[fitted]
    n, d = x.shape
    shrink = d / (d + 0.2 * n)
    weight = np.ones(n)
    for _ in range(3):
        count = np.bincount(y, weight, minlength=rows.num_classes)
        centre = _sums(x, y, weight, rows.num_classes) / np.maximum(count, 1)[:, None].astype(np.float32)
        offset = (x - centre[y]) * np.sqrt(weight)[:, None].astype(np.float32)
        spread = (offset.T @ offset).astype(np.float64) / max(float(weight.sum()), 1.0)
        size = max(float(np.trace(spread)) / d, 1e-12)
        spread = (1.0 - shrink) * spread + shrink * size * np.eye(d)
        white: NDArray[np.float32] = np.asarray(np.linalg.inv(np.linalg.cholesky(spread)).T, np.float32)
        own = (((x - centre[y]) @ white) ** 2).sum(axis=1)
        used, weight = weight, _closest(-own, y).astype(np.float64)
    away, mine = np.empty(len(rows)), np.empty(len(rows))
    white_centre: NDArray[np.float32] = np.asarray((centre @ white)[count > 0], dtype=np.float32)
    place = np.cumsum(count > 0) - 1
    among = np.zeros(len(rows))
    among[fitted] = used
    for part in row_blocks(len(rows), d + rows.num_classes):
        square = _squared(rows.x[part] @ white, white_centre)
        own_row = np.arange(len(square)), place[rows.y[part]]
        c = np.maximum(count[rows.y[part]], 2.0)
        inside = square[own_row] * (1.0 - shrink) / max(float(used.sum()), 1.0)
        left = (c / (c - 1.0)) ** 2 / np.maximum(1.0 - inside, 0.05)
        square[own_row] *= np.where(among[part] > 0, left, 1.0)
        away[part], mine[part] = square.min(axis=1), square[own_row]
    for out in _folds(_of(rows.group, fitted)):
        left = count - np.bincount(y[out], used[out], minlength=rows.num_classes)
        known = np.maximum(np.cumsum(left > 0) - 1, 0)
        rest = (_sums(x, y, used, rows.num_classes) - _sums(x[out], y[out], used[out], rows.num_classes))[
            left > 0
        ]
        means = rest / left[left > 0, None].astype(np.float32)
        square = _squared(x[out] @ white, np.asarray(means @ white, dtype=np.float32))
        own = square[np.arange(len(square)), known[y[out]]]
        away[fitted[out]] = square.min(axis=1)
        mine[fitted[out]] = np.where(left[y[out]] > 0, own, square.max(axis=1))
    between = _squared(white_centre, white_centre)
    np.fill_diagonal(between, np.inf)
    following = np.minimum(between.min(axis=1), 1e12)[place[rows.y]]
    return np.log(away / d + 1e-6), np.log(mine / d + 1e-6), np.log(following / d + 1e-6)
