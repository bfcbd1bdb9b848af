"""Runs of data that tell which samples belong together."""

import json

import numpy as np
import pandas as pd
import pytest
from run_helpers import blobs
from typer.testing import CliRunner

from graylearn.cli.main import app
from graylearn.data.splits import in_order
from graylearn.runs import RunProgress, RunSettings
from graylearn.runs.crowd import with_consensus
from graylearn.runs.folder import RunFolder
from graylearn.runs.predict import predict
from graylearn.runs.prepare import prepare
from graylearn.runs.settings import read_settings

LABELS = np.array(["ant", "bee", "cow"])
QUIET = RunProgress(quiet=True)


def rows(n=120):
    """Four neighbouring rows of a class are one video."""
    x, _ = blobs(n)
    y = np.arange(n) // 4 % 3
    x = x[np.argsort(np.arange(n) % 3, kind="stable")][np.argsort(np.argsort(y, kind="stable"))]
    frame = pd.DataFrame(x.round(4), columns=["one", "two", "three"])
    return frame.assign(label=LABELS[y], video=[f"v{row // 4}" for row in range(n)])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table and its run."""
    folder = tmp_path_factory.mktemp("groups")
    frame = rows()
    frame.to_csv(folder / "data.csv", index=False)
    words = ["fit", str(folder / "data.csv"), "--group", "video", "--test-share", "0.2", "--epochs", "4"]
    others = ["--no-refine", "--out", str(folder / "run"), "--json"]
    done = CliRunner().invoke(app, [*words, *others])
    assert done.exit_code == 0, done.output
    return folder, frame, done


def test_a_run_tells_its_groups_and_keeps_their_column(made):
    folder, frame, done = made
    assert "30 groups by 'video': each sample is judged by the other groups" in done.stderr
    assert json.loads(done.stdout)["samples"] == 96
    saved = json.loads((folder / "run" / "data.json").read_text())
    assert saved["source"]["columns"]["group"] == "video"
    assert read_settings(folder / "run" / "settings.toml")["group"] == "video"
    samples = pd.read_parquet(folder / "run" / "samples.parquet")
    held = samples["held_out"].to_numpy()
    assert held.sum() == 24
    assert not set(frame["video"][held]) & set(frame["video"][~held]), "a video is tested on as a whole"
    assert frame["label"][held].value_counts().tolist() == [8, 8, 8]


def test_predict_asks_for_no_group(made, tmp_path):
    folder, frame, _ = made
    answers = []
    for name in ("label", "video"):
        frame = frame.drop(columns=name)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        progress = RunProgress(quiet=True)
        answers.append(predict(folder / "run", tmp_path / f"{name}.csv", progress=progress))
        assert not progress.notes
    pd.testing.assert_frame_equal(*answers)


def test_other_commands_take_the_flag(made, tmp_path):
    folder, frame, _ = made
    data = str(folder / "data.csv")
    test = tmp_path / "test.csv"
    frame.drop(columns="video").to_csv(test, index=False)
    copies = tmp_path / "copies.csv"
    for words in (
        ["duplicates", data, "--group", "video", "--test", str(test), "--out", str(copies)],
        ["check", data, "--group", "video", "--epochs", "2", "--max-suspects", "100%"],
        ["tasks", str(folder / "run"), "--out", str(tmp_path / "tasks.json")],
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
    assert set(pd.read_csv(copies)["kind"]) == {"exact"}, "the video is no part of what is compared"
    shown = json.loads((tmp_path / "tasks.json").read_text())
    assert all("video" not in json.dumps(task) for task in shown)


def test_the_consensus_of_annotators_has_the_groups_of_the_data(tmp_path):
    frame = rows(60).rename(columns={"label": "anna"})
    frame.assign(ben=frame["anna"], cleo=frame["anna"]).to_csv(tmp_path / "a.csv", index=False)
    settings = RunSettings(
        data=str(tmp_path / "a.csv"), annotators=("anna", "ben", "cleo"), group="video", command="audit"
    )
    folder = RunFolder(tmp_path / "run")
    folder.stages.mkdir(parents=True)
    prepared = prepare(with_consensus(settings, folder, QUIET)[0], folder.stages, QUIET)
    assert in_order(prepared.train.groups).tolist() == (np.arange(60) // 4).tolist()
    assert list(prepared.train.x.columns) == ["one", "two", "three"]
