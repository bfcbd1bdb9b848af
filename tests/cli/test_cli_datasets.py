"""`graylearn datasets` as people run it: a real process in an empty folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

GRAYLEARN = Path(sys.executable).parent / "graylearn"


def run(*words, folder, **environment):
    kept = {name: value for name, value in os.environ.items() if name != "GRAYLEARN_DATA"}
    return subprocess.run(
        [str(GRAYLEARN), *words],
        cwd=folder,
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_lists_what_is_here_and_what_is_missing(tmp_path):
    (tmp_path / "abalone.data").write_text(
        "M,0.4,0.3,0.1,0.5,0.2,0.1,0.1,15\nF,0.3,0.2,0.1,0.4,0.2,0.1,0.1,7\n" * 3
    )
    done = run("datasets", "--data", str(tmp_path), "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert len(rows) == 14
    assert rows["abalone"]["present"]
    assert rows["iris"]["form"] == "scikit-learn"
    assert not rows["cifar100"]["present"]
    assert rows["cifar100"]["downloadable"]
    assert all(row["licence"] and row["source"] for row in rows.values())


def test_the_table_names_files_to_get(tmp_path):
    done = run("datasets", folder=tmp_path, GRAYLEARN_DATA=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "cifar-10-batches-py" in done.stdout
    assert "missing (--download)" in done.stdout


def test_errors_are_one_sentence(tmp_path):
    for words in (["--data", str(tmp_path / "nowhere")], ["--download", "nope", "--data", str(tmp_path)]):
        done = run("datasets", *words, folder=tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_debug_shows_the_traceback(tmp_path):
    done = run("--debug", "datasets", "--data", str(tmp_path / "nowhere"), folder=tmp_path)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_help_shows_examples(tmp_path):
    done = run("datasets", "--help", folder=tmp_path, COLUMNS="120")
    assert done.returncode == 0
    assert "graylearn datasets --data" in done.stdout
