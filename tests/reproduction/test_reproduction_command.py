"""`python -m reproduction`: what it says on the way, how it fails, and how it stops."""

import re

import pytest
from typer.testing import CliRunner
from warm import Process

from reproduction.cli import command
from reproduction.cli.command import app
from reproduction.experiments import EXPERIMENTS

QUICK = ["table2", "--quick", "--datasets", "iris", "--methods", "standard", "--seeds", "0"]


def invoke(*words):
    return CliRunner().invoke(app, list(words))


def test_the_help_names_every_experiment():
    assert list(EXPERIMENTS) == list(command.NAMES)


def test_one_line_a_cell_on_stderr_and_the_table_on_stdout(tmp_path):
    done = invoke(*QUICK, "--store", str(tmp_path / "a.jsonl"))
    assert done.exit_code == 0
    assert "1 cell to run, 0 in" in done.stderr
    assert re.search(r"1/1 iris standard seed 0.*: accuracy 0\.\d{4}, ece 0\.\d{4}.*\d s", done.stderr)
    assert "Standard" in done.stdout
    assert "Iris" in done.stdout
    again = invoke(*QUICK, "--store", str(tmp_path / "a.jsonl"))
    assert "0 cells to run, 1 in" in again.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table9"], "there is no experiment 'table9'; choose from table1"),
        (["table2", "--seeds", "0-x"], "--seeds is '0-x'; expected whole numbers"),
        (["table2", "--epochs", "0"], "epochs is 0, expected at least 1"),
        (["table2", "--labels", "specific"], "table2 has no specific labels, but random ones"),
    ],
)
def test_errors_are_one_sentence(words, message, tmp_path):
    done = invoke(*words, "--store", str(tmp_path / "s.jsonl"))
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert "unexpected" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")


STOPPED = """
import signal
from reproduction.cli import main
from reproduction.store import Store

append = Store.append

def append_and_stop(store, row):
    append(store, row)
    signal.raise_signal(signal.SIGINT)

Store.append = append_and_stop
main()
"""


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path):
    store = tmp_path / "table1.jsonl"
    _, said, code = Process(STOPPED, "table1", "--quick", "--store", store).communicate()
    assert code == 130
    assert [line for line in said.splitlines() if "stopped" in line] == [
        "interrupted; the same command goes on where it stopped"
    ]
    assert "Traceback" not in said
    content = store.read_bytes()
    assert content.endswith(b"\n")
    assert 1 <= content.count(b"\n") < len(EXPERIMENTS["table1"].cells())
