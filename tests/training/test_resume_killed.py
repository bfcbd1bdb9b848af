"""Killed runs go on to the same bits as unbroken ones."""

import json
import random
import signal
from pathlib import Path

import numpy as np
import pytest
from warm import Process

from graylearn.training.checkpoint import load_checkpoint

CODE = f"""
import json, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from run_in_child import run
run(json.loads(sys.argv[1]))
"""


def child(**job):
    """Run a training in a process of its own; its exit code, or minus the signal that ended it."""
    return Process(CODE, json.dumps(job, default=str)).communicate()[2]


def load(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def assert_same_run(one, other):
    assert set(one) == set(other)
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


JOBS = {
    "gl, any module": {"method": "gl", "opaque": True},
    "spl, which remembers": {"method": "spl"},
    "lcvd, which draws": {"method": "lcvd"},
    "co-teaching, two networks": {"method": "co-teaching"},
    "a shuffling loader": {"method": "standard", "loader": True},
}


@pytest.mark.parametrize("name", JOBS)
def test_killed_at_a_random_step_and_resumed_equals_unbroken(name, tmp_path):
    job = JOBS[name]
    assert child(**job, folder=tmp_path / "whole", out=tmp_path / "whole.npz") == 0
    step = random.Random(name).randrange(7, 25)  # 4 epochs of 6 steps
    folder = tmp_path / "broken"
    assert child(**job, folder=folder, signal_at=step, signal=int(signal.SIGKILL)) == -signal.SIGKILL
    assert child(**job, folder=folder, resume=True, out=tmp_path / "again.npz") == 0
    assert_same_run(load(tmp_path / "whole.npz"), load(tmp_path / "again.npz"))


def test_killed_at_any_file_operation_again_and_again_equals_unbroken(tmp_path):
    """Each kill between two of the file operations that write a checkpoint."""
    job = {"method": "gl", "epochs": 18}
    assert child(**job, folder=tmp_path / "whole", out=tmp_path / "whole.npz") == 0
    draw, kills = random.Random(0), 0
    while not (tmp_path / "again.npz").exists():
        status = child(
            **job,
            folder=tmp_path / "broken",
            resume=True,
            out=tmp_path / "again.npz",
            kill_at_file_event=draw.randrange(1, 25) + kills,  # later each time: a resumed run must get on
        )
        assert status in (0, -signal.SIGKILL)
        kills += status != 0
    assert kills >= 5
    assert_same_run(load(tmp_path / "whole.npz"), load(tmp_path / "again.npz"))
    left = sorted(path.name for path in (tmp_path / "broken").iterdir())
    assert left == ["checkpoint.safetensors"]  # what killed runs left half written is gone


@pytest.mark.parametrize("workers", [0, 1])
def test_after_ctrl_c_the_run_goes_on_from_the_last_whole_epoch(workers, tmp_path):
    job = {"method": "spl", "workers": workers}
    assert child(**job, folder=tmp_path / "whole", out=tmp_path / "whole.npz") == 0
    stopped = tmp_path / "stopped.npz"
    assert child(**job, folder=tmp_path / "run", out=stopped, signal_at=9, signal=int(signal.SIGINT)) == 0
    assert load(stopped)["interrupted"]
    _, state = load_checkpoint(tmp_path / "run")
    assert state["epoch"] == 1  # it came in the ninth step, of six an epoch
    assert child(**job, folder=tmp_path / "run", resume=True, out=tmp_path / "again.npz") == 0
    assert_same_run(load(tmp_path / "whole.npz"), load(tmp_path / "again.npz"))
