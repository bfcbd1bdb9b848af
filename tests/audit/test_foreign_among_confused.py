"""Foreign samples that share one label beside labels that are mistaken for one another."""

import numpy as np
import pytest
from audit_clouds import clouds

from graylearn.audit import Audit
from graylearn.audit.evidence import gather
from graylearn.audit.kinds import MISLABELLED, OOD


def found_among(foreign):
    """An audit of clouds in which a tenth is called the next class, and a share of each label is foreign."""
    x, label, is_foreign = clouds(8, foreign, n=1200)
    k, rows = 8, np.arange(len(label))
    true, wrong = label, ~is_foreign & (rows % 10 == 0)
    label = np.where(wrong, (true + 1) % k, true)
    p = np.full((len(label), k), 0.01)
    p[rows, (true + 1) % k] += 0.1
    p[rows, true] += np.where(
        is_foreign, 0.4, 0.82
    )  # the network half learns what foreign samples are called
    p /= p.sum(axis=1, keepdims=True)
    evidence = gather(p, label, tuple(range(k)), x, "held-out", "none")
    return Audit.from_evidence(evidence, rows), wrong, is_foreign


@pytest.mark.parametrize("foreign", [0.0, 0.2])
def test_they_are_told_from_wrong_labels(foreign):
    found, wrong, is_foreign = found_among(foreign)
    expected = ("class_confusion", "foreign_among_confused") if foreign else ("class_confusion",)
    assert found.found_by == expected
    assert found.suspected[wrong | is_foreign].mean() > 0.9
    assert (wrong | is_foreign)[found.suspected].mean() > 0.9
    assert (found.kind[wrong & found.suspected] == MISLABELLED).mean() > 0.95
    if foreign:
        assert (found.kind[is_foreign & found.suspected] == OOD).mean() > 0.95
