"""Features made different: functions (random, x) -> (N, D'), so that no family is known by its looks.

What belongs and what is foreign go through the same change together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from judge.generators import width

Random = np.random.Generator
Warp = Callable[[Random, np.ndarray], np.ndarray]
RECORDED = 0.2
"""Share of the tables and of what generators make that becomes a table of words, dates and numbers."""


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


def words(random: Random, value: np.ndarray) -> np.ndarray:
    """A value as words, one column for each; those that hardly occur share one."""
    levels = np.quantile(value, np.sort(random.random(width(random, 1, 25))))
    code = np.searchsorted(levels, value)
    rare = np.bincount(code, minlength=len(levels) + 1) < max(2, 0.005 * len(value))
    code[rare[code]] = np.flatnonzero(rare)[0] if rare.any() else 0
    return np.eye(len(levels) + 1)[code][:, np.unique(code)]


def dates(random: Random, value: np.ndarray) -> np.ndarray:
    """A value as a date between two days, in the numbers that the library makes of one."""
    low, high = value.min(), value.max()
    day = random.uniform(0.0, 2e4) + (value - low) / max(high - low, 1e-9) * 10 ** random.uniform(0.0, 4.0)
    whole = np.floor(day)
    parts = [day, whole // 30 % 12, whole % 7, *[np.floor(24 * (day - whole))][: random.integers(2)]]
    return np.stack(parts, axis=1)


def worded(random: Random, x: np.ndarray) -> np.ndarray:
    """Some columns as words."""
    some = random.permutation(x.shape[1])[: width(random, 1, min(8, x.shape[1]))]
    return np.concatenate([np.delete(x, some, axis=1), *[words(random, x[:, j]) for j in some]], axis=1)


def recorded(random: Random, x: np.ndarray) -> np.ndarray:
    """A table as offices keep it: numbers, words and dates, and more words and dates that say nothing."""
    n, d = x.shape
    order = random.permutation(d)[: width(random, min(4, d), min(40, d))]
    some, dated = order[: random.integers(0, min(8, len(order) // 2) + 1)], int(random.integers(3))
    parts = [x[:, order[len(some) + dated // 2 :]], *[words(random, x[:, j]) for j in some]]
    if dated == 2:  # one that says as much as the column did
        parts.append(dates(random, x[:, order[len(some)]]))
    if dated:
        parts.append(dates(random, random.random(n)))
    parts += [words(random, random.normal(size=n)) for _ in range(int(random.integers(4)))]
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
    "curved": curved, "stepped": stepped, "worded": worded, "recorded": recorded, "junk": junk,
    "scaled": scaled, "directed": directed, "lifted": lifted,
}  # fmt: skip


def warped(random: Random, x: np.ndarray, by_column: bool) -> tuple[np.ndarray, list[str]]:
    """None to three of the changes, and which; at most 220 columns, if they were not lifted.

    Columns are first brought to one scale each, or, where their scales mean something, all to one.
    """
    count = int(random.choice(4, p=[0.3, 0.3, 0.25, 0.15]))
    names = [str(name) for name in random.choice(list(WARPS), count, replace=False)] if count else []
    if by_column and random.random() < RECORDED:
        names = [*names[:1], "recorded"]
    names.sort(key=lambda name: name == "lifted")  # last, for it costs most to change what is wide
    if names:
        middle = x - x.mean(axis=0)
        x = middle / np.maximum(middle.std(axis=0) if by_column else middle.std(), 1e-6)
    for name in names:
        x = WARPS[name](random, x)
    if x.shape[1] > 220 and "lifted" not in names:
        x = x[:, random.permutation(x.shape[1])[:220]]
    return x, names
