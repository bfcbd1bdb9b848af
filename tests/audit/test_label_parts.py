"""Labels that fall in two parts, and the gap that there must be between them."""

import numpy as np
import pytest
from audit_clouds import clouds, parted_clouds
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from graylearn.audit.inputs import as_features
from graylearn.audit.label_parts import MAX_COSINE_MANY, MIN_EVIDENT, _two_bells, foreign_parts, split_labels
from graylearn.audit.neighbours import unit_rows


def parts_of(x, label, num_classes):
    return foreign_parts(x, unit_rows(x).double().numpy(), label, num_classes)


def test_two_bells_part_where_their_densities_meet():
    """A small sharp bell beside a large one: the chance is Bayes' rule with the true curves."""
    random = np.random.default_rng(6)
    part = random.random(4000) < 0.2
    pull = np.where(part, random.normal(1.0, 0.3, 4000), random.normal(-1.0, 0.4, 4000))
    chance = _two_bells(pull, pull > 0)
    inner = np.abs(pull) < 0.9
    one = 0.2 / 0.3 * np.exp(-0.5 * ((pull - 1.0) / 0.3) ** 2)
    other = 0.8 / 0.4 * np.exp(-0.5 * ((pull + 1.0) / 0.4) ** 2)
    np.testing.assert_allclose(chance[inner], (one / (one + other))[inner], atol=0.12)


def test_a_label_that_is_nearly_half_foreign_is_parted():
    """Where trimming fails: 45 % of two labels is one tight foreign cluster each."""
    random = np.random.default_rng(7)
    x, label, _ = clouds(7, n=1600)
    foreign = np.zeros(len(label), dtype=bool)
    for k in (3, 6):
        members = np.flatnonzero(label == k)
        members = members[: int(0.45 * len(members))]
        foreign[members] = True
        x[members] = -x[label == k].mean(axis=0) + 0.3 * random.normal(size=(len(members), 40))
    found = parts_of(x, label, 8)
    assert found.labels.tolist() == [3, 6]
    assert (found.foreign == foreign).mean() > 0.99
    assert found.evident == pytest.approx(foreign.mean(), abs=0.01)


@pytest.mark.parametrize("alike", [True, False])
def test_parts_of_one_source_are_told_from_kinds_of_their_classes(alike):
    x, label, parted = parted_clouds(alike=alike)
    found = parts_of(x, label, 8)
    assert found.labels.tolist() == [0, 1, 2, 3]
    assert (found.foreign == parted).all()
    assert found.of_one_source == alike
    assert found.of_kinds != alike


@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_a_cloud_that_is_cut_in_two_has_no_gap(spread):
    x, label, _ = clouds(4, spread=spread)
    assert split_labels(unit_rows(x).double().numpy(), label)[2] or spread == 1.0  # labels are cut
    assert parts_of(x, label, 8).labels.size == 0


@pytest.mark.parametrize("seed", [1, 9])
def test_two_ways_to_write_a_one_are_not_foreign(seed):
    x, y = load_digits(return_X_y=True)
    rows, _ = train_test_split(np.arange(len(y)), train_size=0.45, random_state=seed, stratify=y)
    found = parts_of(as_features(x[rows], len(rows)), y[rows], 10)
    assert found.labels.size == 0
    if seed == 9:  # there are parts, a gap between them, and they do not point away from each other
        assert found.evident > MIN_EVIDENT
        assert found.cosine > MAX_COSINE_MANY
