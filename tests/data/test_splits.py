"""Splits keep every sample once, meet their counts exactly and renumber the classes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graylearn.data.samples import Samples
from graylearn.data.splits import stratified_choice, train_test_split
from graylearn.errors import DataError


def make(counts):
    """Samples whose x holds their class, so that a lost or mixed-up label shows."""
    y = np.random.default_rng(7).permutation(np.repeat(np.arange(len(counts)), counts))
    classes = tuple(f"class {place}" for place in range(len(counts)))
    return Samples(y[:, None].astype(float), y, classes, np.arange(len(y)) + 1000, "array")


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    test=st.floats(0.05, 0.95),
    seed=st.integers(0, 2**32 - 1),
)
def test_train_and_test_part_the_samples_in_proportion(counts, test, seed):
    samples = make(counts)
    train, held = train_test_split(samples, test, seed)
    assert sorted([*train.ids, *held.ids]) == samples.ids.tolist()
    assert train.classes == held.classes == samples.classes
    possible = sum(max(count - 1, 0) for count in counts)
    assert len(held) == min(round(test * len(samples)), possible)
    assert (train.class_counts[np.array(counts) > 0] >= 1).all()
    roomy = all(count * (1 - test) >= 2 for count in counts if count)
    if roomy:  # away from the rule that a class keeps one sample, shares are right to one sample
        share = len(held) / max(len(samples), 1)
        assert (np.abs(held.class_counts - share * np.array(counts)) < 1 + 1e-9).all()
    again = train_test_split(samples, test, seed)
    assert again[1].ids.tolist() == held.ids.tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=60), st.data())
def test_a_stratified_choice_has_its_exact_size_and_no_class_is_off_by_one(labels, data):
    y = np.array(labels, dtype=np.int64)
    count = data.draw(st.integers(0, len(y)))
    chosen = stratified_choice(y, count, seed=5)
    assert len(set(chosen)) == len(chosen) == count
    for label in set(labels):
        share = (y == label).sum() * count / len(y)
        assert abs((y[chosen] == label).sum() - share) < 1
    with pytest.raises(DataError, match="cannot choose"):
        stratified_choice(y, len(y) + 1, seed=5)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3)), min_size=1, max_size=60),
    test=st.floats(0.05, 0.95),
    seed=st.integers(0, 2**32 - 1),
)
def test_groups_stay_together(sizes, test, seed):
    random = np.random.default_rng(seed)
    groups = random.permutation(np.repeat(np.arange(len(sizes)) * 2**55 + 3, [size for size, _ in sizes]))
    mostly = np.array([label for _, label in sizes])[(groups - 3) // 2**55]
    y = np.where(random.random(len(groups)) < 0.9, mostly, random.integers(0, 4, len(groups)))
    samples = replace(make(np.bincount(y, minlength=4)), y=y, groups=groups)
    train, held = train_test_split(samples, test, seed)
    assert sorted([*train.ids, *held.ids]) == samples.ids.tolist()
    assert not set(train.groups) & set(held.groups)
    assert (train.class_counts[samples.class_counts > 0] >= 1).all()
    assert len(held) <= test * len(samples) + 6 + 1e-9, "half of the largest group at most"
    again = train_test_split(samples, test, seed)
    assert again[1].ids.tolist() == held.ids.tolist()


def test_groups_of_every_class_are_tested():
    groups = np.arange(1200) // 4
    y = groups % 3
    samples = replace(make([400] * 3), y=y, groups=groups)
    for seed in range(5):
        held = train_test_split(samples, 0.2, seed)[1]
        assert held.class_counts.tolist() == [80] * 3
    few = replace(make([30] * 3), y=np.arange(90) // 10 % 3, groups=np.arange(90) // 10)
    for seed in range(20):
        assert len(train_test_split(few, 0.2, seed)[1]) == 20, "two of nine, though a fifth of three is none"
