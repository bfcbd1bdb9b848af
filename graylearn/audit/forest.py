"""Random trees, asked about the samples that each of them did not see.

Each tree sees about half of the samples. A node is cut at a random value of a random column, the best of a
few such cuts by how pure it leaves the labels; a sample is voted on by the leaves it falls into of trees that
did not see it. Everything is drawn by hashes of the tree, of the node's place and of the samples' content.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from graylearn.array_types import Floats, Ints
from graylearn.audit.progress import tell

TREES = 48
LEAF = 5
"""Samples that a tree saw in a node from which on it is not cut."""
DEPTH = 24
COLOURS = 16
"""Classes that a tree tells apart: with more, some share a colour, in each tree others."""
MOST_CUTS = 12
_AT_ONCE = 1 << 21
"""Rows of all trees worked on at once."""


def hashed(*keys: NDArray[np.int64] | NDArray[np.uint64] | int) -> NDArray[np.uint64]:
    """Keys mixed into one number each, as good as drawn (the finishing steps of SplitMix64)."""
    z = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        for key in keys:
            z = (np.asarray(key).astype(np.uint64) + z) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(27))
    return np.asarray(z)


def uniform(number: NDArray[np.uint64]) -> Floats:
    """[0, 1) of hashed numbers."""
    return np.asarray((number >> np.uint64(11)).astype(np.float64) / float(1 << 53))


def forest_votes(
    x: NDArray[np.float32], y: Ints, num_classes: int, draw: Floats, weight: Floats, fitted: Ints,
    group: Ints | None = None,
) -> Floats:  # fmt: skip
    """(N, K) votes of the trees that did not see a sample, drawn to the labels' shares by half a vote.

    fitted: the rows that trees may see. group: (N,), where trees see whole groups or nothing of them.
    """
    n = len(x)
    content = (draw * float(1 << 53)).astype(np.uint64)
    unit = content if group is None else np.asarray(group).astype(np.uint64)
    may = np.zeros(n, dtype=bool)
    may[fitted] = True
    total = np.zeros((n, num_classes))
    asked = np.zeros(n)
    together = max(1, min(TREES, _AT_ONCE // max(n, 1)))
    for first in range(0, TREES, together):
        trees = np.arange(first, min(first + together, TREES))
        seen = uniform(hashed(trees[:, None], unit[None])) < 0.5
        seen &= may
        _grow(x, y, num_classes, trees, seen, weight, content, total, asked)
        tell("trees", first, TREES)
    prior = np.bincount(y, weight, minlength=num_classes) + 0.5
    prior /= prior.sum()
    own = weight - 1.0  # equal rows of the same label that are no copies: beside a leaf of about LEAF
    votes = total / np.maximum(asked, 1)[:, None] * LEAF
    votes[np.arange(n), y] += own
    votes += 0.5 * prior
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _grow(
    x: NDArray[np.float32], y: Ints, num_classes: int, trees: Ints, seen: NDArray[np.bool_], weight: Floats,
    content: NDArray[np.uint64], total: Floats, asked: Floats,
) -> None:  # fmt: skip
    """Grow trees level by level, all at once, and add what their leaves say of samples that they did not see.

    A pair is a tree and a sample; pairs lie in the order of their nodes.
    """
    n, d = x.shape
    cuts = max(2, min(MOST_CUTS, math.ceil(math.sqrt(d)), d))
    sample = np.tile(np.arange(n), len(trees))
    saw = seen.ravel()
    colours = np.arange(num_classes)[None].repeat(len(trees), 0)
    if num_classes > COLOURS:
        colours = (hashed(trees[:, None], np.arange(num_classes)[None], 7) % np.uint64(COLOURS)).astype(
            np.int64
        )
    tree = np.repeat(np.arange(len(trees)), n)
    colour = colours[tree, y[sample]]
    width = min(num_classes, COLOURS)
    count = np.where(saw, weight[sample], 0.0)
    begin = np.arange(len(trees)) * n  # of each open node, in the pairs
    size = np.full(len(trees), n)
    name = hashed(trees, 1)
    for depth in range(DEPTH + 1):
        if not len(begin):
            break
        node = np.repeat(np.arange(len(begin)), size)
        # what each node holds of what its tree saw
        holds = np.bincount(node * width + colour, count, minlength=len(begin) * width).reshape(-1, width)
        sees = np.bincount(node[saw], minlength=len(begin))
        done = (sees <= LEAF) | ((holds > 0).sum(axis=1) <= 1) & (num_classes <= COLOURS) | (depth == DEPTH)
        best = np.full(len(begin), -np.inf)
        right = np.zeros(len(sample), dtype=bool)
        open_ = np.flatnonzero(~done)
        if len(open_):
            pair_open = ~done[node]
            rows, of = sample[pair_open], (np.cumsum(~done) - 1)[node[pair_open]]
            n_open = len(open_)
            weights, paint = count[pair_open], colour[pair_open]
            held = holds[open_]
            all_ = held.sum(axis=1)
            side = np.zeros(len(rows), dtype=bool)
            gain = np.full(n_open, -np.inf)
            for cut in range(cuts):
                column = (hashed(name[open_], cut, 2) % np.uint64(d)).astype(np.int64)
                pick = begin[open_] + (uniform(hashed(name[open_], cut, 3)) * size[open_]).astype(np.int64)
                level = x[sample[pick], column]
                value = x[rows, column[of]]
                goes = value > level[of]
                part = np.bincount(of * width + paint, weights * goes, minlength=n_open * width).reshape(
                    -1, width
                )
                r = part.sum(axis=1)
                rest = held - part
                left = all_ - r
                with np.errstate(divide="ignore", invalid="ignore"):
                    score = (part**2).sum(axis=1) / r + (rest**2).sum(axis=1) / left
                score[(r <= 0) | (left <= 0)] = -np.inf
                better = score > gain
                gain = np.where(better, score, gain)
                side = np.where(better[of], goes, side)
            right[pair_open] = side
            best[open_] = gain
        done |= ~np.isfinite(best)
        ended = done[node]
        _vote(
            sample[ended],
            y,
            num_classes,
            np.where(saw, weight[sample], 0.0)[ended],
            saw[ended],
            node[ended],
            total,
            asked,
        )
        kept = ~ended
        sample, saw, colour, count, node, right = (a[kept] for a in (sample, saw, colour, count, node, right))
        key = 2 * node + right
        order = np.argsort(key, kind="stable")
        sample, saw, colour, count, key = (a[order] for a in (sample, saw, colour, count, key))
        there, begin, size = np.unique(key, return_index=True, return_counts=True)
        name = hashed(name[there // 2], there % 2, 5)


def _vote(
    sample: Ints, y: Ints, num_classes: int, count: Floats, saw: NDArray[np.bool_], node: Ints, total: Floats,
    asked: Floats,
) -> None:  # fmt: skip
    """Add the shares of labels of what a tree saw in each leaf to the samples there that it did not see."""
    if not len(sample):
        return
    leaves = int(node.max()) + 1
    seen = np.bincount(node, count, minlength=leaves)
    told = ~saw & (seen[node] > 0)
    if not told.any():
        return
    labels = csr_matrix(
        (count[saw] / seen[node[saw]], (node[saw], y[sample[saw]])), shape=(leaves, num_classes)
    )
    asks = csr_matrix((np.ones(told.sum()), (sample[told], node[told])), shape=(len(total), leaves))
    total += (asks @ labels).toarray() if num_classes * len(total) < 50_000_000 else (asks @ labels)
    asked += np.bincount(sample[told], minlength=len(total))
