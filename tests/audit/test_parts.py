"""Audits of parts, brought together."""

from __future__ import annotations

import numpy as np
from planted import clusters

from graylearn.audit.parts import PartFiles, audit_part, whole_of


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
