"""Audits of parts, brought together."""

from __future__ import annotations

import numpy as np
from planted import believable, clusters

from graylearn.audit import Audit
from graylearn.audit.joint import fields_of, joined, joint_notes
from graylearn.audit.parts import PartFiles, audit_part, whole_of


def test_verdicts_of_several_parts_are_joined_in_their_order():
    """What is said of a sample stays with it; what is said of a set is said of all parts."""
    planted = clusters(200)
    one = Audit.from_predictions(believable(planted), planted.y, planted.x, ids=np.arange(200))
    other = one.take(np.arange(20))
    joint = Audit(**joined([fields_of(other), fields_of(one)]))
    assert joint.ids.tolist() == [*range(20), *range(200)]
    assert joint.because[20:].tolist() == one.because.tolist()
    np.testing.assert_array_equal(joint.posterior[:20], one.posterior[:20])
    assert (joint.judge, joint.classes) == (one.judge, one.classes)


def test_what_is_said_of_several_parts_is_said_once():
    found = joint_notes([("few (a: 3, b: 1)", "weak"), ("few (c: 2)", "weak", "9% of 1,200 odd"), ("weak",)])
    assert found == (
        "few (a: 3, b: 1) (in 2 of 3 parts; the numbers are of one of them)",
        "weak",
        "9% of 1,200 odd (in 1 of 3 parts)",
    )
    assert joint_notes([("few (a: 3)",)]) == ("few (a: 3)",)


def test_parts_are_audited_by_themselves_and_are_one_audit_after(tmp_path):
    planted = clusters(400)
    files = PartFiles(tmp_path, 2)
    state, rows = files.dealt(), np.arange(400)
    files.deal(state, 400, rows, planted.y, planted.x, rows % 2)
    assert (state["end"], files.dealt()) == (400, state)
    for folder in files.open_parts():
        audit_part(folder, range(4), 2)
    assert not files.open_parts()
    whole = whole_of(files)
    assert (np.diff(whole.kept.ids) > 0).all()
    flagged = whole.kept.ids[whole.kept.suspected]
    assert planted.wrong[flagged].mean() >= 0.8
    assert len(flagged) >= 0.8 * planted.wrong.sum()
    low, high = whole.ranges["total"]
    assert low <= whole.contamination["total"] <= high
    np.testing.assert_array_equal(whole.features, planted.x[whole.kept.ids].astype(np.float32))
