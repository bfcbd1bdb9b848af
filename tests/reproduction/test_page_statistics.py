"""Spread and paired tests, held to hand-computed numbers and to scipy on the raw values."""

import math

import numpy as np
import pytest
from scipy import stats

from reproduction.statistics import (
    blocked_p,
    compare,
    expected_maximum,
    from_differences,
    holm,
    p_text,
    paired_p,
    signed_rank_p,
    spread,
)


def test_spread_is_mean_and_sample_standard_deviation():
    found = spread({0: 90.0, 1: 92.0, 2: 97.0})
    assert (found.mean, found.n) == (93.0, 3)
    assert found.sd == pytest.approx(math.sqrt((9 + 1 + 16) / 2))
    assert str(found) == "93.0 ± 3.6"


def test_the_largest_of_several_normal_numbers():
    assert expected_maximum(1) == pytest.approx(0, abs=1e-9)
    assert expected_maximum(2) == pytest.approx(1 / math.sqrt(math.pi))
    drawn = np.random.default_rng(0).standard_normal((200_000, 9)).max(1).mean()
    assert expected_maximum(9) == pytest.approx(drawn, abs=0.01)


def test_blocks_take_out_what_a_seed_does_to_all():
    numbers = np.random.default_rng(0).normal(90, 0.2, (10, 3))
    lifted = numbers + np.array([0.0, 5.0, -3.0])
    table, other = ({str(i): dict(enumerate(line)) for i, line in enumerate(t)} for t in (numbers, lifted))
    assert blocked_p(table) == pytest.approx(blocked_p(other))
    # with two rows it is the paired t test
    two = {name: table[name] for name in ("0", "1")}
    assert blocked_p(two) == pytest.approx(stats.ttest_rel(numbers[0], numbers[1]).pvalue)
    # a seed that only some rows have does not count
    more = {**table, "0": {**table["0"], 9: 50.0}}
    assert blocked_p(more) == pytest.approx(blocked_p(table))
    assert blocked_p({"a": {0: 1.0, 1: 1.0}, "b": {0: 1.0, 1: 1.0}}) == 1.0
    assert blocked_p({"a": {0: 1.0, 1: 1.0}, "b": {0: 2.0, 1: 2.0}}) == 0.0


def test_one_seed_has_no_spread_and_none_has_nothing():
    assert str(spread([90.04])) == "90.0"
    assert spread([90.04]).sd is None
    assert spread([]) is None


@pytest.mark.parametrize("n", [6, 9, 10, 20])
def test_from_six_pairs_the_signed_rank_test_of_scipy(n):
    for seed in range(5):
        differences = np.random.default_rng(seed).normal(0.4, 1, n).tolist()
        assert paired_p(differences) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_below_six_pairs_the_paired_t_test_of_scipy(n):
    numbers = np.random.default_rng(n)
    first, second = numbers.normal(90, 1, n), numbers.normal(89, 1, n)
    mine = compare(dict(enumerate(first)), dict(enumerate(second)))
    assert mine.p == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert mine.mean == pytest.approx(first.mean() - second.mean())


def test_ties_are_counted_exactly():
    # ranks 1.5 1.5 3.5 3.5 5.5 5.5 of which one 1.5 is negative: sums of negative ranks <= 1.5 are {} and two
    # single ties, 3 of 64 patterns, and as many at the other end
    assert signed_rank_p([1, -1, 2, 2, 3, 3]) == pytest.approx(6 / 64)
    values = [1, 1, 2, -1, 3, 3, 0, 2]
    every = stats.wilcoxon(values, method=stats.PermutationMethod(n_resamples=np.inf)).pvalue
    assert signed_rank_p(values) == pytest.approx(every)


def test_no_difference_at_all_is_p_one_and_one_pair_is_no_test():
    assert paired_p([0.0] * 10) == 1.0
    assert paired_p([0.0, 0.0]) == 1.0
    assert paired_p([3.0]) is None


def test_equal_differences_of_few_seeds_are_a_sign_test():
    assert paired_p([2.0, 2.0, 2.0]) == pytest.approx(0.25)


def test_rounding_noise_does_not_break_ties():
    exact = [10.0, 10.0, 20.0, -10.0, 30.0, 30.0]
    assert paired_p([value + 1e-13 * place for place, value in enumerate(exact)]) == paired_p(exact)


def test_holm_by_hand():
    # sorted .01 .03 .04 times 3 2 1, never falling
    assert holm({"a": 0.04, "b": 0.01, "c": 0.03}) == pytest.approx({"b": 0.03, "c": 0.06, "a": 0.06})
    assert holm({"a": 0.9, "b": 0.8}) == {"b": 1.0, "a": 1.0}


@pytest.mark.parametrize(
    ("differences", "state"),
    [
        ([0.6], "higher"),
        ([0.4], "same"),
        ([-0.6], "lower"),
        ([0.3, 0.31, 0.32], "higher"),  # small but certain: t = 53
        ([0.1, 1.9, 0.5], "higher"),  # all one way and large in the mean
        ([-0.1, 1.9, 0.5], "same"),  # they disagree
        ([0.1, 1.9, 0.5, 0.2, -0.3, 0.8], "same"),  # six: only the test counts
        ([0.01] * 5 + [0.02] * 5, "higher"),
        ([-0.01] * 5 + [-0.02] * 5, "lower"),
        ([0.0] * 10, "same"),
    ],
)
def test_when_a_difference_counts_as_shown(differences, state):
    assert from_differences(differences).state == state


def test_only_shared_seeds_are_compared():
    found = compare({0: 90.0, 1: 91.0, 7: 10.0}, {1: 90.0, 0: 88.0, 3: 99.0})
    assert (found.mean, found.n) == (1.5, 2)
    assert compare({0: 1.0}, {1: 1.0}) is None


def test_p_in_words():
    assert [p_text(p) for p in (0.0004, 0.0312, 1.0)] == ["p < .001", "p = .031", "p = 1.000"]
