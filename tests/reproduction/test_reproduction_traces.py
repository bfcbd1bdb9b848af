"""What a cell leaves on the disk: a killed one resumes, one at work tells how far it is."""

import json
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from filelock import FileLock
from warm import Process

from graylearn.errors import FolderTakenError
from graylearn.estimator import pipeline
from graylearn.losses.reference import gray_gradient
from graylearn.methods import Task, make_method
from graylearn.training import History
from reproduction import progress, sweep
from reproduction.cells import Cell
from reproduction.diagnostics import gradients, trust
from reproduction.experiments import EXPERIMENTS
from reproduction.images import run_images
from reproduction.measure import rounded
from reproduction.options import Options
from reproduction.progress import followed
from reproduction.traces import Traces

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
    quick=True, methods=("gl", "gl+refine", "standard"), only=True, labels=("random",), epochs=4,
    workers=2, store=Path(sys.argv[1]),
)
sweep(EXPERIMENTS["table1"], options)
"""
FEW = Cell("image", "digits/8", "gl", 0, ood="other-classes", net="small_cnn-8", preset="paper", epochs=6,
           batch_size=16, train_size=120)  # fmt: skip


def numbers(measured):
    clocks = ("seconds", "images_per_second")
    return rounded({name: value for name, value in measured.items() if name not in clocks})


def measured_of(cells, traces):
    return {cell.key: numbers(measured) for cell, measured in run_images(cells, None, "cpu", traces)}


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_two_workers_killed_with_kill_9_resume_and_give_the_same_numbers(tmp_path, monkeypatch):
    store = tmp_path / "table1.jsonl"
    (tmp_path / "sitecustomize.py").write_text(HELD)
    options = Options(
        quick=True, methods=("gl", "gl+refine", "standard"), only=True, labels=("random",), epochs=4
    )
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
        first.append(settings["callbacks"][0].first)
        return result

    monkeypatch.setattr(pipeline, "train", seen)
    done = sweep.sweep(table1, replace(options, store=store))
    assert [0 if epoch == 0 else 1 for epoch in first[:2]] == [1, 1]  # both went on from a checkpoint
    of = lambda outcome: {row["key"]: numbers(row["measured"]) for row in outcome.rows()}  # noqa: E731
    assert of(done) == of(whole)
    assert not folder.exists()


def test_a_cell_that_another_process_trains_is_left_to_it(tmp_path, one_thread):
    folder = tmp_path / "checkpoints" / FEW.key
    folder.mkdir(parents=True)
    (folder / "theirs").touch()
    with FileLock(folder / ".training.lock"), pytest.raises(FolderTakenError, match="another process is"):
        list(run_images([FEW], None, "cpu", Traces(checkpoints=tmp_path / "checkpoints")))
    assert (folder / "theirs").exists()


def test_checkpoints_of_other_settings_are_begun_anew(tmp_path, one_thread):
    traces = Traces(checkpoints=tmp_path / "checkpoints")
    other = FEW.but(epochs=3)
    expected = measured_of([FEW], Traces())
    list(run_images([other], None, "cpu", traces))
    (tmp_path / "checkpoints" / other.key).rename(tmp_path / "checkpoints" / FEW.key)
    assert measured_of([FEW], traces) == expected
    traces.clear(FEW)
    assert not (tmp_path / "checkpoints").exists()


def test_progress_is_told_while_a_cell_trains(tmp_path, monkeypatch, one_thread):
    monkeypatch.setattr(progress, "_LOOK", 0.01)
    path, told = tmp_path / "sweep.log", []
    monkeypatch.setattr(Traces, "progressing", lambda self, cell: progress.Progress(str(cell), 6, path, 0.0))
    path.write_text("a line of an earlier sweep\n")
    with followed(path, told.append):
        list(run_images([FEW], None, "cpu", Traces(progress=path)))
    assert path.read_text().splitlines()[1:] == told
    assert len(told) == 6
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d [\d:]{8} digits/8 gl seed 0 .*: epoch 2/6, accuracy 0\.\d{4}, \d+ images/s, "
        r"\d+ s left",
        told[1],
    )


def test_a_kept_history_tells_the_samples_and_their_truth(tmp_path, one_thread):
    traces = Traces(histories=tmp_path / "kept")
    list(run_images([FEW], None, "cpu", traces))
    history = History.load(tmp_path / "kept" / f"{FEW.key}.npz")
    assert history.label_confidence.shape == (6, 133)
    with np.load(tmp_path / "kept" / f"{FEW.key}.npz") as arrays:
        is_ood = arrays["is_ood"]
    assert is_ood.sum() == 13
    told = json.loads((tmp_path / "kept" / f"{FEW.key}.json").read_text())
    assert told["cell"] == FEW.to_dict()
    assert len(told["log"]) == 6
    groups = told["groups"]
    assert groups["epochs"] == [1, 2, 3, 4, 5, 6]
    assert "flipped" not in groups
    assert groups["ood"]["samples"] == 13
    np.testing.assert_allclose(groups["ood"]["label"], history.label_confidence[:, is_ood].mean(1), atol=1e-3)
    np.testing.assert_allclose(groups["clean"]["confidence"], groups["clean"]["max"])
    shares = [groups[name][part] for name in ("clean", "ood") for part in ("given", "rejected")]
    np.testing.assert_allclose(np.sum(shares, axis=0), 1, atol=1e-5)


def test_a_second_fit_begins_from_the_history_that_was_kept(tmp_path, monkeypatch, one_thread):
    traces = Traces(histories=tmp_path / "kept")
    refined = FEW.but(method="gl+refine")
    together = measured_of([FEW, refined], traces)
    stages = []
    train = pipeline.Pipeline.train
    monkeypatch.setattr(
        pipeline.Pipeline, "train", lambda self, fit: stages.append(fit.stage) or train(self, fit)
    )
    alone = measured_of([refined], traces)
    assert alone[refined.key] == together[refined.key]
    # where the audit finds nothing to believe, the first fit answers and must be trained
    assert stages == (["refined"] if together[refined.key]["refined"] else ["first"])


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
@pytest.mark.parametrize("is_top", [True, False])
def test_gradients_are_those_of_the_loss(classes, is_top):
    q = 0.6 if is_top else 0.2
    m = q if is_top else 0.8 if classes == 2 else 0.5
    probability = np.empty(classes)
    probability[0] = q
    if is_top:
        probability[1:] = (1 - q) / (classes - 1)
    else:
        probability[1] = m
        probability[2:] = (1 - q - m) / max(classes - 2, 1)
    logits, label = torch.log(torch.tensor(probability))[None], torch.tensor([0])
    expected = [
        gray_gradient(logits, label, torch.tensor([c], dtype=torch.float64)).abs().sum().item()
        for c in (1.0, 0.0)
    ]
    found = gradients(np.array([q]), np.array([m]), np.array([is_top]), classes)
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-9)


def test_trust_is_that_of_the_method():
    random = np.random.default_rng(0)
    past, targets = random.random((3, 15)), np.repeat([0, 1, 3], 5)  # odd groups: one median, not two
    history = SimpleNamespace(recent_label_confidence=lambda _: torch.as_tensor(past[epoch]))
    method = make_method("gl-history")
    method.start(Task(torch.as_tensor(targets), 4, 3, torch.device("cpu"), history, torch.Generator()))
    for epoch in range(3):
        np.testing.assert_allclose(trust(past[:epoch], targets), method.trust, rtol=1e-5)
        method.end_epoch(epoch)
