"""Copies in a run: the column, the notes, samples of the test set, and one of each group kept."""

import json

import numpy as np
import pandas as pd
import pytest
from run_helpers import write_blobs
from typer.testing import CliRunner

from graylearn.audit.duplicates import Duplicates
from graylearn.cli.main import app
from graylearn.errors import SettingsError
from graylearn.report import Decision
from graylearn.runs import RunProgress, RunSettings, run
from graylearn.runs.apply import apply_decisions, one_of_each, plan
from graylearn.runs.oddities import note_of

HEADER, LINES = 1, 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """60 rows, of which 0 comes twice more, once with another label, and 1 once more; 3 stands in the test
    set. Each has a number of its own, in which copies differ."""
    folder = tmp_path_factory.mktemp("copies")
    rows = write_blobs(folder / "rows.csv", n=LINES).read_text().splitlines()
    rows = [rows[0], *rows[1:], rows[1], rows[1].replace("ant", "bee"), rows[2]]
    numbered = [f"{line},{'code' if not number else 7000 + number}" for number, line in enumerate(rows)]
    (folder / "data.csv").write_text("\n".join(numbered) + "\n")
    others = write_blobs(folder / "others.csv", n=30, seed=1).read_text().splitlines()
    test = [numbered[0], *(f"{line},{8000 + number}" for number, line in enumerate(others[1:])), numbered[4]]
    (folder / "test.csv").write_text("\n".join(test) + "\n")
    return folder


@pytest.fixture(scope="module")
def made(folder):
    settings = RunSettings(
        data=str(folder / "data.csv"), test=str(folder / "test.csv"), epochs=3, refine=False, label="label"
    )
    return folder / "run", run(settings, folder / "run", progress=RunProgress(quiet=True))


def test_each_sample_has_the_number_of_its_group(made):
    run_folder, summary = made
    audit = pd.read_csv(run_folder / "audit.csv").set_index("id")
    first = HEADER + 1
    group = audit["group"].dropna()
    assert sorted(group.index) == [first, first + 1, first + 3, LINES + 2, LINES + 3, LINES + 4]
    assert group[first] == group[LINES + 2] == group[LINES + 3]
    assert group[first + 1] == group[LINES + 4]
    assert pd.read_parquet(run_folder / "audit.parquet")["group"].dropna().tolist() == group.tolist()
    assert summary["copies"] == {"groups": 3, "samples": 7, "contradicting": 1, "leaked": 1}
    assert '"contradicting":true' in (run_folder / "report.html").read_text()


def test_one_of_each_group_is_kept(made, folder):
    lines = (folder / "data.csv").read_text().splitlines()
    done = apply_decisions(made[0], None, folder / "clean.csv", duplicates="keep-one")
    assert (folder / "clean.csv").read_text().splitlines() == lines[:-1]  # the first comes with two labels
    assert (done["dropped"], done["copies_dropped"], done["groups_contradicting"]) == (1, 1, 1)
    words = ["apply", str(made[0]), "--duplicates", "keep-one", "--out", str(folder / "told.csv")]
    told = CliRunner().invoke(app, words).stdout
    assert "1 group of copies bears different labels and stays" in told


def test_the_note_on_near_copies_has_the_command_to_run():
    no = np.zeros(1, dtype=bool)
    near = Duplicates((np.array([0, 1]),), no, no, 0.1, 9, 9)
    assert "run `graylearn apply … --duplicates keep-one`" in note_of(near)


def test_what_a_person_decided_stands_and_suspects_go_first():
    names, labels = list("abcdef"), ["x", "y", "y", "x", "x", "x"]
    suspected = [name == "d" for name in names]
    columns = {"label": pd.Categorical(labels), "suspected": suspected, "group": [1, 1, 1, 2, 2, 2]}
    recorded = pd.DataFrame(columns, index=names)

    def kept(*decisions):
        change = plan(recorded, list(decisions), "keep")
        change, contradicting = one_of_each(recorded, list(decisions), change)
        return [name for name, keep in zip(names, change.keep, strict=True) if keep], contradicting

    assert kept() == (["a", "b", "c", "e"], 1)  # not suspected
    assert kept(Decision("a", "keep")) == (["a", "b", "c", "e"], 1)
    assert kept(Decision("a", "drop")) == (["b", "e"], 0)
    assert kept(Decision("a", "relabel", "y")) == (["a", "e"], 0)
    assert kept(Decision("a", "drop"), Decision("d", "keep"), Decision("f", "keep")) == (["b", "d", "f"], 0)
    with pytest.raises(SettingsError, match="did not look for copies"):
        one_of_each(recorded.drop(columns="group"), [], plan(recorded, [], "keep"))


def test_copies_and_leaks_from_the_command_line(folder):
    words = ["duplicates", str(folder / "data.csv"), "--test", str(folder / "test.csv"), "--label", "label"]
    done = CliRunner().invoke(app, [*words, "--out", str(folder / "copies.csv"), "--json", "-q"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"groups": 3, "samples": 7, "contradicting": 1, "leaked": 1}
    table = pd.read_csv(folder / "copies.csv")
    assert table.columns.tolist() == ["group", "set", "id", "label", "kind", "contradicting"]
    assert table["set"].tolist() == ["train"] * 6 + ["test"]
    assert table[table["contradicting"]]["label"].tolist() == ["ant", "ant", "bee"]
    assert set(table["kind"]) == {"exact"}
