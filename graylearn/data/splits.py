"""Samples that belong together, train and test, and cross-fitting: what models say of what they did not see.

Frames of one video, images of one patient, windows of one recording resemble one another whatever they show,
so that one vouches for the label of the other. Such groups are kept as numbers, one per sample, and never
parted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints
from graylearn.data.inputs import as_plain
from graylearn.data.samples import Samples, numbered
from graylearn.errors import DataError, SettingsError, counted

_BYTES = 1 << 22


def canonical_order(x: NDArray[Any], y: NDArray[np.int64]) -> NDArray[np.int64]:
    """(N,) the samples by a number made of x (N, ...), then by label y.

    Samples that are alike in both stay as they were given. Batches and folds are drawn from this order,
    so that the same set in any order gives the same model and the same verdicts.
    """
    return np.lexsort([y, row_numbers(x)])


def text_numbers(texts: Iterable[Any]) -> NDArray[np.uint64]:
    """(N,) a number for each value, the same where they are the same text."""
    plain = [str(each).encode("utf-8", "surrogatepass").decode("latin-1") for each in texts]
    return np.asarray(pd.util.hash_array(np.array(plain, dtype=object), categorize=False), dtype=np.uint64)


def row_numbers(x: NDArray[Any]) -> NDArray[np.uint64]:
    """(N,) a number for each row, the same for the same values wherever the row stands."""
    values = x.reshape(len(x), int(np.prod(x.shape[1:])))
    draw = np.random.default_rng(0).integers(1, 1 << 63, size=values.shape[1], dtype=np.uint64)
    factors = draw | np.uint64(1)
    number = np.empty(len(values), dtype=np.uint64)
    step = max(1, _BYTES // (8 * values.shape[1] + 1))
    for start in range(0, len(values), step):
        part = np.ascontiguousarray(values[start : start + step])
        if part.dtype.kind == "f":
            part = part.astype(np.float64) if part.dtype.itemsize > 8 else part
            part = (part + part.dtype.type(0)).view(f"u{part.dtype.itemsize}")  # -0.0 is 0.0
        mixed = part.astype(np.uint64) * factors
        number[start : start + step] = (mixed ^ (mixed >> np.uint64(29))).sum(axis=1)
    return number


def group_numbers(groups: Any, n: int, ids: np.ndarray | None = None) -> np.ndarray:
    """(n,) int64 from what the user calls the group of each sample, of any kind.

    By the names alone, so that a group has one number in whatever block of the data it is met. A sample whose
    group is missing stands alone, by its id.
    """
    if isinstance(groups, str):
        raise DataError(f"groups is the text {groups!r}: where it names a column, give the column itself")
    plain = as_plain(groups)
    if isinstance(plain, np.ndarray | pd.DataFrame) and plain.shape[1:] == (1,):  # one column of a table
        plain = plain.iloc[:, 0] if isinstance(plain, pd.DataFrame) else plain[:, 0]
    if isinstance(plain, pd.DataFrame) or not isinstance(plain, Iterable):
        raise DataError(f"groups is {type(groups).__name__}: give one column, a list or an array of names")
    # of a list NumPy would make text of None
    names = plain if isinstance(plain, np.ndarray | pd.Series) else pd.Series(list(plain), dtype=object)
    if names.shape != (n,):
        told = f"groups have shape {tuple(names.shape)} for {counted(n, 'sample')}"
        raise DataError(f"{told}: give one name or number per sample, the same for all that belong together")
    try:
        codes, known = numbered(names)
    except TypeError as error:  # lists, which pandas cannot look up
        raise DataError(f"groups cannot be compared ({error}): give one name or number per sample") from error
    numbers: np.ndarray = np.append(_hashed([f"group {_as_text(name)}" for name in known]), 0)[codes]
    alone = np.flatnonzero(codes < 0)
    numbers[alone] = _hashed([f"sample {row if ids is None else ids[row]}" for row in alone])
    return numbers


def groups_of(groups: Any, x: Any, n: int) -> np.ndarray | None:
    """(N,) the group of each sample: as given, else of Samples; None where each stands alone."""
    if groups is None and isinstance(x, Samples):
        groups = x.groups
    if groups is None:
        return None
    found = group_numbers(groups, n)
    return found if len(np.unique(found)) < n else None


def in_order(groups: np.ndarray) -> np.ndarray:
    """(n,) the same groups, numbered as they come: whatever they were called, the same numbers."""
    return np.asarray(pd.factorize(groups)[0], dtype=np.int64)


def label_of_groups(groups: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(G,) the most frequent label of each group 0..G-1, the first of several."""
    width = int(label.max()) + 1
    pairs, count = np.unique(groups * width + label, return_counts=True)
    by_count = np.lexsort((pairs, -count))
    first = np.unique(pairs[by_count] // width, return_index=True)[1]
    return np.asarray(pairs[by_count][first] % width)


def _as_text(name: Any) -> str:
    """A name as text; beside missing ones whole numbers are read as 7.0."""
    whole = isinstance(name, float | np.floating) and float(name).is_integer()
    return str(int(name)) if whole else str(name)


def _hashed(texts: list[str]) -> np.ndarray:
    """63 bits each: two of a billion texts are one number by chance in one of twenty sets."""
    return (text_numbers(texts) >> np.uint64(1)).astype(np.int64)


def train_test_split(samples: Samples, test: float = 0.2, seed: int = 0) -> tuple[Samples, Samples]:
    """Cut into (train, test), the same share of every class to the nearest sample.

    A class keeps at least one sample in train, so a class of one sample is never tested. Samples of one group
    stay together, and the shares are about right then. Both parts keep the order of the data.
    """
    if not 0 < test < 1:
        raise SettingsError(f"test is {test}; it is the share kept for testing and lies between 0 and 1")
    in_test = chosen_for_test(samples, test, seed)
    return samples.take(~in_test), samples.take(in_test)


def chosen_for_test(samples: Samples, share: float, seed: int) -> np.ndarray:
    """(N,) which samples `train_test_split` keeps for testing."""
    if samples.groups is not None and len(samples):
        return _whole_groups(samples.y, samples.groups, share, seed)
    chosen = np.zeros(len(samples), dtype=bool)
    chosen[stratified_choice(samples.y, round(share * len(samples)), seed, leave_one=True)] = True
    return chosen


def _whole_groups(y: np.ndarray, groups: np.ndarray, share: float, seed: int) -> np.ndarray:
    """(N,) the samples of groups that make about this share, of every class by the groups that mostly are it.

    Every class keeps a sample that is not chosen.
    """
    rng = np.random.default_rng(seed)
    _, group, size = np.unique(groups, return_inverse=True, return_counts=True)
    labels, label = np.unique(y, return_inverse=True)
    pairs = np.unique(np.stack([group, label]), axis=1)
    mostly = label_of_groups(group, label)
    chosen = np.zeros(len(size), dtype=bool)
    owed = 0.0  # samples that the classes before this one were given too few
    for each in rng.permutation(len(labels)):
        own = rng.permutation(np.flatnonzero(mostly == each))
        owed += share * size[own].sum()
        for number in own:
            if size[number] <= 2 * owed:  # nearer to the share with it than without
                chosen[number] = True
                owed -= size[number]
    left = np.bincount(pairs[1, ~chosen[pairs[0]]], minlength=len(labels))
    for each in np.flatnonzero(left == 0):
        having = pairs[0, pairs[1] == each]
        if chosen[having].all():  # and none was given back for another class
            chosen[having[np.argmin(size[having])]] = False
    return chosen[group]


def stratified_choice(y: np.ndarray, count: int, seed: int, *, leave_one: bool = False) -> np.ndarray:
    """Exactly `count` indices of y, every class in proportion to the nearest sample, sorted.

    The rounding is by largest remainder, ties drawn at random. With `leave_one` no class that has samples
    is taken whole, and `count` shrinks where that makes it impossible.
    """
    if not 0 <= count <= len(y):
        raise DataError(f"cannot choose {count} of {len(y)} samples")
    if count == 0:
        return np.empty(0, dtype=np.int64)
    rng = np.random.default_rng(seed)
    _, group, sizes = np.unique(y, return_inverse=True, return_counts=True)
    most = sizes - leave_one
    share = sizes * (count / len(y))
    take = np.minimum(np.floor(share).astype(np.int64), most)
    by_remainder = np.lexsort((rng.random(len(sizes)), take - share))
    while take.sum() < min(count, most.sum()):
        open_groups = [index for index in by_remainder if take[index] < most[index]]
        take[open_groups[: count - take.sum()]] += 1
    shuffled = rng.permutation(len(y))
    by_group = shuffled[np.argsort(group[shuffled], kind="stable")]
    rank = np.arange(len(y)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(by_group[rank < np.repeat(take, sizes)])


# -- cross-fitting ------------------------------------------------------------------------------------------

Model = TypeVar("Model")


def stratified_folds(label: Ints, folds: int, repeats: int, seed: int, group: Ints | None = None) -> Ints:
    """(repeats, N) the fold in which each sample is held out; every class is spread over the folds.

    group: (N,) the group of each sample. Those of one group are held out together, by their usual label.
    """
    if group is not None:
        group = in_order(group)
        return stratified_folds(label_of_groups(group, label), folds, repeats, seed)[:, group]
    random = np.random.default_rng(seed)
    fold = np.empty((repeats, len(label)), dtype=np.int64)
    for row in fold:
        dealt = 0  # goes on from class to class, so that folds stay even if classes are tiny
        for k in np.unique(label):
            members = random.permutation(np.flatnonzero(label == k))
            row[members] = (np.arange(len(members)) + dealt) % folds
            dealt += len(members)
    return fold


def held_out_rows(fold: Ints, folds: int) -> list[Ints]:
    """The samples held out from each of repeats x folds models; fold: (repeats, N)."""
    return [np.flatnonzero(row == f) for row in fold for f in range(folds)]


def cross_fit(
    learner: Callable[[Floats], Iterable[Model]], weights: Floats, held: Sequence[Ints]
) -> Iterator[tuple[Model, Ints]]:
    """(model, rows) for each of the parts `held`: a model that did not learn from these rows.

    learner: weights (models, M) to that many models, trained side by side or one after the other; it learns
    nothing from a row of weight 0. weights: (M,) of all rows.
    """
    left = np.tile(weights, (len(held), 1))
    for own, rows in zip(left, held, strict=True):
        own[rows] = 0.0
    return zip(learner(left), held, strict=True)


def sum_by_sample(said: Iterable[tuple[Ints, Floats]], num_samples: int, num_classes: int) -> Floats:
    """(N, K) the sums of what models say: pairs of rows (n,) and the class probabilities of them (n, K)."""
    total = np.zeros((num_samples, num_classes))
    for rows, probability in said:
        total[rows] += probability
    return total
