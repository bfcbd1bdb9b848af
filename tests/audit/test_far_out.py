"""Junk far from every class, in tables of so few classes that nothing else tells it."""

import numpy as np
import pytest

import graylearn as gl
from graylearn.audit.detectors import far_out
from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding
from graylearn.audit.kinds import MISLABELLED, OOD


def table(junk, *, rows=200, classes=3, columns=5, seed=0):
    """Round classes, and so many rows far out whose labels are drawn at random."""
    random = np.random.default_rng(seed)
    label = np.arange(rows) % classes
    x = 4 * np.eye(classes, columns)[label] + random.normal(size=(rows, columns))
    x = np.vstack([x, 8 * random.normal(size=(junk, columns)) + 20])
    label = np.concatenate([label, random.integers(0, classes, junk)])
    order = random.permutation(len(label))
    return x[order], label[order], order >= rows


def evidence(x, label, contradicted):
    """What is known where all are sure of each label, or of the next class where it is contradicted."""
    k = int(label.max()) + 1
    said = np.where(contradicted, (label + 1) % k, label)
    p = np.full((len(label), k), 0.02)
    p[np.arange(len(label)), said] = 1 - 0.02 * (k - 1)
    return Evidence(
        label,
        tuple(range(k)),
        p,
        {"network": p},
        {"network": 1.0},
        {},
        x.astype(np.float32),
        "held-out",
        "possible",
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_junk_is_found_and_belongs_to_no_class(classes):
    x, label, junk = table(24, classes=classes, rows=300)
    found = gl.audit(x, label)
    assert found.suspected[junk].mean() > 0.9
    assert junk[found.suspected].mean() > 0.9
    assert (found.kind[found.suspected & junk] == OOD).mean() > 0.9
    assert found.found_by == ("far_out",)
    assert any("lie far from every class" in note for note in found.notes)


def test_nothing_is_held_against_rows_far_out_whose_labels_fit():
    x, label, far = table(20)
    x[far] += 16 * np.eye(3, 5)[label[far]]
    assert not far_out.find(evidence(x, label, np.zeros(len(label), dtype=bool))).found
    assert not gl.audit(*table(0)[:2]).suspected.any()


def test_it_asks_whether_labels_far_out_contradict_as_random_ones_do():
    x, label, junk = table(30)
    random = np.random.default_rng(1)
    as_drawn = junk & (random.random(len(label)) < 2 / 3)
    given = evidence(x, label, as_drawn)
    found = far_out.find(given)
    np.testing.assert_array_equal(found.prior > 0, junk)
    np.testing.assert_array_equal(found.prior, found.ood_prior)
    against = given.contradicted
    assert found.posterior[junk & against].min() > found.posterior[junk & ~against].max() > 0.5
    assert not found.sure.any()
    hard = random.random(len(label)) < 0.5  # so many labels contradict everywhere
    assert not far_out.find(evidence(x, label, as_drawn | hard)).found


def test_a_rare_class_far_out_that_nothing_tells_is_left_alone():
    x, label, far = table(40, rows=400)
    label = np.where(far, 3, label)
    label[np.flatnonzero(~far)[:40]] = 3  # half of the rare class lies among the others
    given = evidence(x, label, label == 3)
    assert given.contradicted[far].mean() > 0.4
    assert not far_out.find(given).found


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda x: np.sign(x), "words and counts lie apart of themselves"),
        (lambda x: x[:, :1], "one column"),
        (lambda x: np.zeros_like(x), "no distances"),
    ],
)
def test_where_distances_tell_nothing_it_is_silent(change, why):
    x, label, junk = table(30)
    given = evidence(change(x), label, junk)
    assert far_out.how_far(given) is None, why
    assert not far_out.find(given).found


def test_foreign_samples_that_others_found_are_left_to_them():
    x, label, junk = table(30)
    given = evidence(x, label, junk)
    alone = far_out.find(given)
    assert alone.found
    assert not far_out.find(given.after("random_labels", alone)).found


def test_junk_is_found_beside_wrong_labels():
    x, label, junk = table(30, rows=400)
    wrong = ~junk & (np.arange(len(label)) % 10 == 0)
    label = np.where(wrong, (label + 1 + np.arange(len(label)) // 10 % 2) % 3, label)
    found = gl.audit(x, label)
    assert "far_out" in found.found_by
    assert (found.kind[junk] == OOD).mean() > 0.9
    assert (found.kind[wrong] == MISLABELLED).mean() > 0.8
    assert (junk | wrong)[found.suspected].mean() > 0.9


def test_labels_that_others_hold_for_wrong_are_no_errors_of_the_views():
    x, label, junk = table(30, rows=400)
    wrong = ~junk & (np.arange(len(label)) % 4 == 0)
    given = evidence(x, label, junk | wrong)
    assert not far_out.find(given).found
    chance = np.where(wrong, 0.9, 0.0)
    explained = given.after("flipped_labels", Finding(chance, chance, np.zeros(len(label)), chance))
    np.testing.assert_array_equal(far_out.find(explained).prior > 0, junk)


def test_a_tail_that_thins_out_slowly_is_no_junk():
    x, label, junk = table(30)
    assert far_out.find(evidence(x, label, junk)).found
    x[junk] *= np.arange(1, 31)[:, None] ** -0.8  # from as far as the junk lay to among the others
    assert not far_out.find(evidence(x, label, junk)).found
