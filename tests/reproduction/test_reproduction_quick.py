"""Every experiment from the command line to its table, on the data that scikit-learn carries."""

import pytest
from typer.testing import CliRunner

from reproduction.cells import CLEAN
from reproduction.cli.command import app
from reproduction.experiments import EXPERIMENTS
from reproduction.options import Options
from reproduction.store import Store


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all, so that experiments take over what others measured, as in results/."""
    return tmp_path_factory.mktemp("results")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick(name, folder, monkeypatch):
    monkeypatch.delenv("GRAYLEARN_DATA", raising=False)
    store = folder / f"{name}.jsonl"
    words = [name, "--quick", "--store", str(store)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    cells = EXPERIMENTS[name].cells(Options(quick=True))
    rows = {row["key"]: row for row in Store(store).rows(name)}
    assert rows.keys() == {cell.key for cell in cells}
    for row in rows.values():
        measured = row["measured"]
        assert 0 <= measured["accuracy"] <= 1
        assert 0 <= measured["ece"] <= 1
        assert measured["samples"] > 0
        clean = row["cell"]["method"] in CLEAN
        assert (measured["ood_samples"] == 0) == (clean or name == "human")
        assert ("flipped_samples" in measured) == (not clean and name == "human")
        assert ("reliability" in measured) == (row["cell"]["kind"] == "image")
    wine = [
        row["measured"]["accuracy"]
        for row in rows.values()
        if row["cell"]["dataset"] == "wine" and row["cell"]["method"] != "majority"
    ]
    if name == "table2":  # quick is no mock: with networks this small, chance is still left far behind
        assert sum(wine) / len(wine) > 0.75
    before = store.read_bytes()
    CliRunner().invoke(app, words, catch_exceptions=False)
    assert store.read_bytes() == before
