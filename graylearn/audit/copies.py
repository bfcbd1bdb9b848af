"""Samples that are equal: copies are asked about once, and do not vouch for one another's labels.

Whether equal rows are copies of one sample or several samples that happen to be alike is told by the columns:
where either half of them takes few values, rows are equal by chance, and each of them counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints
from graylearn.audit.forest import hashed, uniform
from graylearn.audit.views import Rows
from graylearn.data.splits import row_numbers

_DIGITS = 3  # of features in spreads, beyond which two rows are equal


def different(
    x: NDArray[np.float32], content: NDArray[np.uint64], y: Ints, num_classes: int, group: Ints | None = None
) -> tuple[Rows, Ints, Ints]:
    """The samples to be asked about, in an order that hangs on their content alone.

    x: (N, D) scaled features, or any numbers that tell samples apart. content: (N,) a number of what each
    sample is, before any scaling. Gives the rows, (M,) which samples they are, and (N,) which row answers for
    each sample. Samples of equal features, label and group are one row.
    """
    rounded = row_numbers(np.round(x, _DIGITS))
    keys = [y, rounded] if group is None else [group, y, rounded]
    order = np.lexsort([content, *keys])
    new = np.ones(len(order), dtype=bool)
    for key in keys:
        new[1:] &= key[order][1:] == key[order][:-1]
    new[1:] = ~new[1:]
    new[:1] = True
    chosen = order[new]
    number = np.cumsum(new) - 1
    answers = np.empty(len(order), dtype=np.int64)
    answers[order] = number
    if group is not None:
        group = by_members(group, content)
    by_content = np.lexsort(
        [content[chosen], *([] if group is None else [group[chosen]]), y[chosen], rounded[chosen]]
    )
    place = np.empty_like(by_content)
    place[by_content] = np.arange(len(by_content))
    chosen, answers = chosen[by_content], place[answers]
    count = np.bincount(answers, minlength=len(chosen)).astype(np.float64)
    weight = (
        1.0 + (count - 1.0) * by_chance(x[chosen], rounded[chosen])
        if (count > 1).any()
        else np.ones(len(chosen))
    )
    rows = Rows(
        x[chosen], y[chosen], num_classes, uniform(hashed(rounded[chosen])), weight,
        None if group is None else group[chosen],
    )  # fmt: skip
    return rows, chosen, answers


def by_members(group: Ints, content: NDArray[np.uint64]) -> Ints:
    """(N,) a number of each group that hangs on what its members are, not on its name or place."""
    _, number = np.unique(group, return_inverse=True)
    total = np.zeros(number.max(initial=-1) + 1, dtype=np.uint64)
    np.add.at(total, number, hashed(content))  # sums wrap round, in any order to the same
    return np.asarray((hashed(total) >> np.uint64(1)).astype(np.int64)[number])


def by_chance(x: NDArray[np.float32], number: NDArray[np.uint64]) -> Floats:
    """(N,) how far another sample may equal this one by chance, from 0 to 1.

    By how many different rows share its first half of the columns, and how many its second.
    """
    _, first = np.unique(number, return_index=True)
    some = x[first][:: max(1, len(first) // 2000)]
    bits = np.cumsum([np.log2(len(np.unique(column))) for column in some.T])
    half = int(np.searchsorted(bits, bits[-1] / 2)) + 1
    if half >= x.shape[1]:
        return np.zeros(len(x))
    expected = np.full(len(x), 2.0 / len(first))
    for part in (x[:, :half], x[:, half:]):
        name = row_numbers(np.round(part, _DIGITS))
        kinds, of = np.unique(name, return_inverse=True)
        different_ = np.bincount(of[first], minlength=len(kinds))
        expected *= different_[of] - 1.0
    return np.asarray(np.minimum(expected, 1.0))
