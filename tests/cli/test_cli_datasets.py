"""`graylearn datasets`: what is here, what is missing, and how to get it."""

import json

import pytest
from cli_helpers import MAIN, environment, is_one_sentence, several
from warm import Process

from graylearn.errors import DataError


def test_lists_what_is_here_and_what_is_missing(tmp_path):
    (tmp_path / "abalone.data").write_text(
        "M,0.4,0.3,0.1,0.5,0.2,0.1,0.1,15\nF,0.3,0.2,0.1,0.4,0.2,0.1,0.1,7\n" * 3
    )
    here = environment(GRAYLEARN_DATA=str(tmp_path))
    said, error, code = Process(MAIN, "datasets", "--json", folder=tmp_path, environment=here).communicate()
    assert code == 0, error
    rows = {row["name"]: row for row in map(json.loads, said.splitlines())}
    assert len(rows) == 14
    assert rows["abalone"]["present"]
    assert rows["iris"]["form"] == "scikit-learn"
    assert not rows["cifar100"]["present"]
    assert rows["cifar100"]["downloadable"]
    assert all(row["licence"] and row["source"] for row in rows.values())


def test_the_table_names_files_to_get(tmp_path):
    (code, shown, _), (_, help_, _) = several(
        ["datasets", "--data", str(tmp_path)], ["datasets", "--help"], folder=tmp_path
    )
    assert code == 0
    assert "cifar-10-batches-py" in shown
    assert "missing (--download)" in shown
    assert "graylearn datasets --data" in help_


def test_errors_are_one_sentence(tmp_path):
    nowhere = ["datasets", "--data", str(tmp_path / "nowhere")]
    unknown = ["datasets", "--download", "nope", "--data", str(tmp_path)]
    for code, _, said in several(nowhere, unknown, folder=tmp_path):
        assert code == 1
        assert is_one_sentence(said)
    with pytest.raises(DataError, match="nowhere is not there"):
        several(["--debug", *nowhere], folder=tmp_path)
