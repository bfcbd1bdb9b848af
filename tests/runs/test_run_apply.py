"""Decisions carried out: what was decided changes, all else stays byte by byte."""

import json

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet
import pytest
from run_helpers import decide
from warm import Process

from graylearn.errors import CheckpointError, DataError, SettingsError
from graylearn.runs import RunProgress, RunSettings
from graylearn.runs import run as start
from graylearn.runs.apply import apply_decisions

NASTY = (
    "id;note;label\r\n"
    '1;"a ""quoted"" word; and\r\na second line";"big; cat"\r\n'
    "\r\n"
    "2;  spaces kept  ;dog\r\n"
    '3;"plain";"big; cat"\r\n'
    "4;ünïcödé 😀;dog"
)


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_csv_cells_that_nobody_touched_stay_as_they_were(tmp_path, finished, start):
    data = tmp_path / "nasty.csv"
    data.write_bytes(start + NASTY.encode())
    run = finished(data)
    decisions = decide(tmp_path, "2,drop,", '4,relabel,"big; cat"', "1,keep,")
    summary = apply_decisions(run, decisions, tmp_path / "clean.csv")
    expected = NASTY.replace("2;  spaces kept  ;dog\r\n", "").replace("😀;dog", '😀;"big; cat"')
    assert (tmp_path / "clean.csv").read_bytes() == start + expected.encode()
    assert (summary["kept"], summary["dropped"], summary["relabelled"]) == (3, 1, 1)
    assert data.read_bytes() == start + NASTY.encode()


LINES = '{"a": 1,   "label": "x"}\n\n{"a": 2, "label": "y"}\n{"a": 3, "label": "\\u0078"}\n'


@pytest.mark.parametrize(
    ("name", "settings", "before", "decisions", "after"),
    [
        pytest.param(
            "a.tsv", {"label": "1"}, "0.5\tяд\n1.5\tящик\n2.5\tяд\n".encode("utf-16"),
            ["2,relabel,яд", "3,drop,"], "0.5\tяд\n1.5\tяд\n".encode("utf-16"),
            id="UTF-16, tabs and no header",
        ),
        pytest.param(
            "a.csv", {}, b"sep=~\na~label\n1~x\n2~y\n3~x\n",
            ["3,drop,", "5,relabel,y"], b"sep=~\na~label\n2~y\n3~y\n",
            id="the line that names the separator",
        ),
        pytest.param(
            "a.jsonl", {}, LINES.encode(),
            ["3,drop,", "4,relabel,y"], b'{"a": 1,   "label": "x"}\n\n{"a": 3, "label": "y"}\n',
            id="blanks and blank lines of JSON lines",
        ),
        pytest.param(
            "a.jsonl", {"without": ("a", "b", "old")},
            b'{"z": 1, "a": 1e400, "b": {"label": 1, "c": [1.0, "}"]}, "label" : "\\u0078"}\r\n'
            b'{"z":2,"old":0,"a":0.10,"b":{},"label":"old","label":"y"}\r\n{"label":"y","z":3,"a":-0,"b":{}}',
            ["1,relabel,y", "2,relabel,x", "3,keep,"],
            b'{"z": 1, "a": 1e400, "b": {"label": 1, "c": [1.0, "}"]}, "label" : "y"}\r\n'
            b'{"z":2,"old":0,"a":0.10,"b":{},"label":"old","label":"\\u0078"}\r\n{"label":"y","z":3,"a":-0,"b":{}}',
            id="numbers, order and ends of lines of JSON lines",
        ),
        *(
            pytest.param(
                "a.csv", {"encoding": encoding},
                "a,label\n1,猫\n2,犬\n3,猫\n4,犬\n".encode(encoding),
                ["2,relabel,犬", "4,drop,"],
                "a,label\n1,犬\n2,犬\n4,犬\n".encode(encoding),
                id=f"encoding {encoding}",
            )
            for encoding in ("cp932", "euc_jp", "iso2022_jp", "utf-7", "utf-16-be", "utf-32")
        ),
        pytest.param(
            "a.csv", {"encoding": "utf-8-sig"}, b"a,label\n1,x\n2,y\n3,x\n",
            ["4,relabel,y"], b"a,label\n1,x\n2,y\n3,y\n",
            id="an encoding with a mark where none is",
        ),
        pytest.param(
            "a.csv", {}, b"a,label\n1,x\n2,\n3,y\n4,x\n",
            ["4,relabel,x"], b"a,label\n1,x\n2,\n3,x\n4,x\n",
            id="rows without a label shift nobody and stay",
            marks=pytest.mark.filterwarnings("ignore:.*1 of 4 labels is missing"),
        ),
    ],
)  # fmt: skip
def test_text_stays_as_it_was_but_for_what_was_decided(
    tmp_path, finished, name, settings, before, decisions, after
):
    data, out = tmp_path / name, tmp_path / f"clean-{name}"
    data.write_bytes(before)
    apply_decisions(finished(data, **settings), decide(tmp_path, *decisions), out)
    assert out.read_bytes() == after


