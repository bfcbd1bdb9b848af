"""Copies are asked about once and do not vouch for one another; equal rows of a table each count."""

import numpy as np
import pytest
from planted import clusters

from graylearn import audit
from graylearn.audit.verdict import different
from graylearn.data.splits import row_numbers


def test_rows_of_few_values_each_count():
    """Of 3 x 3 x 3 x 3 rows 400 are drawn: equal ones are no copies."""
    random = np.random.default_rng(0)
    x = random.integers(0, 3, size=(400, 4)).astype(np.float32)
    rows, _, answers = different(x, row_numbers(x), np.zeros(400, dtype=np.int64), 1, None)
    assert len(rows) <= 81
    np.testing.assert_allclose(rows.weight, np.bincount(answers), rtol=0.2)


@pytest.mark.parametrize("wrong", [0.0, 0.1])
def test_the_whole_set_twice_is_judged_as_it_is_once(wrong):
    planted = clusters(600, wrong=wrong)
    once = audit(planted.x, planted.y)
    twice = audit(np.concatenate([planted.x] * 2), np.concatenate([planted.y] * 2))
    np.testing.assert_array_equal(twice.suspected[:600], twice.suspected[600:])
    np.testing.assert_array_equal(twice.posterior[:600], twice.posterior[600:])
    assert (twice.suspected[:600] != once.suspected).mean() <= 0.001


def test_copies_of_a_wrong_label_are_found_as_a_single_one_is():
    planted = clusters(600)
    wrong = np.flatnonzero(planted.wrong)
    index = np.concatenate([np.arange(600), *[wrong] * 4])
    found = audit(planted.x[index], planted.y[index])
    assert found.suspected[planted.wrong[index]].mean() >= 0.8
