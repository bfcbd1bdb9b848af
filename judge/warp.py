"""Features made different: functions (random, x) -> (N, D'), so that no family is known by its looks.

What belongs and what is foreign go through the same change together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from judge.generators import width

Random = np.random.Generator
Warp = Callable[[Random, np.ndarray], np.ndarray]


def columns(random: Random, x: np.ndarray) -> np.ndarray:
    """Some of the columns."""
    return x[:, random.permutation(x.shape[1])[: width(random, min(2, x.shape[1]), x.shape[1])]]


def projected(random: Random, x: np.ndarray) -> np.ndarray:
    """Random directions, fewer than there were."""
    to = width(random, min(3, x.shape[1]), min(150, x.shape[1]))
    return np.asarray(x @ random.normal(size=(x.shape[1], to)).astype(np.float32) / np.sqrt(x.shape[1]))


def mixed(random: Random, x: np.ndarray) -> np.ndarray:
    """As many directions as there were, through a random network of one layer."""
    wide = min(200, max(4, width(random, 4, 2 * x.shape[1])))
    z = x @ random.normal(size=(x.shape[1], wide)) / np.sqrt(x.shape[1])
    return np.tanh(z * random.uniform(0.3, 2.0)) if random.random() < 0.5 else np.maximum(z, 0.0)


def principal(random: Random, x: np.ndarray) -> np.ndarray:
    """Leading axes, seldom whitened."""
    some = x[random.permutation(len(x))[:600]]
    middle = some.mean(axis=0)
    scale, axes = np.linalg.eigh((some - middle).T @ (some - middle) / len(some))
    kept = width(random, min(2, x.shape[1]), min(80, x.shape[1]))
    z = (x - middle) @ axes[:, ::-1][:, :kept]
    return z / np.sqrt(scale[::-1][:kept] + 1e-6) if random.random() < 0.2 else z


def lifted(random: Random, x: np.ndarray) -> np.ndarray:
    """Many more directions than there were, as networks give them, with some noise in each."""
    to = width(random, min(1300, 2 * x.shape[1]), 1300)
    z = x @ random.normal(size=(x.shape[1], to)) / np.sqrt(x.shape[1])
    z += random.choice([0.0, 0.1, 0.5]) * z.std() * random.normal(size=z.shape)
    return np.maximum(z, 0.0) if random.random() < 0.4 else z


def grained(random: Random, x: np.ndarray) -> np.ndarray:
    """With noise over all columns."""
    return x + np.exp(random.uniform(np.log(0.1), np.log(2.0))) * random.normal(size=x.shape)


def curved(random: Random, x: np.ndarray) -> np.ndarray:
    """A monotone curve over each column."""
    kind = random.integers(4)
    if kind == 0:
        return np.sign(x) * np.abs(x) ** random.uniform(0.4, 2.2)
    if kind == 1:
        return np.exp(np.clip(random.uniform(0.3, 1.2) * x, -6, 6))
    if kind == 2:
        return np.tanh(random.uniform(0.5, 2.0) * x)
    return np.asarray(x.argsort(axis=0).argsort(axis=0) / len(x))


def stepped(random: Random, x: np.ndarray) -> np.ndarray:
    """Some columns rounded to few values."""
    x = x.copy()
    some = random.permutation(x.shape[1])[: width(random, 1, x.shape[1])]
    fine = random.uniform(0.5, 3.0)
    x[:, some] = np.round(x[:, some] * fine) / fine
    return x


def worded(random: Random, x: np.ndarray) -> np.ndarray:
    """Some columns as words: one column per level of theirs."""
    some = random.permutation(x.shape[1])[: width(random, 1, min(8, x.shape[1]))]
    parts = [np.delete(x, some, axis=1)]
    for j in some:
        levels = np.unique(np.quantile(x[:, j], np.sort(random.random(int(random.integers(1, 5))))))
        parts.append(np.eye(len(levels) + 1)[np.searchsorted(levels, x[:, j])])
    return np.concatenate(parts, axis=1)


def junk(random: Random, x: np.ndarray) -> np.ndarray:
    """More columns that say nothing: noise, constants, copies of a column, the row's number."""
    n, more = len(x), int(random.integers(1, max(2, min(30, x.shape[1]))))
    kind = random.integers(4)
    if kind == 0:
        return np.c_[x, random.normal(size=(n, more))]
    if kind == 1:
        return np.c_[x, np.full((n, 1), random.normal())]
    if kind == 2:
        return np.c_[x, x[:, random.integers(0, x.shape[1], more)]]
    return np.c_[x, random.permutation(n) / n]


def scaled(random: Random, x: np.ndarray) -> np.ndarray:
    """Each column in a unit of its own."""
    return x * 10.0 ** random.uniform(-2.0, 3.0, x.shape[1]) + random.normal(size=x.shape[1])


def directed(random: Random, x: np.ndarray) -> np.ndarray:
    """Each row brought to length one, as sentence vectors are."""
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-6))


WARPS: dict[str, Warp] = {
    "columns": columns, "projected": projected, "mixed": mixed, "principal": principal, "grained": grained,
    "curved": curved, "stepped": stepped, "worded": worded, "junk": junk, "scaled": scaled,
    "directed": directed, "lifted": lifted,
}  # fmt: skip


def warped(random: Random, x: np.ndarray, by_column: bool) -> tuple[np.ndarray, list[str]]:
    """None to three of the changes, and which; at most 220 columns, if they were not lifted.

    Columns are first brought to one scale each, or, where their scales mean something, all to one.
    """
    count = int(random.choice(4, p=[0.3, 0.3, 0.25, 0.15]))
    names = [str(name) for name in random.choice(list(WARPS), count, replace=False)] if count else []
    names.sort(key=lambda name: name == "lifted")  # last, for it costs most to change what is wide
    if names:
        middle = x - x.mean(axis=0)
        x = middle / np.maximum(middle.std(axis=0) if by_column else middle.std(), 1e-6)
    for name in names:
        x = WARPS[name](random, x)
    if x.shape[1] > 220 and "lifted" not in names:
        x = x[:, random.permutation(x.shape[1])[:220]]
    return x, names