@pytest.mark.parametrize(
    ("encoding", "row"), [("cp932", b"\xfa\x5c"), ("utf-7", b"+AGE-"), ("iso2022_jp", b"\x1b(J1\x1b(B")]
)
def test_text_that_its_encoding_would_spell_otherwise_is_written_in_utf_8(tmp_path, finished, encoding, row):
    data, out = tmp_path / "a.csv", tmp_path / "clean.csv"
    data.write_bytes(b"a,label\n1,x\n2,y\n" + row + b",x\n")
    run = finished(data, encoding=encoding)
    summary = apply_decisions(run, decide(tmp_path, "2,drop,"), out)
    assert out.read_bytes() == b"a,label\n2,y\n" + row.decode(encoding).encode() + b",x\n"
    assert "written in UTF-8" in summary["note"]


@pytest.mark.parametrize("ending", ["feather", "parquet"])
def test_files_of_polars(tmp_path, finished, ending):
    data, out = tmp_path / f"a.{ending}", tmp_path / f"clean.{ending}"
    table = polars.DataFrame({"words": [["a b"], [], None, ["c"]], "a": list("wxyz"), "label": list("xyxy")})
    getattr(table, "write_ipc" if ending == "feather" else "write_parquet")(data)
    run = finished(data, without=("words",))
    apply_decisions(run, decide(tmp_path, "0,drop,", "3,relabel,x"), out)
    found = getattr(polars, "read_ipc" if ending == "feather" else "read_parquet")(out)
    assert found.equals(table[1:].with_columns(label=polars.Series(["y", "x", "x"])))


def test_npz_with_as_many_features_as_samples(tmp_path, finished):
    data, x = tmp_path / "a.npz", np.arange(16.0).reshape(4, 4)
    np.savez(data, x=x, y=[0, 1, 0, 1], ids=[5, 6, 7, 8], mean=x.mean(axis=0))
    with pytest.raises(DataError, match=r"mean may hold an entry for each of 4 samples or for each of 4 fea"):
        apply_decisions(finished(data), decide(tmp_path, "6,drop,"), tmp_path / "c.npz")


@pytest.mark.parametrize(
    ("name", "content"), [("data.json", "[" * 100_000), ("data.json", "{}"), ("summary.json", "null")]
)
def test_a_damaged_run_is_told(tmp_path, finished, name, content):
    data = tmp_path / "a.csv"
    data.write_bytes(b"a,label\n1,x\n2,y\n")
    run = finished(data)
    (run / name).write_text(content)
    with pytest.raises(CheckpointError, match=rf"{name} is damaged"):
        apply_decisions(run, decide(tmp_path, "2,drop,"), tmp_path / "clean.csv")


