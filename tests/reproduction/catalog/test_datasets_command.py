"""`python -m reproduction.datasets`: what is here, what is missing, and how to get it."""

from typer.testing import CliRunner

from reproduction.catalog import datasets_table
from reproduction.datasets import app


def run(*words):
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "240"})


def test_lists_what_is_here_and_what_is_missing(tmp_path, monkeypatch):
    (tmp_path / "abalone.data").write_text(
        "M,0.4,0.3,0.1,0.5,0.2,0.1,0.1,15\nF,0.3,0.2,0.1,0.4,0.2,0.1,0.1,7\n" * 3
    )
    monkeypatch.setenv("GRAYLEARN_DATA", str(tmp_path))
    rows = {row.name: row for row in datasets_table()}
    assert len(rows) == 13
    assert rows["abalone"].present
    assert rows["iris"].form == "scikit-learn"
    assert not rows["cifar100"].present
    assert rows["cifar100"].downloadable
    assert all(row.licence and row.source for row in rows.values())


def test_errors_are_one_sentence(tmp_path):
    for words in (["--data", str(tmp_path / "nowhere")], ["--download", "nope", "--data", str(tmp_path)]):
        failed = run(*words)
        assert failed.exit_code == 1
        assert failed.stderr.startswith("error: ")
        assert failed.stderr.count("\n") == 1
