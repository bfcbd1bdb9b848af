"""The nearest of each sample, by angle.

Up to `EXACT` samples all pairs are compared. Beyond, samples are dealt to lists round centres, and those of
one list are compared with those of the lists nearest to it: N^1.5 instead of N^2. Beyond `KNOWN` samples,
neighbours are looked for among so many, the first by their draw: linear in N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints
from graylearn.progress import tell

NEIGHBOURS = 20
EXACT = 20_000
"""Samples up to which all pairs are compared."""
KNOWN = 60_000
"""Samples at most among which neighbours are looked for."""
PROBES = 6
"""Lists that a list's samples are compared with, its own included."""
OF_GROUP = 8
"""Times as many candidates if samples have groups: of each group the nearest counts before a second one, for
twenty frames of one video are one opinion."""
_BLOCK = 1 << 22
"""Likenesses held at once."""
_ROUNDS, _OF_LIST = 4, 32


@dataclass(frozen=True)
class Near:
    """The k nearest of N samples, none of them the sample itself or of its group."""

    index: Ints
    """(N, k)"""
    distance: Floats
    """(N, k), 1 - cosine."""


def number_of_neighbours(n: int) -> int:
    """20, less in small sets (N / 20, at least 3), and never all of the other samples."""
    return max(0, min(NEIGHBOURS, max(3, math.ceil(n / 20)), n - 1))


def nearest(x: NDArray[np.float32], group: Ints | None, draw: Floats) -> Near:
    """The nearest of scaled rows (N, D), by the angle at a point that lies off all of them.

    A column of ones puts it there: of few columns the angle then tells lengths apart, too, and of many, as of
    embeddings, it is the angle between the rows.
    """
    n = len(x)
    k = number_of_neighbours(n)
    unit = np.concatenate([x, np.ones((n, 1), dtype=np.float32)], axis=1)
    unit /= np.sqrt((unit**2).sum(axis=1))[:, None]
    near = np.zeros((n, k), dtype=np.int64), np.ones((n, k), dtype=np.float32)
    if k:
        for rows, asked in _pairs(unit, draw):
            _compare(unit, rows, asked, group, *near)
    return Near(near[0], near[1].astype(np.float64))


def _pairs(unit: NDArray[np.float32], draw: Floats):  # type: ignore[no-untyped-def]
    """Blocks of rows, each with the samples that they are compared with."""
    n = len(unit)
    if n <= EXACT:
        every = np.arange(n)
        step = max(1, _BLOCK // n)
        for start in range(0, n, step):
            tell("comparing neighbours", start, n)
            yield every[start : start + step], every
        return
    known = np.argsort(draw, kind="stable")[:KNOWN]
    is_known = np.zeros(n, dtype=bool)
    is_known[known] = True
    centres, home = _lists(unit, known)
    order = np.argsort(2 * home + ~is_known, kind="stable")
    size = np.bincount(home, minlength=len(centres))
    first = np.cumsum(size) - size
    count = np.bincount(home[is_known], minlength=len(centres))
    members = [order[a : a + c] for a, c in zip(first, count, strict=True)]
    like = centres @ centres.T
    np.fill_diagonal(like, 2.0)
    probes = np.argsort(-like, axis=1, kind="stable")[:, :PROBES]
    for number, listed in enumerate(probes):
        tell("comparing neighbours", number, len(probes))
        own = order[first[number] : first[number] + size[number]]
        asked = np.concatenate([members[each] for each in listed])
        if len(asked) <= 2 * NEIGHBOURS:
            asked = np.unique(np.concatenate([asked, known[: 4 * NEIGHBOURS]]))
        step = max(1, _BLOCK // max(len(asked), 1))
        for start in range(0, len(own), step):
            yield own[start : start + step], asked


def _compare(
    unit: NDArray[np.float32], rows: Ints, asked: Ints, group: Ints | None, index: Ints,
    distance: NDArray[np.float32],
) -> None:  # fmt: skip
    """Write the nearest of some rows among those asked."""
    values = -unit[rows] @ (unit if len(asked) == len(unit) else unit[asked]).T  # less the cosine
    values[rows[:, None] == asked if group is None else group[rows][:, None] == group[asked]] = np.inf
    k = min(index.shape[1], len(asked))
    found = _smallest(values, k if group is None else min(OF_GROUP * k, len(asked)))
    near = np.take_along_axis(values, found, axis=1)
    place = np.argsort(near, axis=1, kind="stable")
    if group is not None:
        place = _one_of_each(place, group[asked[np.take_along_axis(found, place, axis=1)]])[:, :k]
    index[rows[:, None], np.arange(k)] = asked[np.take_along_axis(found, place, axis=1)]
    distance[rows[:, None], np.arange(k)] = np.clip(np.take_along_axis(near, place, axis=1) + 1.0, 0.0, 3.0)


def _one_of_each(place: Ints, group: Ints) -> Ints:
    """The places (n, m), of which each has a group (n, m), the first of every group before all others."""
    order = np.argsort(group, axis=1, kind="stable")
    ordered = np.take_along_axis(group, order, axis=1)
    again = np.zeros(group.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return np.asarray(np.take_along_axis(place, np.argsort(again, axis=1, kind="stable"), axis=1))


def _smallest(values: NDArray[np.float32], k: int) -> Ints:
    """(n, k) places of the k smallest of each row (n, m), in any order.

    They lie in those k runs of a row whose smallest values are smallest, which leaves few to compare.
    """
    n, m = values.shape
    run = math.isqrt(m // k) if k else 0
    if run < 4:
        return np.asarray(np.argpartition(values, min(k, m) - 1, axis=1)[:, :k])
    runs, rest = divmod(m, run)
    least = values[:, : runs * run].reshape(n, run, runs).min(axis=1)
    chosen = np.argpartition(least, k - 1, axis=1)[:, :k]
    places = (chosen[:, :, None] + runs * np.arange(run)).reshape(n, k * run)
    if rest:
        places = np.concatenate([places, np.tile(np.arange(m - rest, m), (n, 1))], axis=1)
    some = np.take_along_axis(values, places, axis=1)
    return np.asarray(np.take_along_axis(places, np.argpartition(some, k - 1, axis=1)[:, :k], axis=1))


def _lists(unit: NDArray[np.float32], known: Ints) -> tuple[NDArray[np.float32], Ints]:
    """Centres (L, D), and the list of each row (N,): spherical means of a part."""
    count = math.ceil(2 * math.sqrt(len(known)))
    part = unit[known[: _OF_LIST * count]]
    centres = part[:count].copy()
    for _ in range(_ROUNDS):
        home = (part @ centres.T).argmax(axis=1)
        total = np.zeros_like(centres)
        np.add.at(total, home, part)
        size = np.linalg.norm(total, axis=1, keepdims=True)
        centres = np.where(size > 0, total / np.maximum(size, 1e-12), centres)
    home = np.empty(len(unit), dtype=np.int64)
    step = max(1, _BLOCK // count)
    for start in range(0, len(unit), step):
        home[start : start + step] = (unit[start : start + step] @ centres.T).argmax(axis=1)
    return centres, home
