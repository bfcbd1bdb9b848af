"""Random trees, asked about the samples that each of them did not see.

Each tree sees half of the samples, or about `SEEN`. A node is cut at a random value of a random column, the
best of a few such cuts by how pure it leaves the labels; a sample is voted on by the leaves it falls into of
trees that did not see it. Everything is drawn by hashes of the tree, of the node's place and of the samples'
content.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from graylearn.array_types import Floats, Ints
from graylearn.progress import tell

TREES = 48
LEAF = 5
"""Samples that a tree saw in a node from which on it is not cut."""
DEPTH = 24
COLOURS = 16
"""Classes that a tree tells apart: with more, some share a colour, in each tree others."""
MOST_CUTS = 12
SEEN = 2500
"""Samples that a tree sees at most, beside half of them."""
_AT_ONCE = 1 << 21
"""Pairs of a tree and a sample worked on at once."""


def hashed(*keys: NDArray[np.int64] | NDArray[np.uint64] | int) -> NDArray[np.uint64]:
    """Keys mixed into one number each, as good as drawn (the finishing steps of SplitMix64)."""
    z: NDArray[np.uint64] = np.asarray(0x9E3779B97F4A7C15, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for key in keys:
            z = np.asarray((np.asarray(key).astype(np.uint64) + z) * np.uint64(0xBF58476D1CE4E5B9))
            z = np.asarray((z ^ (z >> np.uint64(30))) * np.uint64(0x94D049BB133111EB))
            z = np.asarray(z ^ (z >> np.uint64(27)))
    return z


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
    share = min(0.5, SEEN / max(len(fitted), 1))
    total, asked = np.zeros((n, num_classes)), np.zeros(n)
    together = max(1, min(TREES, _AT_ONCE // max(n, 1)))
    for first in range(0, TREES, together):
        trees = np.arange(first, min(first + together, TREES))
        seen = np.zeros((len(trees), n), dtype=bool)
        seen[:, fitted] = uniform(hashed(trees[:, None], unit[None, fitted])) < share
        forest = _Forest(x, y, num_classes, trees, seen, weight)
        # as many trees vote on each sample of a large set as on one of a small set, where half of them see it
        voting = ~seen & (uniform(hashed(trees[:, None], unit[None], 11)) < 0.5 / (1.0 - share))
        forest.vote(x, voting, total, asked)
        tell("trees", first, TREES)
    prior = np.bincount(y, weight, minlength=num_classes) + 0.5
    prior /= prior.sum()
    votes = total / np.maximum(asked, 1)[:, None] * LEAF
    votes[np.arange(n), y] += weight - 1.0  # equal rows of the same label that are no copies
    votes += 0.5 * prior
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


class _Forest:
    """Some trees, grown level by level, all at once, on the pairs of a tree and a sample that it sees.

    Pairs lie in the order of their nodes.
    """

    def __init__(
        self, x: NDArray[np.float32], y: Ints, num_classes: int, trees: Ints, seen: NDArray[np.bool_],
        weight: Floats,
    ) -> None:  # fmt: skip
        self.levels: list[tuple[Ints, NDArray[np.float32], Ints]] = []
        """Of each level: the column and value that a node is cut at, and the node of the next level that its
        lower part is; -1 - leaf where the node is a leaf."""
        self.leaves: list[csr_matrix] = []
        """Shares of the labels in the leaves, (leaves, K), level by level."""
        self.num_leaves = 0
        d = x.shape[1]
        cuts = max(2, min(MOST_CUTS, math.ceil(math.sqrt(d)), d))
        tree, sample = np.nonzero(seen)
        colours = np.arange(num_classes)[None].repeat(len(trees), 0)
        if num_classes > COLOURS:
            drawn = hashed(trees[:, None], np.arange(num_classes)[None], 7) % np.uint64(COLOURS)
            colours = drawn.astype(np.int64)
        colour, width = colours[tree, y[sample]], min(num_classes, COLOURS)
        size = np.bincount(tree, minlength=len(trees))
        name = hashed(trees, 1)
        for depth in range(DEPTH + 1):
            if not len(size):
                break
            begin = np.cumsum(size) - size
            node = np.repeat(np.arange(len(size)), size)
            count = weight[sample]
            holds: Floats = np.asarray(
                np.bincount(node * width + colour, count, minlength=len(size) * width), dtype=np.float64
            ).reshape(-1, width)
            done = (size <= LEAF) | (depth == DEPTH)
            done |= ((holds > 0).sum(axis=1) <= 1) & (num_classes <= COLOURS)
            column, level, upper, done = self._cut(
                x, sample, colour, count, node, begin, size, name, holds, done, cuts
            )
            ended = done[node]
            self._leaf(y, num_classes, sample[ended], count[ended], np.cumsum(done) - 1, node[ended], done)
            kept = ~ended
            sample, colour, key = sample[kept], colour[kept], (2 * node + upper)[kept]
            order = np.argsort(key, kind="stable")
            sample, colour = sample[order], colour[order]
            size = np.bincount(key, minlength=2 * len(size)).reshape(-1, 2)[~done].ravel()
            below = np.where(
                done, -self.num_leaves + done.sum() - np.cumsum(done), 2 * (np.cumsum(~done) - 1)
            )
            self.levels.append((column, level, below))
            parent = np.repeat(name[~done], 2)
            name = hashed(parent, np.tile([0, 1], len(parent) // 2), 5)

    @staticmethod
    def _cut(
        x: NDArray[np.float32], sample: Ints, colour: Ints, count: Floats, node: Ints, begin: Ints,
        size: Ints, name: NDArray[np.uint64], holds: Floats, done: NDArray[np.bool_], cuts: int,
    ) -> tuple[Ints, NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]:  # fmt: skip
        """Column and value of each node's best cut, which pairs lie above it, and which nodes have none."""
        nodes, width = len(size), holds.shape[1]
        best = np.full(nodes, -np.inf)
        column, level = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.float32)
        upper = np.zeros(len(sample), dtype=bool)
        if not done.all():
            open_, pair = np.flatnonzero(~done), ~done[node]
            rows, of = sample[pair], (np.cumsum(~done) - 1)[node[pair]]
            code, weights = of * width + colour[pair], count[pair]
            held = holds[open_]
            all_, side, gain = held.sum(axis=1), np.zeros(len(rows), dtype=bool), np.full(len(open_), -np.inf)
            for cut in range(cuts):
                at = (hashed(name[open_], cut, 2) % np.uint64(x.shape[1])).astype(np.int64)
                pick = begin[open_] + (uniform(hashed(name[open_], cut, 3)) * size[open_]).astype(np.int64)
                value = x[sample[pick], at]
                goes = x[rows, at[of]] > value[of]
                part = np.bincount(code, weights * goes, minlength=len(open_) * width).reshape(-1, width)
                right = part.sum(axis=1)
                rest, left = held - part, all_ - right
                with np.errstate(divide="ignore", invalid="ignore"):
                    score = (part**2).sum(axis=1) / right + (rest**2).sum(axis=1) / left
                score[(right <= 0) | (left <= 1e-9)] = -np.inf
                better = score > gain
                gain = np.where(better, score, gain)
                side = np.where(better[of], goes, side)
                column[open_] = np.where(better, at, column[open_])
                level[open_] = np.where(better, value, level[open_])
            upper[pair] = side
            best[open_] = gain
        return column, level, upper, done | ~np.isfinite(best)

    def _leaf(
        self, y: Ints, num_classes: int, sample: Ints, count: Floats, number: Ints, node: Ints,
        done: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        """Keep the shares of labels in the nodes that are leaves."""
        leaves, leaf = int(done.sum()), number[node]
        seen = np.bincount(leaf, count, minlength=leaves)
        share = count / np.maximum(seen[leaf], 1e-12)
        self.leaves.append(csr_matrix((share, (leaf, y[sample])), shape=(leaves, num_classes)))
        self.num_leaves += leaves

    def vote(self, x: NDArray[np.float32], voting: NDArray[np.bool_], total: Floats, asked: Floats) -> None:
        """Add what the leaves say, of the samples that each tree votes on."""
        node, sample = np.nonzero(voting)
        leaf = np.full(len(sample), -1)
        walking = np.arange(len(sample))
        for column, level, below in self.levels:
            goes = x[sample[walking], column[node]] > level[node]
            next_ = below[node]
            ended = next_ < 0
            leaf[walking[ended]] = -1 - next_[ended]
            node = (next_ + goes)[~ended]
            walking = walking[~ended]
        shares = vstack(self.leaves).tocsr()
        asks = csr_matrix((np.ones(len(sample)), (sample, leaf)), shape=(len(total), shares.shape[0]))
        total += (asks @ shares).toarray()
        asked += np.bincount(sample, minlength=len(total))
