"""One run from file to report: the same each time, and gone on with where it was cut."""

import json
import os
import signal

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from run_helpers import write_blobs

from graylearn.audit import Audit
from graylearn.errors import DataError
from graylearn.estimator import GrayClassifier
from graylearn.runs import RunProgress, RunSettings, read_settings, run, settings_from, start
from graylearn.runs.check import check
from graylearn.runs.folder import FolderTakenError
from graylearn.runs.oddities import write_copies
from graylearn.training.loop import Loop

WRONG = (4, 30, 61)
SAME = ("audit.csv", "log.jsonl", "model/weights.safetensors")


def settings_for(data, **changes):
    return RunSettings(data=str(data), **{"epochs": 12, "test_share": 0.2, **changes})


def quiet(settings, out, **options):
    return run(settings, out, progress=RunProgress(quiet=True), **options)


def contents(folder):
    """What must not differ between two runs; times are left out of the log."""
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    for row in rows:
        del row["seconds"], row["samples_per_second"]
    files = [(folder / name).read_bytes() for name in SAME if name != "log.jsonl"]
    return [rows, *files]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    data = write_blobs(folder / "blobs.csv", wrong=WRONG)
    return data, folder / "run", quiet(settings_for(data), folder / "run")


def test_a_run_folder_holds_what_it_promises(made):
    _, folder, summary = made
    found = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert found == {
        "audit.csv", "audit.parquet", "data.json", "environment.json", "log.jsonl", "model",
        "report.html", "run.log", "samples.parquet", "settings.toml", "summary.json",
    }  # fmt: skip
    audit = pd.read_csv(folder / "audit.csv")
    assert audit.columns.tolist() == [
        "id", "label", "confidence", "score", "suspected", "level", "kind", "suggested", "because",
        "group",
    ]  # fmt: skip
    assert len(audit) == summary["samples"] == 72
    typed = pd.read_parquet(folder / "audit.parquet")
    assert typed["id"].tolist() == audit["id"].tolist()
    assert typed["score"].tolist() == pytest.approx(audit["score"].tolist())
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows if row["fit"] == "first"] == list(range(12))
    assert json.loads((folder / "summary.json").read_text()) == summary
    assert "torch" in json.loads((folder / "environment.json").read_text())["packages"]
    assert list(summary["test"])[:2] == ["standard", "gray"]
    assert summary["test"]["gray"]["accuracy"] > 0.8


def test_the_settings_repeat_the_run(made, tmp_path):
    _, folder, _ = made
    again = settings_from(read_settings(folder / "settings.toml"), "settings.toml")
    quiet(again, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(folder)
    assert (tmp_path / "again" / "settings.toml").read_text() == (folder / "settings.toml").read_text()


def test_a_classifier_in_stages_is_the_classifier(made, tmp_path):
    """What the run folder holds is what the library gives to whoever calls it directly."""
    data, _, _ = made
    frame = pd.read_csv(data)
    quiet(settings_for(data, test_share=None), tmp_path / "run")
    direct = GrayClassifier(epochs=12, refine=True, random_state=0)
    direct.fit(frame[["one", "two", "three"]], frame["label"])
    saved = GrayClassifier.load(tmp_path / "run" / "model")
    new = frame[["one", "two", "three"]].head(20)
    assert np.array_equal(saved.predict_proba(new), direct.predict_proba(new))
    assert np.array_equal(saved.audit_.score, direct.audit_.score)


class CutError(Exception):
    """Stands for the end of the process."""


def cut(*_, **__):
    raise CutError


def run_and_cut(settings, out, monkeypatch, where, name):
    """A run that ends when it comes to `name`."""
    with monkeypatch.context() as patch:
        patch.setattr(where, name, cut)
        with pytest.raises(CutError):
            quiet(settings, out)


@pytest.mark.parametrize(
    ("where", "name"), [(Audit, "write"), (start, "write_classifier"), (start, "make_report")]
)
def test_a_run_cut_anywhere_gives_the_same(made, tmp_path, monkeypatch, where, name):
    data, folder, _ = made
    run_and_cut(settings_for(data), tmp_path / "cut", monkeypatch, where, name)
    assert not (tmp_path / "cut" / "summary.json").exists()
    quiet(settings_for(data), tmp_path / "cut")
    assert contents(tmp_path / "cut") == contents(folder)
    assert not (tmp_path / "cut" / "stages").exists()


def test_the_first_fit_goes_on_from_its_checkpoint(made, tmp_path, monkeypatch):
    data, _, _ = made
    run_and_cut(settings_for(data), tmp_path / "cut", monkeypatch, Audit, "write")
    checkpoint = tmp_path / "cut" / "stages" / "first-0" / "checkpoint.safetensors"
    before = checkpoint.read_bytes()
    run_and_cut(settings_for(data), tmp_path / "cut", monkeypatch, Audit, "write")
    assert checkpoint.read_bytes() == before  # nothing was trained: no new checkpoint


def test_other_data_are_not_gone_on_with(tmp_path, monkeypatch):
    data = write_blobs(tmp_path / "blobs.csv")
    run_and_cut(settings_for(data), tmp_path / "cut", monkeypatch, Audit, "write")
    write_blobs(data, seed=1)
    with pytest.raises(FolderTakenError, match="has changed since the run"):
        quiet(settings_for(data), tmp_path / "cut")


def test_ctrl_c_in_the_training_of_a_committee_ends_the_run_and_it_goes_on(made, tmp_path, monkeypatch):
    data, folder, _ = made
    plain, came = Loop._finish_epoch, []

    def finish(loop):
        if loop.epoch == 4 and len(loop.models) == 5:
            came.append(5)
            signal.raise_signal(signal.SIGINT)
        return plain(loop)

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "_finish_epoch", finish)
        with pytest.raises(KeyboardInterrupt):
            quiet(settings_for(data), tmp_path / "cut")
    assert came == [5]
    assert not (tmp_path / "cut" / "summary.json").exists()
    quiet(settings_for(data), tmp_path / "cut")
    assert contents(tmp_path / "cut") == contents(folder)


def test_images_whose_names_are_not_unicode_are_refused_before_the_work(tmp_path):
    photos = tmp_path / "photos"
    for name in (b"red/1.png", b"red/2.png", b"blue/1.png", b"blue/\xff.png"):
        path = photos / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(path)
    settings = RunSettings(data=str(photos), features="pixels", size=8)
    for attempt in (
        lambda: quiet(settings, tmp_path / "run"),
        lambda: check(settings, cache=tmp_path / "cache", progress=RunProgress(quiet=True)),
        lambda: write_copies(settings, tmp_path / "copies.csv", RunProgress(quiet=True)),
    ):
        with pytest.raises(DataError) as caught:
            attempt()
        assert "holds 'blue/\\udcff.png', whose name is not UTF-8: rename it" in str(caught.value)
