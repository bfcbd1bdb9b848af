"""Labels drawn at random in sets so small that the labels alone hardly pay for saying so."""

import importlib

import numpy as np
import pytest
from audit_clouds import clouds

import graylearn as gl
from graylearn.audit import audit
from graylearn.audit.detectors import random_labels
from graylearn.audit.kinds import MISLABELLED, OOD, SURE


def folder(share, seed=0):
    """Five clouds of 56 samples; `share` of all come from elsewhere, with any label. Returns also which."""
    random = np.random.default_rng(seed)
    centre = random.normal(size=(25, 64))
    group = np.repeat(np.arange(5), 56)
    foreign = random.random(len(group)) < share
    came = np.where(foreign, random.integers(5, 25, len(group)), group)
    label = np.where(foreign, random.integers(0, 5, len(group)), group)
    return centre[came] + 1.6 * random.normal(size=(len(group), 64)), label, foreign


@pytest.fixture
def shut(monkeypatch):
    """The mixture's own gate is out of reach: samples that lie far out must open it."""
    mixture = importlib.import_module("graylearn.audit.mixture")  # `graylearn.audit` is a function too
    monkeypatch.setattr(mixture, "GATE_FULL", 1e9)
    monkeypatch.setattr(random_labels, "GATE_CONSTANT", 1e9)


def test_samples_that_lie_far_out_open_the_gate_and_none_is_sure(shut):
    x, label, foreign = folder(0.15)
    found = audit(x, label)
    assert found.found_by[0] == "random_labels"
    assert foreign[found.suspected].mean() > 0.7
    assert found.suspected[foreign].mean() > 0.6
    assert not (found.level == SURE).any()


@pytest.mark.parametrize("said", [{"overlap": "possible"}, {}])
def test_they_do_not_where_classes_may_overlap_or_no_sample_is_foreign(shut, said):
    x, label, _ = folder(0.15 if said else 0.0)
    assert "random_labels" not in audit(x, label, **said).found_by


@pytest.mark.parametrize("classes", [30, 80])
def test_many_classes_that_a_table_hardly_tells_are_not_held_for_random(classes):
    random = np.random.default_rng(0)
    label = np.repeat(np.arange(classes), 60)
    x = np.stack([label + random.normal(0, classes / 2, len(label)), random.normal(size=len(label))], axis=1)
    found = audit(x, label)
    assert not found.suspected.any()
    assert "samples do not tell their class" in found.summary()


def test_they_leave_flips_that_explain_the_labels_alone(monkeypatch):
    monkeypatch.setattr(random_labels, "GATE_FAR_OUT", -1e9)
    monkeypatch.setattr(random_labels, "some_lie_far_out", lambda _: pytest.fail("asked all the same"))
    x, group, _ = folder(0.0)
    random = np.random.default_rng(1)
    flipped = random.random(len(group)) < 0.2
    found = audit(x, np.where(flipped, random.integers(0, 5, len(group)), group))
    assert found.form == "constant"


@pytest.mark.parametrize("overlap", ["possible", "none"])
def test_where_classes_may_overlap_more_is_asked_to_be_sure(overlap, monkeypatch):
    x, label, foreign = clouds(3, foreign=0.2, n=600)
    label[foreign] = np.random.default_rng(0).integers(8, size=foreign.sum())
    assert (audit(x, label, overlap=overlap).level == SURE).any()
    monkeypatch.setattr(random_labels, "SURE_GAIN", 1e9)
    assert (audit(x, label, overlap=overlap).level == SURE).any() == (overlap == "none")


@pytest.mark.parametrize("overlap", ["possible", "none"])
def test_of_two_classes_that_may_overlap_no_random_label_is_sure(overlap, monkeypatch):
    monkeypatch.setattr(random_labels, "SURE_GAIN", -np.inf)  # whatever the labels pay
    random = np.random.default_rng(0)
    y = np.arange(600) % 2
    wrong = random.random(600) < 0.1
    found = audit(5 * np.eye(2)[y] + random.normal(size=(600, 2)), np.where(wrong, 1 - y, y), overlap=overlap)
    assert found.found_by == ("random_labels",)
    assert found.suspected[wrong].mean() > 0.9
    assert (found.level == SURE).any() == (overlap == "none")


def test_wrong_labels_of_many_small_classes_are_no_ood():
    """A sample in its own class's centre lay closer to it than one that bears another label."""
    random = np.random.default_rng(0)
    y = np.arange(1200) % 150
    x = 2.2 * random.normal(size=(150, 20))[y] + random.normal(size=(1200, 20))
    label, wrong = y.copy(), random.random(1200) < 0.08
    label[wrong] = (y[wrong] + random.integers(1, 150, wrong.sum())) % 150
    found = gl.audit(x, label, overlap="none").table
    assert (found["kind"][wrong] == "mislabelled").mean() > 0.95
    assert (found["kind"] == "ood").mean() < 0.01


@pytest.mark.parametrize("seed", [0, 1])
def test_wrong_labels_that_gather_in_a_class_belong_to_it(seed):
    random = np.random.default_rng(seed)
    true = np.repeat(np.arange(8), 100)
    x = 2.5 * random.normal(size=(8, 16))[true] / 2 + random.normal(size=(800, 16))
    label = true.copy()
    wrong = np.flatnonzero(true == 3)[:50]
    label[wrong] = random.integers(8, size=50)
    found = audit(x, label)
    right = found.suspected & (label != true)
    assert right.sum() > 30
    assert (found.kind[right] == MISLABELLED).mean() > 0.9
    assert (found.suggested[right] == 3).mean() > 0.9


def test_foreign_samples_that_gather_near_a_class_do_not():
    random = np.random.default_rng(0)
    true = np.repeat(np.arange(9), [*[100] * 8, 60])
    centre = 2.5 * random.normal(size=(9, 16)) / 2
    centre[8] = 0.6 * centre[3] + 0.8 * centre[8]
    x = centre[true] + random.normal(size=(860, 16))
    label = np.where(true == 8, random.integers(8, size=860), true)
    found = audit(x, label)
    foreign = found.suspected & (true == 8)
    assert foreign.sum() > 40
    assert (found.kind[foreign] == OOD).mean() > 0.9
