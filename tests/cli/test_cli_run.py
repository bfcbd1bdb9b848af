"""The five-minute path: fit, look, decide, apply, predict; each form of data; runs that are cut."""

import contextlib
import json
import os
import pty
import signal
import subprocess

import numpy as np
import pandas as pd
import pytest
from blobs import blobs
from cli_helpers import GRAYLEARN, LABELS, MAIN, environment, held, is_one_sentence, run, several, write_csv
from PIL import Image
from warm import Process

from graylearn import runs
from graylearn.runs import RunProgress, RunSettings

LONG = ("--epochs", "8", "--mode", "history", "--no-refine")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table and its finished run."""
    folder = tmp_path_factory.mktemp("made")
    write_csv(folder / "data.csv")
    done = run("fit", "data.csv", "--out", "run", "--epochs", "5", "--json", folder=folder)
    assert done.returncode == 0, done.stderr.decode()
    return folder, done


def test_json_is_one_object_and_nothing_else(made):
    folder, done = made
    summary = json.loads(done.stdout)
    assert summary["samples"] == 90
    assert set(summary["per_class"]) == set(LABELS)
    assert summary["report"] == str(folder / "run" / "report.html")
    told = done.stderr.decode()
    assert "labels from column 'label'" in told
    assert "\x1b" not in told  # no terminal: no colours, no bars
    assert (folder / "run" / "report.html").stat().st_size > 10_000


def test_what_is_done_with_a_finished_run(made):
    folder, _ = made
    ids = pd.read_csv(folder / "run" / "audit.csv")["id"]
    (folder / "decisions.csv").write_text(
        f'id,decision,label\n{ids[0]},drop,\n{ids[1]},relabel,"{LABELS[0]}"\n'
    )
    x, _ = blobs(30)
    pd.DataFrame(x, columns=["one", "two", "three"]).to_parquet(folder / "new.parquet")
    told = several(
        ["fit", "data.csv", "--out", "run", "--epochs", "5"],
        ["fit", "data.csv", "--out", "run", "--epochs", "6"],
        ["apply", "run", "decisions.csv", "--out", "clean.csv", "--json"],
        ["apply", "run", "decisions.csv", "--out", "clean.csv"],
        ["apply", "run", "--out", "other.csv"],
        ["predict", "run", "new.parquet", "--out", "p.csv", "--reject-at", "0.99"],
        ["predict", "run", "new.parquet", "--json", "-q"],
        ["predict", "run", "new.parquet", "--reject-at", "7"],
        ["predict", "nowhere", "new.parquet"],
        folder=folder,
    )
    codes = [code for code, _, _ in told]
    assert codes == [3, 3, 0, 3, 2, 0, 0, 2, 1]
    assert "--overwrite" in told[0][2]
    assert "epochs was 5 and is now 6" in told[1][2]
    assert json.loads(told[2][1])["dropped"] == 1
    lines = (folder / "data.csv").read_text().splitlines(keepends=True)
    cut = lines[2].rsplit(";", 1)[0] + f';"{LABELS[0]}"\n'
    assert (folder / "clean.csv").read_text() == "".join([lines[0], cut, *lines[3:]])
    assert len(pd.read_csv(folder / "p.csv")) == 30
    assert len(json.loads(told[6][1])["predictions"]) == 30
    for index in (0, 1, 3, 4, 7, 8):
        assert is_one_sentence(told[index][2]), told[index][2]


def test_a_reader_that_has_seen_enough(made):
    """A run is finished all the same, though nobody is there for what it says as it goes and at its end."""
    folder, _ = made
    done = subprocess.run(
        ["bash", "-c", f"({GRAYLEARN} audit data.csv --out seen 2>&1; echo code $? >code.txt) | head -1"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("90 samples")
    assert (folder / "code.txt").read_text() == "code 0\n"
    assert (folder / "seen" / "summary.json").exists()


def test_a_locale_that_cannot_say_the_labels(made):
    folder, _ = made
    done = run(
        "audit", "data.csv", "--out", "latin", "--epochs", "2",
        folder=folder, LC_ALL="C", LANG="C", PYTHONUTF8="0", PYTHONIOENCODING="latin-1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"audit.csv" in done.stdout
    done.stdout.decode("latin-1")
    assert set(pd.read_csv(folder / "latin" / "audit.csv")["label"]) == set(LABELS)


def make_photos(folder):
    random = np.random.default_rng(0)
    for place in range(24):
        colour = (220, 40, 40) if place % 2 else (40, 40, 220)
        pixels = np.clip(random.normal(colour, 30, (12, 12, 3)), 0, 255).astype(np.uint8)
        path = folder / ("red" if place % 2 else "blue") / f"{place}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)


def test_every_form_of_data(tmp_path):
    x, y = blobs(60)
    frame = pd.DataFrame(x, columns=["one", "two", "three"]).assign(kind=np.array(["a", "b", "c"])[y])
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "a.npz", train_x=x, train_y=y, test_x=x, test_y=y)
    make_photos(tmp_path / "photos")
    words = [["late train", "sweet apple"][place % 2] + f" {place}" for place in range(24)]
    pd.DataFrame({"text": words, "topic": ["travel", "food"] * 12}).to_csv(tmp_path / "s.csv", index=False)
    short = ["--epochs", "2", "-q"]
    images = ["--features", "pixels", "--size", "12"]
    (tmp_path / "s.yaml").write_text("label: kind\nepochs: 9\ndata: t.parquet\ntest_share: 0.2\n")
    told = several(
        ["fit", "--settings", "s.yaml", "--out", "t-run", *short],
        ["fit", "a.npz", "--split", "train", "--test-split", "test", "--out", "a-run", *short],
        ["fit", "photos", "--out", "p-run", *images, *short],
        ["audit", "s.csv", "--out", "s-run", *short],
        ["predict", "p-run", "photos", "--out", "p.csv"],
        ["predict", "s-run", "s.csv"],
        ["apply", "p-run", "--suspects", "suggested", "--out", "photos-clean"],
        ["apply", "t-run", "--suspects", "drop", "--out", "clean.parquet"],
        folder=tmp_path,
    )
    assert [code for code, _, _ in told] == [0, 0, 0, 0, 0, 2, 0, 0], told
    assert "12 samples held out to measure on were not audited" in told[0][1]
    assert "12 samples held out to measure on were not audited" in told[7][1]
    assert "not audited" not in told[1][1] + told[6][1]
    assert "epochs = 2\n" in (tmp_path / "t-run" / "settings.toml").read_text()  # flags win
    assert "measured on 12 samples" in told[0][1]
    assert "measured on 60 samples" in told[1][1]
    assert "a network on pixels" in (tmp_path / "p-run" / "run.log").read_text()
    for folder, method in (("p-run", "gl-relative"), ("a-run", "gl")):
        assert json.loads((tmp_path / folder / "summary.json").read_text())["method"] == method
    assert "sentence vectors" in (tmp_path / "s-run" / "run.log").read_text()
    assert "holds an audit without a model" in told[5][2]
    assert set(pd.read_csv(tmp_path / "p.csv")["class"]) <= {"red", "blue"}
    assert len(list((tmp_path / "photos-clean").rglob("*.png"))) > 0


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """A folder with a table and what an uninterrupted long run finds in it."""
    folder = tmp_path_factory.mktemp("long")
    write_csv(folder / "data.csv")
    settings = RunSettings(data=str(folder / "data.csv"), epochs=8, mode="history", refine=False)
    runs.run(settings, folder / "whole", progress=RunProgress(quiet=True))
    return folder


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_run_that_is_cut_goes_on(long_run, how, code):
    out = long_run / how.name
    command = ("fit", "data.csv", "--out", str(out), *LONG)
    with held(*command, folder=long_run, gate=long_run / f"gate-{how.name}") as process:
        process.send_signal(how)
    _, said, ended = process.communicate()
    assert ended == code, said
    assert "Traceback" not in said
    if how is not signal.SIGKILL:
        assert "the same command goes on" in said
    assert not (out / "summary.json").exists()
    ((code, _, said),) = several(list(command), folder=long_run)
    assert code == 0, said
    assert "going on with the unfinished run" in said
    assert (out / "audit.csv").read_bytes() == (long_run / "whole" / "audit.csv").read_bytes()


def test_a_terminal_sees_bars(made):
    folder, _ = made
    parent, child = pty.openpty()
    process = Process(
        MAIN, "fit", "data.csv", "--out", "tty", "--epochs", "20", folder=folder,
        environment=environment(TERM="xterm-256color", COLUMNS="100"), error=os.ttyname(child),
    )  # fmt: skip
    seen = os.read(parent, 65536)
    os.close(child)  # now that the process has opened it
    with contextlib.suppress(OSError):  # a terminal whose other end is gone
        while part := os.read(parent, 65536):
            seen += part
    os.close(parent)
    assert process.communicate()[2] == 0, seen
    assert b"\x1b[" in seen
    assert b"audit of the training set" in seen
    assert b"Traceback" not in seen
