"""Which column means what: as told, or as the names leave no doubt; and labels that leave some."""

import json

import pandas as pd
import pytest
from run_helpers import write_blobs

from graylearn.data.formats import Origin
from graylearn.data.read import read_file
from graylearn.data.table_samples import find_columns
from graylearn.data.tables import Columns, ReadOptions, table_from_pandas
from graylearn.errors import DataError
from graylearn.runs import run
from graylearn.runs.folder import Source
from graylearn.runs.predict import options_for_new
from graylearn.runs.prepare import prepare
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings


def columns_of(frame, **settings):
    return find_columns(table_from_pandas(pd.DataFrame(frame), "t.csv"), ReadOptions(**settings))


def test_unmistakable_columns_are_found():
    assert columns_of({"a": [1, 2], "Class": [0, 1], "ID": [7, 8]}) == Columns("Class", "ID")
    assert columns_of({"Unnamed: 0": [0, 1], "a": [1, 2], "y": [0, 1]}) == Columns("y", "Unnamed: 0")
    assert columns_of({"text": ["a", "b"], "topic": ["x", "y"]}) == Columns("topic", None, "text")
    assert columns_of({"file": ["a.png", "b.png"], "animal": ["x", "y"]}) == Columns(
        "animal", None, None, "file"
    )


def test_what_was_told_wins():
    frame = {"a": [1, 2], "label": [0, 1], "id": [7, 8], "b": [1, 2]}
    assert columns_of(frame, label="a", id=False) == Columns("a")
    assert columns_of(frame, label="-1", id="a") == Columns("b", "a")


def test_rows_to_test_on_get_the_columns_of_the_rows_to_learn_from(tmp_path, capsys):
    rows = pd.DataFrame({"a": range(30), "b": [1.5, 2.5, 3.5] * 10, "label": ["x", "y"] * 15})
    rows.to_csv(tmp_path / "train.csv", index=False)
    rows[["label", "b", "a"]].assign(more=1).to_csv(tmp_path / "test.csv", index=False)
    settings = RunSettings(data=str(tmp_path / "train.csv"), test=str(tmp_path / "test.csv"))
    prepared = prepare(settings, tmp_path, RunProgress())
    assert prepared.test.x.equals(prepared.train.x)
    assert "note: passing over columns of test.csv that are not learned from: more" in capsys.readouterr().err
    rows.drop(columns="b").to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(DataError, match=r"test\.csv lacks 1 of the 2 columns to learn from: b"):
        prepare(settings, tmp_path, RunProgress())


def test_the_decimal_mark_of_the_data_holds_for_new_samples(tmp_path):
    path, new = tmp_path / "a.csv", tmp_path / "new.csv"
    path.write_text("a;label\n" + "".join(f"{row};{'xy'[row % 2]}\n" for row in range(9)) + "1,5;x\n")
    new.write_text("a;label\n0;x\n1;y\n")
    prepared = prepare(RunSettings(data=str(path)), tmp_path, RunProgress(quiet=True))
    saved = Origin.from_json(json.loads(json.dumps(prepared.origin.to_json())))
    assert saved == prepared.origin
    assert (saved.decimal, saved.separator) == (",", ";")
    options = options_for_new(Source(saved, prepared.encoding, {}, []), prepared.settings)
    samples, _ = read_file(new, options)
    assert samples.x["a"].tolist() == [0.0, 1.0]
    new.write_text("a;label\n0;x\n1;y\n-;x\n2,25;y\n")
    samples, _ = read_file(new, options)
    assert samples.x["a"].tolist()[::3] == [0.0, 2.25]


@pytest.mark.parametrize("without", [(), ("clinic",)])
def test_where_suspects_gather_is_told_whether_it_is_learned_from_or_not(tmp_path, without):
    wrong = range(0, 120, 4)
    rows = write_blobs(tmp_path / "blobs.csv", wrong=wrong, n=240).read_text().splitlines()
    clinics = ["clinic", *("north" if row < 120 else "south" for row in range(240))]
    lines = [f"{line},{clinic}" for line, clinic in zip(rows, clinics, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    settings = RunSettings(
        data=str(tmp_path / "rows.csv"),
        label="label",
        without=without,
        test_share=0.2,
        refine=False,
        epochs=2,
    )
    summary = run(settings, tmp_path / "run", progress=RunProgress(quiet=True))
    audit = pd.read_csv(tmp_path / "run" / "audit.csv")
    north = audit["id"] < 120 + 2
    told = f"where clinic is 'north': {audit['suspected'][north].sum()} of {north.sum()} samples"
    (note,) = [note for note in summary["notes"] if told in note]
    assert note.endswith("of all")  # what to do about it, such as to leave the column out, is not known
