"""Killed runs go on to the same bits as unbroken ones; damaged and foreign checkpoints are refused."""

import copy
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from training_helpers import blobs, mlp

from graylearn.errors import CheckpointError
from graylearn.methods import Method, make_method
from graylearn.training import ScheduleSettings, train
from graylearn.training.checkpoint import load_checkpoint, pack, save_checkpoint, unpack

HERE = Path(__file__).parent


class Server:
    """Trainings in children that can be killed."""

    def __init__(self):
        root = str(HERE.parent.parent)
        path = os.pathsep.join([str(HERE), root, *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "run_in_child.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )

    def __call__(self, **job):
        self.process.stdin.write(json.dumps(job, default=str) + "\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline()
        assert reply, self.process.stderr.read()
        return json.loads(reply)["status"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture(scope="module")
def child():
    server = Server()
    yield server
    server.close()


def load(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def assert_same_run(one, other):
    assert set(one) == set(other)
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


JOBS = {
    "gl": {"method": "gl"},
    "gl, any module": {"method": "gl", "opaque": True},
    "spl, which remembers": {"method": "spl"},
    "nlnl, which reads the history": {"method": "nlnl"},
    "lcvd, which draws": {"method": "lcvd"},
    "co-teaching, two networks": {"method": "co-teaching"},
    "srcc, which reads features": {"method": "srcc"},
    "a shuffling loader": {"method": "standard", "loader": True},
}


@pytest.mark.parametrize("name", JOBS)
def test_killed_at_a_random_step_and_resumed_equals_unbroken(name, child, tmp_path):
    job = {**JOBS[name], "checkpoint_steps": 4}
    assert child(**job, folder=tmp_path / "whole", out=tmp_path / "whole.npz") == 0
    draw = random.Random(name)
    for place in range(2):
        step = draw.randrange(1, 25)  # 4 epochs of 6 steps
        folder = tmp_path / f"broken{place}"
        assert child(**job, folder=folder, signal_at=step, signal=int(signal.SIGKILL)) == -signal.SIGKILL
        assert child(**job, folder=folder, resume=True, out=tmp_path / "again.npz") == 0
        assert_same_run(load(tmp_path / "whole.npz"), load(tmp_path / "again.npz"))


def test_killed_at_any_file_operation_again_and_again_equals_unbroken(child, tmp_path):
    """A checkpoint every step, and each kill between two of the file operations that write it."""
    job = {"method": "gl", "checkpoint_steps": 1, "epochs": 3}
    assert child(**job, folder=tmp_path / "whole", out=tmp_path / "whole.npz") == 0
    draw, kills = random.Random(0), 0
    while not (tmp_path / "again.npz").exists():
        status = child(
            **job,
            folder=tmp_path / "broken",
            resume=True,
            out=tmp_path / "again.npz",
            kill_at_file_event=draw.randrange(1, 60) + kills,  # later each time: a resumed run must get on
        )
        assert status in (0, -signal.SIGKILL)
        kills += status != 0
    assert kills >= 5
    assert_same_run(load(tmp_path / "whole.npz"), load(tmp_path / "again.npz"))
    folders = [path for path in (tmp_path / "broken").iterdir() if path.is_dir()]
    assert len(folders) == 1  # what killed runs left half written is gone


@pytest.mark.parametrize("workers", [0, 1])
def test_ctrl_c_ends_with_a_checkpoint_and_the_run_goes_on_from_there(workers, child, tmp_path):
    job = {"method": "spl", "workers": workers}
    assert child(**job, folder=tmp_path / "whole", out=tmp_path / "whole.npz") == 0
    stopped = tmp_path / "stopped.npz"
    assert child(**job, folder=tmp_path / "run", out=stopped, signal_at=9, signal=int(signal.SIGINT)) == 0
    assert load(stopped)["interrupted"]
    _, state = load_checkpoint(tmp_path / "run")
    assert (state["epoch"], state["step"]) == (1, 3)  # the ninth of six steps an epoch, to its end
    assert child(**job, folder=tmp_path / "run", resume=True, out=tmp_path / "again.npz") == 0
    whole, again = load(tmp_path / "whole.npz"), load(tmp_path / "again.npz")
    # the mean loss of the broken epoch is summed in two parts
    np.testing.assert_allclose(whole.pop("rows"), again.pop("rows"), rtol=1e-6)
    assert_same_run(whole, again)


# -- in this process ------------------------------------------------------------------------------------


class StopAt(Method):
    """Cross entropy, and Ctrl-C in the step with this number, counted from 1."""

    per_sample = False

    def __init__(self, step=0):
        self.wanted, self.steps = step, 0

    def loss(self, step):
        self.steps += 1
        if self.steps == self.wanted:
            signal.raise_signal(signal.SIGINT)
        return F.cross_entropy(step.logits, step.target, reduction="none")


def in_parts(folder, method, stopping_method, **options):
    """An unbroken run, and one that `stopping_method` interrupts and `method` goes on with."""
    options = {"epochs": 3, "batch_size": 16, "learning_rate": 0.01, "log": "none", **options}
    whole = train(mlp(dropout=0.2), blobs(), method=copy.deepcopy(method), **options)
    broken = train(mlp(dropout=0.2), blobs(), method=stopping_method, checkpoint=folder, **options)
    assert broken.interrupted
    again = train(mlp(dropout=0.2), blobs(), method=method, checkpoint=folder, resume=True, **options)
    return whole, again


@pytest.mark.parametrize("stop", [5, 8, 20])  # 3 epochs of 8 steps, the first 8.4 a warm-up
@pytest.mark.parametrize("name", ["constant", "step", "one-cycle", "cosine"])
def test_stopped_at_any_place_of_a_schedule_the_rates_go_on_as_unbroken(name, stop, tmp_path):
    schedule = ScheduleSettings(name, warmup=0.35, initial=0.01)
    whole, again = in_parts(tmp_path, StopAt(), StopAt(stop), schedule=schedule)
    assert [row["learning_rate"] for row in again.log] == [row["learning_rate"] for row in whole.log]
    assert [row["accuracy"] for row in again.log] == [row["accuracy"] for row in whole.log]
    for mine, theirs in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_the_seconds_of_an_epoch_count_what_went_before_the_stop(tmp_path):
    slow = StopAt(2)
    plain_loss = slow.loss
    slow.loss = lambda step: (time.sleep(0.3), plain_loss(step))[1]
    _, again = in_parts(tmp_path, StopAt(), slow)
    assert again.log[0]["seconds"] > 0.6


class Counting(StopAt):
    """Counts the epochs that began, in place, and scales the loss by the count."""

    state = ("begun",)

    def start(self, task):
        super().start(task)
        self.begun = torch.zeros(())

    def start_epoch(self, epoch):
        self.begun += 1

    def loss(self, step):
        return super().loss(step) * self.begun


class Anew(StopAt):
    """Makes a factor on the loss at the start of each epoch, which no checkpoint keeps."""

    def start_epoch(self, epoch):
        self.factor = 1 + epoch

    def loss(self, step):
        return super().loss(step) * self.factor


def test_what_a_method_makes_at_the_start_of_an_epoch_is_made_again(tmp_path):
    whole, again = in_parts(tmp_path, Anew(), Anew(12))
    for mine, theirs in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_what_a_method_changes_in_place_at_the_start_of_an_epoch_is_changed_once(tmp_path):
    method = Counting()
    whole, again = in_parts(tmp_path, method, Counting(12))
    assert method.begun == 3
    for mine, theirs in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def fit(folder, **changes):
    options = {"method": "gl", "epochs": 2, "batch_size": 16, "checkpoint": folder, "log": "none", **changes}
    return train(mlp(), blobs(), **options)


def test_resuming_a_finished_run_trains_no_more(tmp_path):
    first = fit(tmp_path)
    second = fit(tmp_path, resume=True)
    assert len(second.log) == 2
    for mine, theirs in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    np.testing.assert_array_equal(first.history.label_confidence, second.history.label_confidence)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [0, 1]


def test_resuming_a_run_that_a_callback_ended_trains_no_more(tmp_path):
    ended = fit(tmp_path, epochs=4, callbacks=[lambda end: end.epoch == 1])
    again = fit(tmp_path, epochs=4, resume=True)
    assert again.log == ended.log
    assert len(again.log) == 2
    for mine, theirs in zip(ended.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_resuming_clears_what_killed_runs_left(tmp_path):
    fit(tmp_path)
    leftovers = [tmp_path / "00001-0000000-0123abcd", tmp_path / ".partial-0123abcd"]
    mine = tmp_path / "my notes"
    for folder in (*leftovers, mine):
        folder.mkdir()
    fit(tmp_path, resume=True)
    assert not any(folder.exists() for folder in leftovers)
    assert mine.exists()


def test_resume_in_an_empty_folder_starts_from_the_beginning(tmp_path):
    assert len(fit(tmp_path / "new", resume=True).log) == 2


def test_a_run_is_not_written_over(tmp_path):
    fit(tmp_path)
    with pytest.raises(CheckpointError, match="holds a checkpoint already: pass resume=True"):
        fit(tmp_path)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epochs": 3}, "epochs is 2, not 3"),
        ({"batch_size": 8}, "batch_size is 16, not 8"),
        ({"seed": 1}, "seed is 0, not 1"),
        ({"method": "standard"}, "method is"),
        ({"method": make_method("gl", confidence="label")}, "method is"),
        ({"learning_rate": 0.5}, "optimizer is"),
        ({"schedule": "cosine"}, "schedule is"),
        ({"sample_weight": np.ones(120)}, "sample_weight is"),
    ],
)
def test_other_settings_are_refused_by_name(changes, named, tmp_path):
    fit(tmp_path)
    with pytest.raises(CheckpointError, match=named):
        fit(tmp_path, resume=True, **changes)


def test_other_sample_weights_are_refused(tmp_path):
    weights = np.linspace(0.5, 1.5, 120)
    fit(tmp_path, sample_weight=weights)
    fit(tmp_path, sample_weight=weights, resume=True)
    with pytest.raises(CheckpointError, match="its sample_weight is other, not this one"):
        fit(tmp_path, sample_weight=weights[::-1], resume=True)


def test_other_data_and_another_network_are_refused(tmp_path):
    fit(tmp_path)
    x, y = blobs()
    options = {
        "method": "gl",
        "epochs": 2,
        "batch_size": 16,
        "checkpoint": tmp_path,
        "resume": True,
        "log": "none",
    }
    with pytest.raises(CheckpointError, match="its data is other"):
        train(mlp(), (x + 1, y), **options)
    with pytest.raises(CheckpointError, match="its data is other"):
        train(mlp(), (x, y.roll(1)), **options)
    with pytest.raises(CheckpointError, match="its weights is other"):
        train(mlp(classes=4), (x, y), **options)


@pytest.mark.parametrize("name", ["weights.safetensors", "state.npz", "state.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_file_is_found_and_named(name, damage, tmp_path):
    fit(tmp_path, epochs=1)
    (path,) = tmp_path.glob(f"*/{name}")
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif damage == "cut":
        path.write_bytes(content[:-1])
    else:
        path.unlink()
    with pytest.raises(CheckpointError, match=name):
        fit(tmp_path, epochs=1, resume=True)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 1}', '{"format": 9, "folder": "x", "files": {}}']
)
def test_a_damaged_manifest_is_found(text, tmp_path):
    fit(tmp_path, epochs=1)
    (tmp_path / "checkpoint.json").write_text(text)
    with pytest.raises(CheckpointError):
        fit(tmp_path, epochs=1, resume=True)


def test_a_checkpoint_of_another_format_is_refused(tmp_path):
    fit(tmp_path, epochs=1)
    manifest = json.loads((tmp_path / "checkpoint.json").read_text())
    (tmp_path / "checkpoint.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(CheckpointError, match="format 99"):
        load_checkpoint(tmp_path)


def test_no_file_of_a_checkpoint_is_a_pickle(tmp_path):
    fit(tmp_path, method="spl", epochs=1)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 5
    for path in files:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as file:
                assert all(file[name].dtype != object for name in file.files)
        elif path.suffix in (".json", ".jsonl"):
            for line in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
                json.loads(line, parse_constant=pytest.fail)
        else:
            assert path.suffix == ".safetensors"


def test_values_come_back_as_they_were(tmp_path):
    state = {
        "numbers": [1, 2.5, float("inf"), float("-inf"), True, None, "text"],
        "tuple": (1, (2, "three")),
        3: torch.arange(4, dtype=torch.int16),
        "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "empty": torch.empty(0, 3),
        "array": np.arange(6, dtype=np.uint8).reshape(2, 3),
        "scalar": torch.tensor(2.0, dtype=torch.float64),
        "nan": float("nan"),
    }
    save_checkpoint(tmp_path, {"w": torch.rand(2, 3, 4).transpose(0, 2)}, state, epoch=1, step=2)
    weights, back = load_checkpoint(tmp_path)
    assert weights["w"].shape == (4, 3, 2)
    assert back["numbers"] == state["numbers"]
    assert back["tuple"] == state["tuple"]
    assert np.isnan(back["nan"])
    for name in (3, "half", "empty", "scalar"):
        assert back[name].dtype == state[name].dtype
        assert torch.equal(back[name], state[name])
    np.testing.assert_array_equal(back["array"], state["array"])


def test_what_cannot_be_kept_is_named():
    with pytest.raises(CheckpointError, match="cannot keep object"):
        pack({"x": object()}, {})
    assert unpack(pack([1, {"a": (2,)}], {}), {}) == [1, {"a": (2,)}]


def test_files_of_the_user_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "my-own-notes").mkdir()
    (tmp_path / "my-own-notes" / "a.txt").write_text("keep")
    fit(tmp_path)
    assert (tmp_path / "my-own-notes" / "a.txt").read_text() == "keep"


def test_what_a_kill_left_of_an_old_checkpoint_goes_with_the_next(tmp_path):
    (tmp_path / "00001-0000002-0123abcd").mkdir()
    (tmp_path / ".partial-0123abcd").mkdir()
    fit(tmp_path, epochs=1)
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 1


def signed_again(folder, name, content):
    """As somebody may who knows how checkpoints are signed."""
    manifest = json.loads((folder / "checkpoint.json").read_text())
    (folder / manifest["folder"] / name).write_bytes(content)
    manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "checkpoint.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("weights.safetensors", b"\xff" * 40),
        ("state.npz", b"PK"),
        ("state.json", b'{"$dict": [[1]]}'),
        ("state.json", b"[" * 100_000),
        ("state.json", b'{"$tensor": "a0", "dtype": "nothing"}'),
        ("state.json", b"[]"),
    ],
)
def test_a_checkpoint_that_somebody_else_signed_is_an_error_of_one_sentence(name, content, tmp_path):
    fit(tmp_path, epochs=1)
    signed_again(tmp_path, name, content)
    with pytest.raises(CheckpointError, match="cannot be used"):
        load_checkpoint(tmp_path)


def test_a_checkpoint_lies_beside_its_manifest(tmp_path):
    fit(tmp_path / "run", epochs=1)
    manifest = json.loads((tmp_path / "run" / "checkpoint.json").read_text())
    (tmp_path / "run" / manifest["folder"]).rename(tmp_path / "elsewhere")
    (tmp_path / "run" / "checkpoint.json").write_text(json.dumps({**manifest, "folder": "../elsewhere"}))
    with pytest.raises(CheckpointError, match="is damaged"):
        load_checkpoint(tmp_path / "run")
