"""What the model of a run says of new data, and what it refuses."""

import importlib

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from run_helpers import blobs

from graylearn.data.formats import _base, _tables
from graylearn.errors import DataError
from graylearn.runs import RunProgress, RunSettings, run
from graylearn.runs.predict import predict, predict_blocks, write_predictions

reading = importlib.import_module("graylearn.data.read")  # the name in the package is the function
QUIET = RunProgress(quiet=True)


def frame_of(seed):
    x, y = blobs(n=90, seed=seed)
    frame = pd.DataFrame(x, columns=["one", "two", "three"])
    frame["colour"] = np.where(x[:, 0] > 3, "red", "blue")
    return frame, y


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    frame, y = frame_of(0)
    frame.assign(label=y + 10).to_csv(folder / "train.csv", index=False)
    settings = RunSettings(data=str(folder / "train.csv"), epochs=15, refine=False)
    run(settings, folder / "run", progress=QUIET)
    return folder / "run"


def test_new_rows_need_no_label_and_no_order(fitted, tmp_path):
    frame, y = frame_of(1)
    frame[["colour", "three", "one", "two"]].assign(more=1).to_csv(tmp_path / "new.csv", index=False)
    frame.assign(label=y + 10).to_csv(tmp_path / "with.csv", index=False)
    found = predict(fitted, tmp_path / "new.csv", progress=QUIET)
    assert found.columns.tolist() == ["id", "class", "probability", "class_2", "probability_2", "ood_score"]
    assert (found["class"] == y + 10).mean() > 0.9
    assert found["id"].tolist() == list(range(2, 92))
    assert (found["probability"] >= found["probability_2"]).all()
    pd.testing.assert_frame_equal(found, predict(fitted, tmp_path / "with.csv", progress=QUIET))


def test_strangers_are_none_of_these(fitted, tmp_path):
    frame, _ = frame_of(1)
    strange = frame.head(10).assign(one=-9.0, two=-9.0, three=-9.0)
    pd.concat([frame, strange]).to_csv(tmp_path / "new.csv", index=False)
    found = predict(fitted, tmp_path / "new.csv", reject_at=0.95, top=1, progress=QUIET)
    assert found.columns.tolist() == ["id", "class", "probability", "ood_score", "none_of_these"]
    assert found["class"].isna().equals(found["none_of_these"])
    assert found["ood_score"].tail(10).min() > found["ood_score"].head(90).median()
    assert 0 < found["none_of_these"].sum() < 100


def test_all_classes_that_cannot_be_excluded_are_named(fitted, tmp_path):
    frame, y = frame_of(1)
    frame.to_csv(tmp_path / "new.csv", index=False)
    found = predict(fitted, tmp_path / "new.csv", coverage=0.95, progress=QUIET)
    sets = [named.split(" | ") for named in found["classes"]]
    assert [named[0] for named in sets] == found["class"].astype(str).tolist()
    covered = np.mean([str(label + 10) in named for label, named in zip(y, sets, strict=True)])
    assert covered > 0.95 - 3 * np.sqrt(0.05 * 0.95 / len(y))


def test_rows_without_a_label_alone_are_answered(fitted, tmp_path):
    frame, y = frame_of(1)
    labels = [None if row in (3, 50) else label + 10 for row, label in enumerate(y)]
    frame.assign(label=pd.array(labels, "Int64")).to_csv(tmp_path / "new.csv", index=False)
    found = predict(fitted, tmp_path / "new.csv", only_unlabelled=True, progress=QUIET)
    assert found["id"].tolist() == [5, 52]
    frame.to_csv(tmp_path / "none.csv", index=False)
    with pytest.raises(DataError, match="has no column 'label'"):
        predict(fitted, tmp_path / "none.csv", only_unlabelled=True, progress=QUIET)


def test_images_that_cannot_be_read_shift_no_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAYLEARN_CACHE", str(tmp_path / "cache"))
    names = [f"{number:02d}.png" for number in range(30)]
    for number, name in enumerate(names):
        Image.new("RGB", (8, 8), (100 * (number % 2) + number, 0, 0)).save(tmp_path / name)
    train = pd.DataFrame({"path": names, "label": ["x", "y"] * 15})
    train.to_csv(tmp_path / "train.csv", index=False)
    settings = RunSettings(
        data=str(tmp_path / "train.csv"), features="pixels", size=8, epochs=1, refine=False
    )
    run(settings, tmp_path / "run", progress=QUIET)
    (tmp_path / "bad.png").write_bytes(b"no image")
    new = pd.DataFrame({"path": ["bad.png", *names[:5]], "label": ["x", "x", None, "x", "y", None]})
    new.to_csv(tmp_path / "new.csv", index=False)
    found = predict(tmp_path / "run", tmp_path / "new.csv", only_unlabelled=True, progress=QUIET)
    assert found["id"].tolist() == ["01.png", "04.png"]


def test_new_categories_are_told_and_answered(fitted, tmp_path, capsys):
    frame, _ = frame_of(1)
    frame.assign(colour="mauve").to_csv(tmp_path / "new.csv", index=False)
    found = predict(fitted, tmp_path / "new.csv", progress=RunProgress())
    assert len(found) == 90
    told = capsys.readouterr().err
    assert "column 'colour' holds values never seen in training in 90 rows (mauve)" in told


