"""A classifier that is saved over another: whenever it is killed, one of the two is there, whole."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from warm import Process

from graylearn.estimator import GrayClassifier

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forked")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Folders of a classifier with an audit and of one without."""
    folder = tmp_path_factory.mktemp("models")
    y = np.arange(60) % 2
    x = np.random.default_rng(0).normal(size=(60, 3)) + 3 * y[:, None]
    options = {"network_options": {"hidden": (4,)}, "device": "cpu", "random_state": 0, "refine": False}
    for name, epochs, audit in (("audited", 3, "history"), ("plain", 2, None)):
        GrayClassifier(epochs=epochs, audit=audit, **options).fit(x, y).save(folder / name)
    return folder


def test_killed_at_any_file_operation_the_old_or_the_new_one_is_loaded(models, tmp_path):
    """At one of four here; all were tried by hand."""
    script = Path(__file__).with_name("save_and_kill.py").read_text(encoding="utf-8")
    words = (models / "audited", models / "plain", tmp_path / "model", 4)
    said, errors, code = Process(script, *words).communicate()
    assert code == 0, errors
    plain = {"model.json", "weights.safetensors", "history.npz", "model-card.md"}
    audit = {"audit", "audit/audit.json", "audit/arrays.npz", "audit/table.csv"}
    for old, expected in (("audited", plain), ("plain", plain | audit)):
        rows = [row for line in said.splitlines() if (row := json.loads(line))[0] == old]
        held = [row[2] for row in rows]
        switch = held.index("new")
        assert held == ["old"] * switch + ["new"] * (len(rows) - switch)
        assert switch > 5
        assert len(rows) - switch > 2  # all of it is written beside, then swapped in
        assert [row[1] for row in rows] == [True] * (len(rows) - 1) + [False]
        again = [row[3:] for row in rows if row[3:]]
        assert {name for name, _ in again} == {"new"}  # saved again, over what the kill left
        for _, left in again:
            assert set(left) == expected
