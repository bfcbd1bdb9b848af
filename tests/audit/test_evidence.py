"""Evidence: what is not known is missing, and beliefs are of the other classes."""

import numpy as np
import pytest
from planted import as_rows, believable, clusters

from graylearn.audit.confusions import believed
from graylearn.audit.evidence import COLUMNS, VIEWS, gather

OF_THE_MODEL = {name for name in COLUMNS if name.startswith("given:") or name.startswith("set: given")} | {
    "set: model saw the labels"
}


@pytest.fixture(scope="module")
def planted():
    return clusters(300, k=3, d=5, wrong=0.1, apart=2.5)


@pytest.fixture(scope="module")
def full(planted):
    """Features, probabilities and a word of the user's: all that can be known."""
    return gather(as_rows(planted.x, planted.y), given=believable(planted), one_class=True)


def unknown(evidence):
    return {name for name in COLUMNS if not np.isfinite(evidence.column(name)).any()}


def test_what_is_not_there_is_missing_and_never_zero(planted):
    rows, p = as_rows(planted.x, planted.y), believable(planted)
    assert unknown(gather(rows)) == OF_THE_MODEL | {"set: one class per sample"}
    alone = gather(rows.without_features(), given=p, one_class=False)
    absent = unknown(alone)
    assert not absent & {"given: label", "set: one class per sample", "pool: label", "pair: of label"}
    assert {f"{view}: label" for view in VIEWS if view != "given"} <= absent
    assert {"away", "near: share of label", "set: log columns", "label: falls in two"} <= absent
    fewer = unknown(gather(rows, without=("kernel", "trees")))
    assert {"kernel: label", "trees: margin", "set: kernel agrees with trees"} <= fewer
    assert "neighbours: label" not in fewer


def test_beliefs_are_of_the_other_classes(full, planted):
    every = np.arange(300)
    assert (full.beliefs[every, planted.y] == 0).all()
    np.testing.assert_allclose(full.beliefs.sum(axis=1), 1.0, atol=1e-6)
    wrong = planted.wrong
    assert (full.beliefs[wrong].argmax(axis=1) == planted.true[wrong]).mean() > 0.9


def test_what_cannot_be_told_apart_has_no_confusions_beyond_expected():
    """Labels drawn at random: as many look like another class as probabilities expect."""
    random = np.random.default_rng(0)
    found = gather(as_rows(random.normal(size=(400, 4)), random.permutation(np.arange(400) % 2)))
    assert abs(found.column("set: contradicted beyond expected")[0]) < 0.1


def test_wrong_labels_lie_deeper_in_the_other_class_than_overlap():
    wrong = clusters(900, k=3, wrong=0.3, apart=4.0)
    overlap = clusters(900, k=3, wrong=0.0, apart=1.2)
    one, two = (gather(as_rows(made.x, made.y)) for made in (wrong, overlap))
    for share in (one.column("set: contradicted")[0], two.column("set: contradicted")[0]):
        assert 0.2 < share < 0.4
    depth = "set: depth of contradicted"
    assert one.column(depth)[0] > 0.42 > 0.35 > two.column(depth)[0]
    assert np.median(one.column("pair: depth")) > np.median(two.column("pair: depth")) + 0.1
    hopeless = gather(as_rows(wrong.x, np.random.default_rng(0).permutation(wrong.y)))
    told, alike = "set: told of labels", "set: neighbours look alike"
    assert one.column(told)[0] > hopeless.column(told)[0] + 0.2
    assert one.column(alike)[0] > 0.9 > hopeless.column(alike)[0]


def test_a_label_that_falls_in_two_is_told():
    random = np.random.default_rng(0)
    y = np.arange(400) % 2
    x = random.normal(size=(400, 6))
    part = (y == 0) & (np.arange(400) % 10 == 0)
    x[:, 0] += 6
    x[part, 0] -= 12
    found = gather(as_rows(x, y))
    assert found.column("label: falls in two")[y == 0].mean() > 0.6
    np.testing.assert_array_equal(found.column("label: in the smaller part")[y == 0] > 0, part[y == 0])
    over = found.column("label: parts apart, over the next")
    assert over[y == 0].mean() > over[y == 1].mean() + 1


def test_confusions_that_were_planted_are_read_off():
    random = np.random.default_rng(0)
    rates = np.array([[0.9, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.3, 0.7]])
    true = random.integers(3, size=3000)
    y = np.array([random.choice(3, p=rates[each]) for each in true])
    q = 0.02 + 0.94 * np.eye(3)[true]
    found = believed(q, y, 1.0)
    np.testing.assert_allclose(found.rates, rates, atol=0.06)
    np.testing.assert_allclose(found.beliefs.sum(axis=1), 1.0)
    wrong = y != true
    assert (found.beliefs[wrong].argmax(axis=1) == true[wrong]).mean() > 0.95
    assert found.gain > 50, "these are confusions of pairs"