def test_parquet_keeps_its_schema(tmp_path, finished):
    data = tmp_path / "a.parquet"
    table = pa.table(
        {
            "small": pa.array([1, 2, 3, 4], pa.int8()),
            "when": pa.array([0, 1, 2, 3], pa.timestamp("ms", tz="UTC")),
            "label": pa.array(["x", "y", "x", "y"]).dictionary_encode(),
            "money": pa.array(["1.10", "2.20", None, "4.40"]).cast(pa.string()),
        }
    ).replace_schema_metadata({"by": "hand"})
    pa.parquet.write_table(table, data, compression="zstd")
    run = finished(data)
    apply_decisions(run, decide(tmp_path, "0,drop,", "3,relabel,x"), tmp_path / "c.parquet")
    found = pa.parquet.read_table(tmp_path / "c.parquet")
    assert found.schema.equals(pa.parquet.read_table(data).schema, check_metadata=True)
    assert found["label"].to_pylist() == ["y", "x", "x"]
    assert found.drop_columns("label").equals(table.slice(1).drop_columns("label"))
    metadata = pa.parquet.ParquetFile(tmp_path / "c.parquet").metadata
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_labels_keep_the_spelling_of_the_file(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("a,label\n1,true\n2,false\n3,true\n")
    run = finished(data, {"3": "True"})
    apply_decisions(run, None, tmp_path / "c.csv", suspects="suggested")
    assert (tmp_path / "c.csv").read_text() == "a,label\n1,true\n2,true\n3,true\n"


def test_npz_cuts_what_belongs_to_samples(tmp_path, finished):
    data = tmp_path / "a.npz"
    x = np.arange(12.0).reshape(4, 3)
    np.savez(data, train_x=x, train_y=[0, 1, 0, 1], test_x=x, test_y=[1, 1, 0, 0], class_names=["no", "yes"])
    run = finished(data, split="train")
    apply_decisions(run, decide(tmp_path, "0,relabel,yes", "2,drop,"), tmp_path / "c.npz")
    with np.load(tmp_path / "c.npz") as found:
        assert np.array_equal(found["train_x"], x[[0, 1, 3]])
        assert found["train_y"].tolist() == [1, 1, 1]
        assert np.array_equal(found["test_x"], x)
        assert found["class_names"].tolist() == ["no", "yes"]


def test_npz_cuts_no_other_split(tmp_path, finished):
    data, x, y = tmp_path / "a.npz", np.arange(12.0).reshape(4, 3), np.array([0, 1, 0, 1])
    np.savez(data, x=x, y=y, pos_x=y, pos_y=y, test_x=x, test_y=y, val_images=x, val_labels=y)
    apply_decisions(finished(data), decide(tmp_path, "2,drop,"), tmp_path / "c.npz")
    with np.load(tmp_path / "c.npz") as found:
        lengths = {name: len(found[name]) for name in found}
    assert lengths == {
        "x": 3, "y": 3, "pos_x": 3, "pos_y": 3, "test_x": 4, "test_y": 4, "val_images": 4, "val_labels": 4
    }  # fmt: skip


def test_the_name_must_fit_the_form(tmp_path, plain_run):
    for name in ("c.parquet", "c", "c.xlsx", "c.tsv", "c.tab.gz"):
        with pytest.raises(SettingsError, match=r"let its name end in '\.csv' too"):
            apply_decisions(plain_run, None, tmp_path / name, suspects="drop")
    apply_decisions(plain_run, None, tmp_path / "c.txt", suspects="drop")


def test_a_folder_of_parquet_files_becomes_one_file(tmp_path, finished):
    data = tmp_path / "parts"
    data.mkdir()
    for part in range(2):
        pd.DataFrame({"a": [part, part + 5], "label": ["x", "y"]}).to_parquet(data / f"{part}.parquet")
    run = finished(data)
    with pytest.raises(SettingsError, match=r"let its name end in '\.parquet'"):
        apply_decisions(run, None, tmp_path / "clean", suspects="drop")
    apply_decisions(run, decide(tmp_path, "2,drop,"), tmp_path / "c.parquet")
    assert pd.read_parquet(tmp_path / "c.parquet")["a"].tolist() == [0, 5, 6]
    (data / "1.parquet").unlink()
    with pytest.raises(DataError, match="has changed since it was audited"):
        apply_decisions(run, None, tmp_path / "d.parquet", suspects="drop")


def test_data_that_was_moved_is_found_where_it_is_said_to_be(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("a,label\n1,x\n2,y\n3,x\n4,y\n")
    run = finished(data)
    (tmp_path / "moved").mkdir()
    moved = data.rename(tmp_path / "moved" / "b.csv")
    decisions = decide(tmp_path, "3,drop,")
    with pytest.raises(DataError, match="does not exist any more; pass data= if it was moved"):
        apply_decisions(run, decisions, tmp_path / "c.csv")
    apply_decisions(run, decisions, tmp_path / "c.csv", data=moved)
    assert (tmp_path / "c.csv").read_text() == "a,label\n1,x\n3,x\n4,y\n"
    moved.write_text("a,label\n1,x\n2,y\n3,x\n5,y\n")
    with pytest.raises(DataError, match="has changed since"):
        apply_decisions(run, decisions, tmp_path / "d.csv", data=moved)


def test_apply_and_a_missing_file_do_without_torch(tmp_path, finished):
    """A second of waiting instead of five."""
    data = tmp_path / "few.csv"
    data.write_text("x,label\n" + "1,a\n2,b\n" * 4)
    run, out = finished(data, suspects={"3": "b"}), tmp_path / "clean.csv"
    code = """
import sys
sys.modules["torch"] = None  # importing it fails
from graylearn.cli import main
main()
"""

    def said(*words):
        _, error, ended = Process(code, *words).communicate()
        return ended, error

    code_of, error = said("apply", run, "--suspects", "drop", "--out", out)
    assert code_of == 0, error
    assert len(out.read_text().splitlines()) == 8
    for words in (("predict", run, "gone.csv"), ("audit", "gone.csv", "--out", tmp_path / "new")):
        code_of, error = said(*words)
        assert code_of == 1
        assert "gone.csv does not exist" in error


@pytest.mark.parametrize(
    ("ending", "column"), [("csv", "size"), ("csv", "label"), ("jsonl", "id"), ("jsonl", "group")]
)
def test_numbers_of_any_length(tmp_path, ending, column):
    """In a feature, an id, a label or a group."""
    rows = [
        {"size": row % 7, "other": row * 37 % 11 / 4, "label": row % 2, "group": row // 4}
        for row in range(40)
    ]
    rows = [{"id": row, **each} if column == "id" else each for row, each in enumerate(rows)]
    for each in rows:
        each[column] = int("9" * 400) + each[column]
    if ending == "csv":
        pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    else:
        (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    settings = RunSettings(
        command="audit", data=str(tmp_path / f"a.{ending}"), label="label", group="group", epochs=1
    )
    start(settings, tmp_path / "run", progress=RunProgress(quiet=True))
    assert pa.parquet.read_metadata(tmp_path / "run" / "samples.parquet").num_rows == 40