def test_text_in_a_column_of_numbers_is_an_error(fitted, tmp_path):
    frame, _ = frame_of(1)
    frame.assign(one="many").to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(DataError, match="'one'"):
        predict(fitted, tmp_path / "new.csv", progress=QUIET)


def test_new_data_may_be_written_otherwise(fitted, tmp_path):
    frame, _ = frame_of(1)
    frame.to_csv(tmp_path / "plain.csv", index=False)
    expected = predict(fitted, tmp_path / "plain.csv", progress=QUIET)
    frame.assign(note="b\xeate, brute").to_csv(tmp_path / "new.csv", index=False, sep="~", encoding="latin-1")
    with pytest.raises(DataError, match="is not utf-8"):
        predict(fitted, tmp_path / "new.csv", progress=QUIET)
    found = predict(fitted, tmp_path / "new.csv", separator="~", encoding="latin-1", progress=QUIET)
    pd.testing.assert_frame_equal(found, expected)


def test_another_kind_of_data_is_an_error(fitted, tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "one.jpg")
    with pytest.raises(DataError, match="holds image samples but the model was fitted on table samples"):
        predict(fitted, tmp_path / "one.jpg", progress=QUIET)


def test_classes_that_are_numbers_are_not_rounded(tmp_path, capsys):
    answers = pd.DataFrame(
        {"id": [1, 2], "class": pd.array([1234567.5, None]), "probability": [0.123456789, 1]}
    )
    expected = "id,class,probability\n1,1234567.5,0.123457\n2,,1\n"
    write_predictions([answers], tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == expected
    write_predictions([answers], None)
    assert capsys.readouterr().out == expected
    write_predictions([answers], tmp_path / "p.parquet")
    assert pd.read_parquet(tmp_path / "p.parquet")["class"].tolist()[0] == 1234567.5


@pytest.mark.parametrize("name", ["new.parquet", "new.csv", "new.jsonl"])
def test_large_data_are_answered_a_block_at_a_time(fitted, tmp_path, monkeypatch, capsys, name):
    frame, _ = frame_of(1)
    frame = frame.assign(colour=["mauve", *frame["colour"][1:-1], "mauve"])
    if name.endswith("parquet"):
        (tmp_path / name).mkdir()
        frame[:50].to_parquet(tmp_path / name / "1.parquet")
        frame[50:].to_parquet(tmp_path / name / "2.parquet")
    elif name.endswith("csv"):
        frame.to_csv(tmp_path / name, index=False)
    else:
        frame.to_json(tmp_path / name, orient="records", lines=True)
    expected = predict(fitted, tmp_path / name, reject_at=0.9, progress=QUIET)
    for module, limit, value in (
        (reading, "MANY", 1), (reading, "LONG", 1), (_tables, "ROWS", 40), (_base, "CHUNK", 2000)
    ):  # fmt: skip
        monkeypatch.setattr(module, limit, value)
    found = list(predict_blocks(fitted, tmp_path / name, reject_at=0.9, progress=RunProgress()))
    assert len(found) > 1
    pd.testing.assert_frame_equal(pd.concat(found, ignore_index=True), expected, rtol=1e-4)
    assert "never seen in training in 2 rows (mauve)" in capsys.readouterr().err
    for out, read in (("p.parquet", pd.read_parquet), ("p.csv", pd.read_csv)):
        write_predictions(iter(found), tmp_path / out)
        assert read(tmp_path / out)["id"].tolist() == expected["id"].tolist()


def test_a_column_that_names_the_rows_is_left_out_told_and_not_needed_of_new_rows(tmp_path):
    frame, y = frame_of(0)
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)  # so that codes alone tell the labels
    codes = [f"{('kilo', 'lima', 'mike')[label]}-{row * 7919 % 9973:04}" for row, label in enumerate(y)]
    frame = frame.assign(code=codes)
    frame.assign(label=y + 10).to_csv(tmp_path / "train.csv", index=False)
    settings = {"data": str(tmp_path / "train.csv"), "epochs": 3, "refine": False, "mode": "history"}
    run(RunSettings(**settings), tmp_path / "run", progress=QUIET)
    note = "column 'code' seems to name the rows, which tells nothing about new ones, and is left out"
    assert note in (tmp_path / "run" / "run.log").read_text()
    assert note in (tmp_path / "run" / "report.html").read_text(encoding="utf-8").replace("\\u0027", "'")
    frame.to_csv(tmp_path / "new.csv", index=False)
    frame.drop(columns="code").to_csv(tmp_path / "less.csv", index=False)
    found = predict(tmp_path / "run", tmp_path / "new.csv", progress=QUIET)
    pd.testing.assert_frame_equal(found, predict(tmp_path / "run", tmp_path / "less.csv", progress=QUIET))
    run(RunSettings(**settings, id_like="keep"), tmp_path / "kept", progress=QUIET)
    assert predict(tmp_path / "kept", tmp_path / "new.csv", progress=QUIET)["probability"].tolist() != (
        found["probability"].tolist()
    )
    with pytest.raises(DataError, match="lacks 1 of the 5 columns that the model reads: code"):
        predict(tmp_path / "kept", tmp_path / "less.csv", progress=QUIET)
