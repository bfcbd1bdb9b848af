"""Samples that belong together, by what the user calls their group."""

import numpy as np
import pandas as pd
import pytest

from graylearn.data.contaminate import contaminate
from graylearn.data.samples import Samples
from graylearn.data.splits import group_numbers
from graylearn.errors import DataError


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b", "a", "", " ", "b"],
        [7, "x", 7, None, float("nan"), "x"],
        pd.Series(["a", "b", "a", None, None, "b"], index=range(10, 16), dtype="category"),
        pd.to_datetime(pd.Series(["2020-01-01", "2021-01-01", "2020-01-01", None, None, "2021-01-01"])),
    ],
)
def test_samples_of_one_group_have_one_number_and_others_stand_alone(names):
    numbers = group_numbers(names, 6)
    assert numbers.dtype == np.int64
    assert numbers[0] == numbers[2]
    assert numbers[1] == numbers[5]
    assert len(np.unique(numbers)) == 4, "who has no group stands alone"


def test_samples_keep_their_groups():
    x, y, ids = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1]), np.arange(4)
    samples = Samples(x, y, ("a", "b"), ids, "array", groups=np.array([5, 5, 6, 6]))
    assert samples.take([3, 0]).groups.tolist() == [6, 5]
    assert samples.take(np.array([True, False, False, True])).groups.tolist() == [5, 6]
    assert Samples(x, y, ("a", "b"), ids, "array").take([0]).groups is None
    dirty = contaminate(samples, ood_x=x + 9, alpha=0.5, seed=0)
    assert dirty.take([0, 1]).groups is None, "what is mixed in belongs to no group"
    for wrong in (np.array([1, 2]), np.array(["a", "b", "a", "b"])):
        with pytest.raises(DataError, match=r"groups must be \(4,\) whole numbers"):
            Samples(x, y, ("a", "b"), ids, "array", groups=wrong)
