"""What goes wrong is said in one sentence, with an exit code that means something."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import MAIN, environment, is_one_sentence, several, write_csv
from warm import Process

from graylearn.paths import beside

COMMANDS = ("fit", "audit", "predict", "export", "apply", "check", "duplicates", "tasks")


@pytest.fixture
def folder(tmp_path):
    write_csv(tmp_path / "data.csv")
    (tmp_path / "both.csv").write_text("a,label,target\n" + "1,x,y\n2,y,x\n" * 5)
    (tmp_path / "junk.csv").write_bytes(b"\x00\xff\xfe\x80,\xc3\x28\n" * 20)
    (tmp_path / "empty").mkdir()
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    (tmp_path / "photos" / "cat" / "1.png").write_bytes(b"no")
    (tmp_path / "bad.toml").write_text("epocs = 3\n")
    (tmp_path / "blank.toml").write_text('data = " "\n')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    return tmp_path


def test_errors_usage_and_help(folder):
    out = ["--out", "run", "-q"]
    cases = [
        (["fit", "absent.csv", *out], 1, "absent.csv does not exist"),
        (["fit", "-", *out], 1, "standard input"),
        (["fit", "nowhere://a.org/b.csv", *out], 1, "nowhere://a.org/b.csv"),
        (["fit", "data.csv", "--label", "colour", *out], 1, "'colour'"),
        (["check", "data.csv", "--max-suspects", "few"], 2, "--max-suspects"),
        (["audit", "both.csv", *out], 1, "'label' and 'target'"),
        (["audit", "junk.csv", *out], 1, "junk.csv"),
        (["audit", "empty", *out], 1, "folders"),
        (["audit", "photos", *out], 1, "none of the"),
        (["fit", *out], 2, "no data"),
        (["fit", "data.csv", "--settings", "bad.toml", *out], 2, "did you mean epochs?"),
        (["fit", "data.csv", "--epochs", "0", *out], 2, "--epochs"),
        (["fit", "data.csv", "--method", "nope", *out], 2, "'nope'"),
        (["audit", "data.csv", "--network", "resnet", *out], 2, "did you mean resnet18?"),
        (["audit", "data.csv", "--without", "on", *out], 1, "did you mean 'one'?"),
        (["duplicates", "data.csv", "--out", ".", "-q"], 2, "data.csv"),
        (["fit", "~/absent.csv", *out], 1, str(Path.home() / "absent.csv")),
        (["fit", "--settings", "blank.toml", *out], 1, "the name is empty: give a file or a folder"),
        (["fit", "data.csv", "--out", "mine", "-q"], 3, "thesis.tex"),
        (["fit", "data.csv", "--out", "data.csv", "-q"], 3, "is a file"),
        (["apply", "mine", "d.csv", "--out", "c.csv"], 1, "is not a run folder"),
    ]
    usage = [
        ["fit", "data.csv", "--out", "run", "--epoch", "3"],
        ["apply", "run", "d.csv"],
        ["fit", "data.csv", "--out", "run", "--mode", "guess"],
        ["audit", "data.csv", "--out", "run", "--lable", "x"],
        ["fit", "data.csv", "--out", "run", "--epochs", "abc"],
        ["fit", "data.csv", "--out", "run", "--clip-norm", "1,5"],
        ["audit", "data.csv", "--out", "run", "--test", "x.csv"],
        ["audit", "data.csv", "--out", "run", "--label"],
        ["train", "data.csv"],
    ]
    help_of = ["fit", "audit", "predict", "apply"]
    told = several(
        *(words for words, _, _ in cases),
        *usage,
        ["--help"],
        *([word, "--help"] for word in help_of),
        *([word, "-h"] for word in COMMANDS),
        ["-h"],
        ["--version"],
        folder=folder,
    )
    _check_usage_and_help(told[len(cases) :])
    assert not (folder / "run").exists()  # nothing came of any of them
    told = told[: len(cases)]
    for (words, code, message), (found, stdout, stderr) in zip(cases, told, strict=True):
        assert found == code, (words, stderr)
        assert message in stderr, (words, stderr)
        assert is_one_sentence(stderr), (words, stderr)
        assert stdout == ""


def _check_usage_and_help(told):
    assert [code for code, _, _ in told] == [2] * 9 + [0] * (7 + len(COMMANDS))
    assert "--epochs" in told[0][2]
    assert "--out" in told[1][2]
    assert "'--mode': 'guess' is not one of 'auto', 'held-out', 'history'." in told[2][2]
    assert "--lable (Possible options: --label)" in told[3][2]
    assert "'--epochs': 'abc' is not a whole number, such as 5" in told[4][2]
    assert "'--clip-norm': '1,5' is not a number, such as 0.5" in told[5][2]
    assert "No such option: --test (it is an option of fit, check, duplicates)" in told[6][2]
    assert "'--label' requires an argument. " in told[7][2]
    assert "No such command 'train'; the commands are audit, apply," in told[8][2]
    told = told[9:]
    assert "130 Ctrl-C" in told[0][1]
    assert all("graylearn" in shown and "Examples:" in shown for _, shown, _ in told[1:5])
    assert all("Usage: graylearn" in shown for _, shown, _ in told[5:-1])
    assert "larger than that of this share of the samples that belong, such as 0.99" in " ".join(
        told[3][1].replace("│", " ").split()
    )
    assert told[-1][1] == f"graylearn {importlib.metadata.version('graylearn')}\n"


def test_an_empty_path_is_not_this_folder(folder):
    paths = [
        ["audit", "", "--out", "run"],
        ["audit", "data.csv", "--out", " "],
        ["fit", "--settings", "", "--out", "run"],
        ["predict", "run", ""],
        ["apply", "run", "", "--out", "c.csv"],
        ["export", "run", "--out", ""],
        ["tasks", "", "--out", "t.json"],
        ["check", "data.csv", "--against", ""],
        ["duplicates", "data.csv", "--out", ""],
    ]
    before = sorted(folder.iterdir())
    for words, (code, _, stderr) in zip(paths, several(*paths, folder=folder), strict=True):
        assert code == 2, (words, stderr)
        assert "the name is empty" in stderr, (words, stderr)
    assert sorted(folder.iterdir()) == before


def test_a_run_in_the_home_folder(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder / "empty"))
    words = ["audit", "~/../data.csv", "--out", "~/run", "--epochs", "1", "-q"]
    ((code, _, stderr),) = several(words, folder=folder)
    assert code == 0, stderr
    assert (folder / "empty" / "run" / "audit.csv").exists()
    assert not (folder / "~").exists()


def test_a_closed_standard_output_is_no_error(folder):
    closed = "import os, sys; os.close(1); sys.stdout = None\n"  # as >&- does
    words = ("audit", "data.csv", "--out", "closed", "--epochs", "1", "-q")
    _, said, code = Process(closed + MAIN, *words, folder=folder, environment=environment()).communicate()
    assert code == 0, said
    assert (folder / "closed" / "audit.csv").exists()


def test_python_runs_the_package_and_a_missing_file_is_told_without_torch(folder):
    """Importing torch alone takes seconds."""
    words = [sys.executable, "-X", "importtime", "-m", "graylearn", "fit", "absent.csv", "--out", "run"]
    done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert "absent.csv does not exist" in done.stderr
    assert not re.search(r"\| +(torch|pandas|sklearn)$", done.stderr, re.MULTILINE)


def test_help_shows_ten_options_and_help_all_the_rest(tmp_path):
    commands = ("audit", "fit", "check", "duplicates")
    short = several(*([word, "--help"] for word in commands), folder=tmp_path)
    whole = several(*([word, "--help-all"] for word in commands), folder=tmp_path)
    for (_, few, _), (code, all_of_them, _) in zip(short, whole, strict=True):
        names = [
            set(re.findall(r"^│ (?:\* )?(--[a-z-]+)", text, re.MULTILINE)) for text in (few, all_of_them)
        ]
        assert code == 0
        assert len(names[0] - {"--help", "--help-all"}) <= 10
        assert names[0] < names[1]
        assert "--separator" in names[1] - names[0]
    assert "--settings" not in whole[-1][1]  # which duplicates has not


def test_a_run_that_nobody_named_goes_beside_the_data(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cases = {
        "orders.csv": "orders-audit",
        "in/orders.v2.csv.gz": "in/orders.v2-audit",
        "v1.2.csv": "v1.2-audit",
        "photos/": "photos-audit",
        "events/*.parquet": "events-audit",
        "s3://there/sets/a.parquet": "a-audit",
        "-": "input-audit",
        ".": str(tmp_path.with_name(f"{tmp_path.name}-audit")),
    }
    assert {given: str(beside(given, "audit")) for given in cases} == cases


def test_ctrl_c_while_it_is_being_loaded_is_a_word():
    code = """
import sys

class Interrupted:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from graylearn.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
