"""Large sets that networks learn from a part: which these are, and that all else is as it was."""

import sys

import numpy as np
import pytest
from audit_clouds import clouds
from sklearn.metrics import average_precision_score

from graylearn.audit import apart, keeping, scaling, trial
from graylearn.audit import neighbours as nb
from graylearn.audit.audit import audit
from graylearn.audit.evidence import gather


@pytest.fixture
def small(monkeypatch):
    """A set of 4,000 samples is a large one."""
    monkeypatch.setattr(trial, "VISITS", 1536)
    monkeypatch.setattr(trial, "VISITS_OF_CLASS", 10)
    monkeypatch.setattr(trial, "ASKED", 200)
    monkeypatch.setattr(trial, "LEAST_OF_CLASS", 30)
    monkeypatch.setattr(trial, "BATCH", 32)


@pytest.fixture(scope="module")
def mixed():
    """Eight clouds that are easily told, a tenth of the labels drawn at random."""
    x, true, _ = clouds(3, n=4000, d=16, spread=0.2)
    random = np.random.default_rng(0)
    label = np.where(random.random(4000) < 0.1, random.integers(8, size=4000), true)
    return x, label, label != true


def test_no_network_is_asked_about_the_half_it_learned_from(small, mixed):
    label = mixed[1]
    learned, asked, half = trial._dealt(label, 8, 0)
    assert learned.shape == (2, 1536)
    for network in (0, 1):
        assert (half[learned[network]] != network).all()
        assert len(np.unique(learned[network])) == 1536
    assert len(asked) == 400
    assert not np.isin(asked, learned).any()


def test_clouds_are_learned_from_a_part(small, mixed):
    x, label, _ = mixed
    found = trial.learned_from_a_part(x, label, 8)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)
    assert (found.argmax(axis=1) == label).mean() > 0.85
    assert (found == trial.learned_from_a_part(x, label, 8)).all()


def test_what_a_part_does_not_teach_is_left_to_all_samples(small, mixed):
    x, label, _ = mixed
    random = np.random.default_rng(1)
    assert trial.learned_from_a_part(x, random.permutation(label), 8) is None  # nothing to learn
    assert trial.learned_from_a_part(x[:3000], label[:3000], 8) is None  # too few samples
    rare = label.copy()
    rare[np.flatnonzero(label == 7)[40:]] = 0
    assert trial.learned_from_a_part(x, rare, 8) is None  # too few of a class


@pytest.mark.parametrize(
    ("half_way", "said", "learned"),
    [
        ([0.95, 0.95], [0.95, 0.95], True),
        ([0.93, 0.93], [0.95, 0.95], False),  # more samples would teach more
        ([0.95, 0.95], [0.95, 0.93], False),  # the two differ
        ([0.8, 0.8], [0.8, 0.8], False),  # one class is not known
    ],
)
def test_when_a_part_is_enough(half_way, said, learned):
    """Of a thousand samples, a fifth of the second class, the last ones are not told."""
    label = np.repeat([0, 1], [800, 200])

    def told(share):
        wrong = np.arange(1000) >= round(1000 * share)
        return np.where(wrong, 1 - label, label)

    found = trial._is_learned(np.stack(list(map(told, half_way))), np.stack(list(map(told, said))), label, 2)
    assert found == learned


def test_an_audit_by_a_part_finds_what_one_by_all_finds(small, mixed, tmp_path, monkeypatch):
    x, label, wrong = mixed
    asked = []
    module = sys.modules["graylearn.audit.audit"]
    monkeypatch.setattr(module, "gather", lambda *args, **more: asked.append(more) or gather(*args, **more))
    monkeypatch.setattr(apart, "LARGE", 3000)
    monkeypatch.setattr(nb, "EXACT", 1000)
    monkeypatch.setattr(nb, "FEW_KNOWN", 1000)
    monkeypatch.setattr(nb, "FEW_OF_CLASS", 50)
    with keeping.kept_in(tmp_path):
        by_part = audit(x, label)
        monkeypatch.setattr(trial, "_is_learned", None)  # what was kept is not tried again
        again = audit(x, label)
    assert (again.score == by_part.score).all()
    by_all = audit(x, label, repeats=1, epochs=3)
    assert [each["learned"] for each in asked] == [True, True, False]
    by_part_ap, by_all_ap = (average_precision_score(wrong, each.score) for each in (by_part, by_all))
    assert by_part_ap > by_all_ap - 0.02
    assert (by_part.suspected == by_all.suspected).mean() > 0.98


def test_large_sets_are_scaled_in_single_precision_to_the_same(monkeypatch):
    monkeypatch.setattr(scaling, "_MANY", 0)
    monkeypatch.setattr(scaling, "_BLOCK", 700)
    random = np.random.default_rng(0)
    x = (random.normal(size=(900, 7)) * [1, 20, 0.1, 5, 1, 1, 3] + [0, 50, 1, -9, 0, 0, 2]).astype(np.float32)
    x[3, 0] = 80.0
    order = random.permutation(900)
    exact = scaling.scaled(x, order)
    monkeypatch.setattr(scaling, "LARGE", 100)
    np.testing.assert_allclose(scaling.scaled(x, order), exact, atol=2e-6)
    for column, value in ((1, np.nan), (2, 1e30)):  # what single precision cannot hold is as it was
        odd = x.copy()
        odd[5, column] = value
        found = scaling.scaled(odd, order)
        monkeypatch.setattr(scaling, "LARGE", 10**9)
        np.testing.assert_array_equal(found, scaling.scaled(odd, order))
        monkeypatch.setattr(scaling, "LARGE", 100)
    x[:, 6] = 1.5
    assert (scaling.scaled(x)[:, 6] == 0).all()
