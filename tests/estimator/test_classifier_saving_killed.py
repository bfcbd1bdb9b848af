"""A classifier that is saved over another: whenever it is killed, one of the two is there, whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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


@pytest.mark.parametrize(("old", "new"), [("audited", "plain"), ("plain", "audited")])
def test_killed_at_any_file_operation_the_old_or_the_new_one_is_loaded(models, tmp_path, old, new):
    script = Path(__file__).with_name("save_and_kill.py")
    done = subprocess.run(
        [sys.executable, script, models / old, models / new, tmp_path / "model"],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    held = [name for _, name, _, _ in rows]
    switch = held.index("new")
    assert held == ["old"] * switch + ["new"] * (len(rows) - switch)
    assert switch > 10
    assert len(rows) - switch > 10
    assert [killed for killed, *_ in rows] == [True] * (len(rows) - 1) + [False]
    assert {name for _, _, name, _ in rows} == {"new"}  # saved again, over what the kill left
    plain = {"model.json", "weights.safetensors", "history.npz", "model-card.md", "mine.txt"}
    audit = {"audit", "audit/audit.json", "audit/arrays.npz", "audit/table.csv"}
    for *_, left in rows:
        assert set(left) == plain | (audit if new == "audited" else set())
