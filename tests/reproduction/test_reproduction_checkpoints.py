"""What a cell leaves on the disk: a killed one resumes, one at work tells how far it is."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from warm import Process

from graylearn.estimator import pipeline
from reproduction import sweep
from reproduction.cells import Cell
from reproduction.checkpoints import Checkpoints
from reproduction.experiments import EXPERIMENTS
from reproduction.images import run_images
from reproduction.measure import rounded
from reproduction.options import Options

HELD = """
import os, sys, time

def wait(event, given, seen=[]):
    if event == "os.rename" and str(given[1]).endswith("checkpoint.safetensors"):
        seen.append(1)
        if len(seen) == 2:  # the first checkpoint is there
            open(os.path.join(os.path.dirname(__file__), f"{os.getpid()}.reached"), "w").close()
            time.sleep(1e6)  # until it is killed

sys.addaudithook(wait)
"""
"""What every process of the sweep runs first, as its sitecustomize."""
IN_A_CHILD = """
import os, sys
from pathlib import Path
from reproduction.experiments import EXPERIMENTS
from reproduction.options import Options
from reproduction.sweep import sweep
os.setsid()
options = Options(
    quick=True, methods=("gl", "gl+refine", "standard"), labels=("random",), epochs=4,
    workers=2, store=Path(sys.argv[1]),
)
sweep(EXPERIMENTS["table1"], options)
"""
FEW = Cell("image", "digits/8", "gl", 0, ood="other-classes", net="small_cnn-8", preset="paper", epochs=6,
           batch_size=16, train_size=120)  # fmt: skip


def numbers(measured):
    clocks = ("seconds", "images_per_second")
    return rounded({name: value for name, value in measured.items() if name not in clocks})


def measured_of(cells, checkpoints):
    return {cell.key: numbers(measured) for cell, measured in run_images(cells, None, "cpu", checkpoints)}


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_two_workers_killed_with_kill_9_resume_and_give_the_same_numbers(tmp_path, monkeypatch):
    store = tmp_path / "table1.jsonl"
    (tmp_path / "sitecustomize.py").write_text(HELD)
    options = Options(quick=True, methods=("gl", "gl+refine", "standard"), labels=("random",), epochs=4)
    table1 = EXPERIMENTS["table1"]
    whole = sweep.sweep(table1, replace(options, store=tmp_path / "whole.jsonl"))
    assert not whole.store.path.with_suffix(".checkpoints").exists()
    folder = store.with_suffix(".checkpoints")
    root = Path(sweep.__file__).parents[1]
    path = os.pathsep.join([str(tmp_path), str(root), os.environ.get("PYTHONPATH", "")])
    child = Process(IN_A_CHILD, store, environment={**os.environ, "PYTHONPATH": path})
    while len(list(tmp_path.glob("*.reached"))) < 2:
        assert child.poll() is None, child.communicate()
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)  # the sweep and both workers
    child.communicate()
    begun = list(folder.glob("*/checkpoint.safetensors"))
    assert len(begun) == 2
    for path in begun:
        with FileLock(path.with_name(".training.lock")):  # its worker has come to its end
            pass
    first = []
    train = pipeline.train

    def seen(*arguments, **settings):
        result = train(*arguments, **settings)
        first.append(settings["callbacks"][-1].first)
        return result

    monkeypatch.setattr(pipeline, "train", seen)
    done = sweep.sweep(table1, replace(options, store=store))
    assert [0 if epoch == 0 else 1 for epoch in first[:2]] == [1, 1]  # both went on from a checkpoint
    of = lambda outcome: {row["key"]: numbers(row["measured"]) for row in outcome.rows()}  # noqa: E731
    assert of(done) == of(whole)
    assert not folder.exists()


def test_checkpoints_of_other_settings_are_begun_anew(tmp_path, one_thread):
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    other = FEW.but(epochs=3)
    expected = measured_of([FEW], Checkpoints())
    list(run_images([other], None, "cpu", checkpoints))
    (tmp_path / "checkpoints" / other.key).rename(tmp_path / "checkpoints" / FEW.key)
    assert measured_of([FEW], checkpoints) == expected
    checkpoints.clear(FEW)
    assert not (tmp_path / "checkpoints").exists()
