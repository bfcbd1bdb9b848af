"""Decisions carried out: what was decided changes, all else stays byte by byte."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

from graylearn.data.encoding.column_kinds import DataWarning
from graylearn.errors import DataError, SettingsError
from graylearn.runs.apply import apply_decisions
from graylearn.runs.tasks import write_tasks

NASTY = (
    "id;note;label\r\n"
    '1;"a ""quoted"" word; and\r\na second line";"big; cat"\r\n'
    "\r\n"
    "2;  spaces kept  ;dog\r\n"
    '3;"plain";"big; cat"\r\n'
    "4;ünïcödé 😀;dog"
)


def decide(tmp_path, *rows):
    path = tmp_path / "decisions.csv"
    path.write_text("id,decision,label\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


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


def test_utf16_tabs_and_no_header(tmp_path, finished):
    data = tmp_path / "t.tsv"
    text = "0.5\tяд\n1.5\tящик\n2.5\tяд\n"
    data.write_bytes(text.encode("utf-16"))
    run = finished(data, label="1")
    apply_decisions(run, decide(tmp_path, "2,relabel,яд", "3,drop,"), tmp_path / "c.tsv")
    assert (tmp_path / "c.tsv").read_bytes() == "0.5\tяд\n1.5\tяд\n".encode("utf-16")


def test_the_line_that_names_the_separator_stays(tmp_path, finished):
    data = tmp_path / "sheet.csv"
    data.write_text("sep=~\na~label\n1~x\n2~y\n3~x\n")
    run = finished(data)
    apply_decisions(run, decide(tmp_path, "3,drop,", "5,relabel,y"), tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == "sep=~\na~label\n2~y\n3~y\n"


def test_compressed_in_another_encoding(tmp_path, finished):
    data = tmp_path / "a.csv.gz"
    text = "a,label\n1,chat\n2,b\xeate\n3,chat\n4,b\xeate\n"
    with pa.output_stream(str(data), compression="gzip") as stream:
        stream.write(text.encode("latin-1"))
    run = finished(data, encoding="latin-1")
    apply_decisions(run, decide(tmp_path, "2,relabel,b\xeate", "3,drop,"), tmp_path / "c.csv.gz")
    with pa.input_stream(str(tmp_path / "c.csv.gz"), compression="gzip") as stream:
        assert stream.read() == "a,label\n1,b\xeate\n3,chat\n4,b\xeate\n".encode("latin-1")


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


def test_json_lines_that_nobody_touched_stay_as_they_were(tmp_path, finished):
    data = tmp_path / "a.jsonl"
    data.write_text('{"a": 1,   "label": "x"}\n\n{"a": 2, "label": "y"}\n{"a": 3, "label": "\\u0078"}\n')
    run = finished(data)
    apply_decisions(run, decide(tmp_path, "3,drop,", "4,relabel,y"), tmp_path / "c.jsonl")
    assert (tmp_path / "c.jsonl").read_text() == '{"a": 1,   "label": "x"}\n{"a": 3, "label": "y"}\n'


def test_feather(tmp_path, finished):
    data = tmp_path / "a.feather"
    pd.DataFrame({"a": [1, 2, 3], "label": [5, 6, 5]}).to_feather(data)
    run = finished(data, {"1": "5"})
    apply_decisions(run, None, tmp_path / "c.feather", suspects="suggested")
    assert pd.read_feather(tmp_path / "c.feather")["label"].tolist() == [5, 5, 5]


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


@pytest.fixture
def photos(tmp_path):
    random = np.random.default_rng(0)
    for name in ("cat/1.png", "cat/deep/2.png", "dog/1.png", "dog/3.png"):
        path = tmp_path / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 255, (8, 8, 3)).astype(np.uint8)).save(path)
    return tmp_path / "photos"


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("link", [False, True])
def test_images_move_to_the_folder_of_their_class(tmp_path, finished, photos, link):
    before = tree(photos)
    run = finished(photos, {"dog/3.png": None}, features="pixels", size=8)
    every = decide(tmp_path, *(f"{name},drop," for name in before))
    with pytest.raises(DataError, match="nothing would be left"):
        apply_decisions(run, every, tmp_path / "none")
    decisions = decide(tmp_path, "cat/1.png,relabel,dog")
    summary = apply_decisions(run, decisions, tmp_path / "clean", suspects="drop", link=link)
    assert tree(tmp_path / "clean") == {
        "dog/1 (from cat).png": before["cat/1.png"],
        "cat/deep/2.png": before["cat/deep/2.png"],
        "dog/1.png": before["dog/1.png"],
    }
    assert summary["dropped"] == 1
    assert tree(photos) == before
    same = (tmp_path / "clean" / "dog" / "1.png").samefile(photos / "dog" / "1.png")
    assert same == link


def test_an_image_folder_as_a_manifest(tmp_path, finished, photos):
    run = finished(photos, features="pixels", size=8)
    (tmp_path / "lists").mkdir()
    apply_decisions(run, decide(tmp_path, "cat/1.png,relabel,dog"), tmp_path / "lists" / "m.csv")
    found = pd.read_csv(tmp_path / "lists" / "m.csv")
    assert dict(zip(found["path"], found["label"], strict=True))["../photos/cat/1.png"] == "dog"
    assert len(found) == 4


def test_a_manifest_still_finds_its_images(tmp_path, finished, photos):
    data = tmp_path / "m.csv"
    text = 'path,label,who\nphotos/cat/1.png,cat,"a, b"\nphotos/dog/1.png,dog,c\nphotos/dog/3.png,dog,d\n'
    data.write_text(text)
    run = finished(data, features="pixels", size=8)
    decisions = decide(tmp_path, "photos/dog/3.png,relabel,cat")
    apply_decisions(run, decisions, tmp_path / "beside.csv")
    assert (tmp_path / "beside.csv").read_text() == text.replace("3.png,dog", "3.png,cat")
    (tmp_path / "away").mkdir()
    apply_decisions(run, decisions, tmp_path / "away" / "m.csv")
    assert (tmp_path / "away" / "m.csv").read_text() == text.replace("3.png,dog", "3.png,cat").replace(
        "photos/", "../photos/"
    )


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("named", [False, True])
def test_rows_of_unreadable_images_shift_nobody(tmp_path, finished, photos, ending, named):
    (photos / "dog" / "0.png").write_bytes(b"broken")
    paths = [
        f"photos/{name}" for name in ("cat/1.png", "dog/0.png", "cat/deep/2.png", "dog/1.png", "dog/3.png")
    ]
    frame = pd.DataFrame({"path": paths, "label": [path.split("/")[1] for path in paths]})
    if named:
        frame["id"] = [5.0, 4.0, 3.0, 2.0, 1.0]
    write = {
        "csv": lambda path: frame.to_csv(path, index=False),
        "jsonl": lambda path: frame.to_json(path, orient="records", lines=True),
        "parquet": frame.to_parquet,
    }
    read = {
        "csv": pd.read_csv,
        "jsonl": lambda path: pd.read_json(path, lines=True),
        "parquet": pd.read_parquet,
    }
    data, clean = tmp_path / f"m.{ending}", tmp_path / f"c.{ending}"
    write[ending](data)
    with pytest.warns(DataWarning, match=r"1 of 5 images cannot be read and are left out: .*0\.png"):
        run = finished(data, features="pixels", size=8, unreadable="skip")
    first, third = ("3", "1") if named else (paths[2], paths[4])
    summary = apply_decisions(run, decide(tmp_path, f"{first},drop,", f"{third},relabel,cat"), clean)
    found = read[ending](clean)
    assert found["path"].tolist() == [paths[0], paths[3], paths[4]]
    assert found["label"].tolist() == ["cat", "dog", "cat"]
    assert (summary["kept"], summary["dropped"], summary["relabelled"]) == (3, 1, 1)


@pytest.fixture
def plain_run(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("a,label\n1,x\n2,y\n3,x\n4,y\n")
    return finished(data, {"2": "y", "5": None})


@pytest.mark.parametrize(
    ("suspects", "expected"),
    [
        ("keep", "a,label\n1,x\n2,y\n3,x\n4,y\n"),
        ("drop", "a,label\n2,y\n3,x\n"),
        ("suggested", "a,label\n1,y\n2,y\n3,x\n"),
    ],
)
def test_undecided_suspects(tmp_path, plain_run, suspects, expected):
    apply_decisions(plain_run, decide(tmp_path, "3,keep,"), tmp_path / "c.csv", suspects=suspects)
    assert (tmp_path / "c.csv").read_text() == expected


@pytest.mark.parametrize(("sure", "expected"), [({"5"}, "1,x\n2,y\n3,x\n"), (None, "1,x\n2,y\n3,x\n4,y\n")])
def test_the_rule_can_be_for_sure_suspects_alone(tmp_path, finished, sure, expected):
    data = tmp_path / "a.csv"
    data.write_text("a,label\n1,x\n2,y\n3,x\n4,y\n")
    run = finished(data, {"2": "y", "5": None}, sure)
    apply_decisions(run, None, tmp_path / "c.csv", suspects="suggested", only_sure=True)
    assert (tmp_path / "c.csv").read_text() == f"a,label\n{expected}"


def test_a_decision_wins_over_the_rule_for_suspects(tmp_path, plain_run):
    apply_decisions(plain_run, decide(tmp_path, "2,keep,"), tmp_path / "c.csv", suspects="drop")
    assert (tmp_path / "c.csv").read_text() == "a,label\n1,x\n2,y\n3,x\n"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["9,drop,"], "'9', which the run does not have"),
        (["2,drop,", "2,keep,"], "a second time"),
        (["2,relabel,xx"], "which is no class; did you mean 'x'"),
        (["2,relabel,fish"], "which is no class; labels are 'x', 'y'$"),
        (["2,drop,", " 2.0 ,keep,"], "'2' a second time"),
    ],
)
def test_decisions_that_cannot_be_meant(tmp_path, plain_run, rows, words):
    with pytest.raises(DataError, match=words):
        apply_decisions(plain_run, decide(tmp_path, *rows), tmp_path / "c.csv")
    assert not (tmp_path / "c.csv").exists()


def test_names_as_a_spreadsheet_writes_them(tmp_path, plain_run):
    rows = ('" 2 ",drop,', "4.0,relabel,y", "5,,")
    summary = apply_decisions(plain_run, decide(tmp_path, *rows), tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == "a,label\n2,y\n3,y\n4,y\n"
    assert (summary["decisions"], summary["undecided_suspects"]) == (2, 1)


def test_names_that_could_be_either_are_refused(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("id,a,label\n4,1,x\n4.0,2,y\nk,3,x\nk-1,4,y\n")
    run = finished(data)
    apply_decisions(run, decide(tmp_path, "4.0,drop,"), tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == "id,a,label\n4,1,x\nk,3,x\nk-1,4,y\n"
    with pytest.raises(DataError, match=r"'4\.00', which the run does not have"):
        apply_decisions(run, decide(tmp_path, "4.00,drop,"), tmp_path / "d.csv")


def test_what_was_held_out_is_told(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("a,label\n" + "1,x\n2,y\n" * 10)
    run = finished(data, test_share=0.3)
    assert apply_decisions(run, None, tmp_path / "c.csv", suspects="drop")["not_audited"] == 6
    every = decide(tmp_path, *(f"{line},keep," for line in range(2, 22)))
    assert apply_decisions(run, every, tmp_path / "d.csv")["not_audited"] == 0


def test_changed_data_are_refused(tmp_path, plain_run):
    (tmp_path / "a.csv").write_text("a,label\n1,x\n2,y\n3,x\n4,x\n")
    with pytest.raises(DataError, match=r"a\.csv has changed since it was audited"):
        apply_decisions(plain_run, decide(tmp_path, "2,drop,"), tmp_path / "c.csv")


def test_a_changed_image_is_named(tmp_path, finished, photos):
    run = finished(photos, features="pixels", size=8)
    Image.new("RGB", (8, 8)).save(photos / "dog" / "3.png")
    with pytest.raises(DataError, match=r"dog/3\.png has changed"):
        apply_decisions(run, None, tmp_path / "clean", suspects="drop")
    (photos / "dog" / "3.png").unlink()
    with pytest.raises(DataError, match=r"dog/3\.png is gone"):
        apply_decisions(run, None, tmp_path / "clean", suspects="drop")
    assert not (tmp_path / "clean").exists()


def test_the_source_is_never_written_over(tmp_path, plain_run, finished):
    with pytest.raises(SettingsError, match="never written over"):
        apply_decisions(plain_run, None, tmp_path / "a.csv", suspects="drop", overwrite=True)
    (tmp_path / "link.csv").symlink_to(tmp_path / "a.csv")
    with pytest.raises(SettingsError, match="never written over"):
        apply_decisions(plain_run, None, tmp_path / "link.csv", suspects="drop", overwrite=True)
    (tmp_path / "there.csv").write_text("mine")
    with pytest.raises(SettingsError, match="exists already"):
        apply_decisions(plain_run, None, tmp_path / "there.csv", suspects="drop")
    apply_decisions(plain_run, None, tmp_path / "there.csv", suspects="drop", overwrite=True)
    assert (tmp_path / "there.csv").read_text() == "a,label\n2,y\n3,x\n"


def test_the_name_must_fit_the_form(tmp_path, plain_run):
    for name in ("c.parquet", "c", "c.xlsx", "c.tsv", "c.tab.gz"):
        with pytest.raises(SettingsError, match=r"let its name end in '\.csv' too"):
            apply_decisions(plain_run, None, tmp_path / name, suspects="drop")
    apply_decisions(plain_run, None, tmp_path / "c.txt", suspects="drop")


def test_tabs_are_not_called_commas(tmp_path, finished):
    (tmp_path / "a.tsv").write_text("a\tlabel\n1\tx\n2\ty\n3\tx\n4\ty\n")
    run = finished(tmp_path / "a.tsv")
    with pytest.raises(SettingsError, match=r"let its name end in '\.tsv' too"):
        apply_decisions(run, None, tmp_path / "c.csv", suspects="drop")
    apply_decisions(run, None, tmp_path / "c.tab", suspects="drop")


def test_nothing_is_written_inside_the_images(tmp_path, finished, photos):
    run = finished(photos, features="pixels", size=8)
    with pytest.raises(SettingsError, match="lies inside the data"):
        apply_decisions(run, None, photos / "clean", suspects="drop")


def test_rows_without_a_label_shift_nobody_and_go(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("a,label\n1,x\n2,\n3,y\n4,x\n")
    run = finished(data, missing_labels="skip")
    apply_decisions(run, decide(tmp_path, "4,relabel,x"), tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == "a,label\n1,x\n3,x\n4,x\n"


def test_a_folder_of_parquet_files_becomes_one_file(tmp_path, finished):
    data = tmp_path / "parts"
    data.mkdir()
    for part in range(2):
        pd.DataFrame({"a": [part, part + 5], "label": ["x", "y"]}).to_parquet(data / f"{part}.parquet")
    run = finished(data)
    with pytest.raises(SettingsError, match=r"let its name end in '\.parquet' too"):
        apply_decisions(run, None, tmp_path / "clean", suspects="drop")
    apply_decisions(run, decide(tmp_path, "2,drop,"), tmp_path / "c.parquet")
    assert pd.read_parquet(tmp_path / "c.parquet")["a"].tolist() == [0, 5, 6]
    (data / "1.parquet").unlink()
    with pytest.raises(DataError, match="has changed since it was audited"):
        apply_decisions(run, None, tmp_path / "d.parquet", suspects="drop")


def test_decisions_of_another_run_are_refused(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("a,label\n1,x\n2,y\n3,x\n4,y\n")
    run = finished(data)
    (run / "summary.json").write_text('{"fingerprint": "one"}')
    decisions = tmp_path / "decisions.csv"

    def apply(rows, header="id,decision,label,given,run"):
        decisions.write_text(f"{header}\n{rows}\n")
        return apply_decisions(run, decisions, tmp_path / "c.csv", overwrite=True)

    assert apply("3,drop,,y,one")["dropped"] == 1
    assert apply("3,drop,,y,")["dropped"] == 1
    assert apply("3,drop,", "id,decision,label")["dropped"] == 1  # made by hand
    with pytest.raises(DataError, match="made in the report of another run"):
        apply("3,drop,,y,another")
    with pytest.raises(DataError, match="'3' is labelled 'x', but here it is 'y'"):
        apply("3,drop,,x,one")


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


def test_most_of_a_class_does_not_go_without_a_question(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("a,label\n" + "".join(f"{row},{'xy'[row % 2]}\n" for row in range(12)))
    suspects = dict.fromkeys(["2", "4", "6", "8"])  # lines of x: 4 of 6
    run = finished(data, suspects)
    out, asked = tmp_path / "c.csv", []
    with pytest.raises(SettingsError, match="of 6 samples labelled 'x' 2 would be left") as caught:
        apply_decisions(run, None, out, suspects="drop")
    assert "yes=True" in str(caught.value)
    with pytest.raises(SettingsError, match="nothing was written"):
        apply_decisions(run, None, out, suspects="drop", ask=lambda text: bool(asked.append(text)))
    assert not out.exists()
    assert asked == ["of 6 samples labelled 'x' 2 would be left"]
    apply_decisions(run, None, out, suspects="drop", ask=bool)
    assert len(out.read_text().splitlines()) == 9
    keep = decide(tmp_path, "2,keep,", "4,keep,")  # half of x stays
    assert apply_decisions(run, keep, tmp_path / "d.csv", suspects="drop")["dropped"] == 2


def test_apply_and_a_missing_file_do_without_torch(tmp_path, finished):
    """A second of waiting instead of five."""
    data = tmp_path / "few.csv"
    data.write_text("x,label\n" + "1,a\n2,b\n" * 4)
    run, out = finished(data, suspects={"3": "b"}), tmp_path / "clean.csv"
    code = """
import sys
sys.modules["torch"] = None  # importing it fails
from graylearn.cli import main
try:
    main()
except SystemExit as end:
    sys.exit(end.code)
"""

    def said(*words):
        command = [sys.executable, "-c", code, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stderr

    code_of, error = said("apply", run, "--suspects", "drop", "--out", out)
    assert code_of == 0, error
    assert len(out.read_text().splitlines()) == 8
    for words in (("predict", run, "gone.csv"), ("audit", "gone.csv", "--out", tmp_path / "new")):
        code_of, error = said(*words)
        assert code_of == 1
        assert "gone.csv does not exist" in error


def test_decisions_come_back_from_label_studio(tmp_path, plain_run):
    done = write_tasks(plain_run, tmp_path / "tasks.json")
    assert done["tasks"] == 2
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert {task["data"]["graylearn_id"] for task in tasks} == {"2", "5"}
    for task in tasks:  # a person agrees with what is predicted
        task["annotations"] = [{"result": task["predictions"][0]["result"]}]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    apply_decisions(plain_run, tmp_path / "export.json", tmp_path / "clean.csv")
    assert (tmp_path / "clean.csv").read_text() == "a,label\n1,y\n2,y\n3,x\n"
