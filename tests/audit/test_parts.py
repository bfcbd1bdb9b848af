"""Audits of parts, brought together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graylearn.audit import Audit
from graylearn.audit.joint import fields_of, joined, joint_notes
from graylearn.audit.parts import PartFiles, audit_part


def test_verdicts_of_several_parts_name_the_detectors_that_each_had():
    part = Audit.from_predictions(np.full((3, 2), 0.5), [0, 1, 1])
    one = replace(part, found_by=("random_labels", "flipped_labels"), detector=np.array([1, -1, 0]))
    other = replace(part, found_by=("class_confusion", "random_labels"), detector=np.array([0, 1, -1]))
    joint = Audit(**joined([fields_of(one), fields_of(other)]))
    assert joint.found_by == ("random_labels", "flipped_labels", "class_confusion")
    expected = ["flipped_labels", None, "random_labels", "class_confusion", "random_labels", None]
    assert joint.table["detector"].tolist() == expected


def test_what_is_said_of_several_parts_is_said_once():
    found = joint_notes([("few (a: 3, b: 1)", "weak"), ("few (c: 2)", "weak", "9% of 1,200 odd"), ("weak",)])
    assert found == (
        "few (a: 3, b: 1) (in 2 of 3 parts; the numbers are of one of them)",
        "weak",
        "9% of 1,200 odd (in 1 of 3 parts)",
    )
    assert joint_notes([("few (a: 3)",)]) == ("few (a: 3)",)


def test_a_part_that_is_audited_holds_nothing_for_going_on(tmp_path):
    files = PartFiles(tmp_path, 1)
    rows, label = np.arange(60), np.arange(60) % 2
    features = np.random.default_rng(0).normal(label[:, None], 0.1, (60, 2))
    state = files.dealt()
    files.deal(state, 60, rows, label, features, np.zeros(60, dtype=np.int64))
    assert (state["end"], files.dealt()) == (60, state)
    (folder,) = files.open_parts()
    (folder / "networks of a part.npy").touch()
    audit_part(folder, ("a", "b"), 1, epochs=1)
    assert not files.open_parts()
    assert not [*folder.glob("networks*")]
