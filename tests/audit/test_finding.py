"""Findings side by side, and what detectors see of those before them."""

import numpy as np
import pytest

from graylearn import Audit
from graylearn.audit import verdict
from graylearn.audit.evidence import gather
from graylearn.audit.finding import Finding, nothing, together
from graylearn.audit.kinds import MISLABELLED, OK


def finding(chance, **fields):
    chance = np.asarray(chance, dtype=float)
    return Finding(chance, chance, np.zeros(len(chance)), chance, **fields)


def evidence(n=40):
    label = np.arange(n) % 4
    return gather(np.full((n, 4), 0.25), label, ("a", "b", "c", "d"), None, "predictions", "possible")


def test_a_sample_belongs_if_it_belongs_by_each_finding():
    both = together([finding([0.5, 0.5, 0.0]), finding([0.5, 0.0, 0.2])], 3)
    np.testing.assert_allclose(both.posterior, [0.75, 0.5, 0.2])
    np.testing.assert_allclose(both.prior, [0.5, 0.5, 0.2])
    assert not together([], 3).posterior.any()


def test_a_tiny_chance_keeps_its_order_beside_detectors_that_are_silent():
    tiny = np.array([1e-30, 2e-30, 3e-30])
    np.testing.assert_array_equal(together([finding(tiny), nothing(3)], 3).posterior, tiny)


def test_suspects_are_left_out_for_the_next_detector_and_overruled_findings_are_dropped():
    given = evidence()
    chance = np.zeros(len(given))
    chance[:3] = 0.9
    after = given.after("first", finding(chance))
    assert given.unsuspected.tolist() == list(range(40))
    assert after.unsuspected.tolist() == list(range(3, 40))
    assert after.found
    assert not given.found
    last = after.after("second", finding(chance, overrules=("first",)))
    assert list(last.findings) == ["second"]


def test_detectors_are_asked_after_those_they_read():
    known = ["random_labels", "foreign_clusters", "class_confusion", "flipped_labels"]
    assert [name for name in verdict.DETECTORS if name in known] == known


def test_a_new_detector_needs_no_more_than_to_be_in_the_registry(monkeypatch):
    given = evidence()
    chance, offered = np.zeros(len(given)), np.full(len(given), -1)
    chance[5], offered[5] = 0.9, 3
    new = finding(chance, suggested=offered, notes=("one",), hints=("none",), details={"shade": 0.5})
    monkeypatch.setitem(verdict.DETECTORS, "new", lambda seen: new)
    found = Audit.from_evidence(given, np.arange(len(given)))
    assert found.found_by == ("new",)
    assert found.suspected.nonzero()[0].tolist() == [5]
    assert found.kind[5] == MISLABELLED
    assert found.suggested[5] == 3
    assert (np.delete(found.kind, 5) == OK).all()
    assert "one" in found.notes
    assert "none" not in found.notes
    assert found.details["shade"] == 0.5
    assert found.detector[5] == 0
    assert (np.delete(found.detector, 5) == -1).all()


def test_the_detector_that_holds_the_most_against_a_sample_speaks_for_it(monkeypatch):
    given = evidence()
    one, other, silent = (np.zeros(len(given)) for _ in range(3))
    one[[3, 4]], other[[4, 5]] = (0.9, 0.6), (0.8, 0.9)
    said = {"silent": silent, "one": one, "other": other}
    detectors = {name: lambda seen, chance=chance: finding(chance) for name, chance in said.items()}
    monkeypatch.setattr(verdict, "DETECTORS", detectors)
    table = Audit.from_evidence(given, np.arange(len(given))).table
    assert table["detector"][[3, 4, 5]].tolist() == ["one", "other", "other"]
    assert table["detector"].notna().sum() == 3


@pytest.mark.parametrize("doubts", [True, False])
def test_where_nothing_is_found_doubt_is_the_order(monkeypatch, doubts):
    given = evidence()
    order = np.linspace(0.0, 1.0, len(given))
    said = nothing(len(given), doubt=order if doubts else None, hints=("look here",))
    monkeypatch.setattr(verdict, "DETECTORS", {"one": lambda seen: said})
    found = Audit.from_evidence(given, np.arange(len(given)))
    np.testing.assert_allclose(found.score, order if doubts else 0.75)
    assert "look here" in found.notes
    assert not found.suspected.any()
