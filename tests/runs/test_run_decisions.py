"""Which decisions are carried out: rules for the undecided, names as people write them, what is refused."""

import json
import shutil
import time

import pandas as pd
import pytest
from PIL import Image
from run_helpers import decide
from typer.testing import CliRunner

from graylearn.cli.main import app
from graylearn.errors import DataError, SettingsError
from graylearn.runs.apply import apply_decisions, write_tasks
from graylearn.runs.settings import in_flags


@pytest.mark.parametrize(
    ("suspects", "expected"),
    [("keep", "1,x\n2,y\n3,x\n4,y\n"), ("drop", "2,y\n3,x\n4,y\n"), ("suggested", "1,y\n2,y\n3,x\n4,y\n")],
)
def test_undecided_suspects(tmp_path, plain_run, suspects, expected):
    apply_decisions(plain_run, decide(tmp_path, "3,keep,", "5,keep,"), tmp_path / "c.csv", suspects=suspects)
    assert (tmp_path / "c.csv").read_text() == f"a,label\n{expected}"


@pytest.mark.parametrize(("sure", "expected"), [({"5"}, "1,x\n2,y\n3,x\n"), (None, "1,x\n2,y\n3,x\n4,y\n")])
def test_the_rule_can_be_for_sure_suspects_alone(tmp_path, finished, sure, expected):
    data = tmp_path / "a.csv"
    data.write_text("a,label\n1,x\n2,y\n3,x\n4,y\n")
    run = finished(data, {"2": "y", "5": None}, sure)
    summary = apply_decisions(run, None, tmp_path / "c.csv", suspects="suggested", only_sure=True)
    assert (summary["undecided_suspects"], summary["undecided_sure"]) == (2, len(sure or ()))
    assert (tmp_path / "c.csv").read_text() == f"a,label\n{expected}"


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


def test_zeros_that_a_spreadsheet_took_away(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("id,a,label\n0000,1,x\n0070,2,y\n0071,3,x\n71,4,y\n")
    run = finished(data)
    apply_decisions(run, decide(tmp_path, "0,drop,", "70,drop,", "71,drop,"), tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == "id,a,label\n0071,3,x\n"


@pytest.mark.parametrize(
    ("labels", "saved"),
    [(("1.0", "2.0"), ("1", "2")), (("True", "False"), ("TRUE", "FALSE")), (("007", "012"), ("7", "12"))],
)
def test_labels_as_a_spreadsheet_writes_them(tmp_path, finished, labels, saved):
    data = tmp_path / "a.jsonl"
    data.write_text("".join(f'{{"a": {row}, "label": "{labels[row % 2]}"}}\n' for row in range(4)))
    decisions = tmp_path / "decisions.csv"
    decisions.write_text(f"id,decision,label,given\n1,relabel,{saved[1]},{saved[0]}\n4,keep,,{saved[1]}\n")
    apply_decisions(finished(data), decisions, tmp_path / "c.jsonl")
    assert (tmp_path / "c.jsonl").read_text() == data.read_text().replace(*labels, 1)


def test_names_that_could_be_either_are_refused(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("id,a,label\n4,1,x\n4.0,2,y\nk,3,x\nk-1,4,y\n")
    run = finished(data)
    apply_decisions(run, decide(tmp_path, "4.0,drop,"), tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == "id,a,label\n4,1,x\nk,3,x\nk-1,4,y\n"
    with pytest.raises(DataError, match=r"'4\.00', which the run does not have"):
        apply_decisions(run, decide(tmp_path, "4.00,drop,"), tmp_path / "d.csv")


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
    assert apply("3,drop,,,")["dropped"] == 1  # a row added by hand
    assert apply("3,drop,", "id,decision,label")["dropped"] == 1  # made by hand
    with pytest.raises(DataError, match="made in the report of another run"):
        apply("3,drop,,y,another")
    with pytest.raises(DataError, match="'3' is labelled 'x', but here it is 'y'"):
        apply("3,drop,,x,one")


def test_most_of_a_class_does_not_go_without_a_question(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("a,label\n" + "".join(f"{row},{'xy'[row % 2]}\n" for row in range(12)))
    suspects = dict.fromkeys(["2", "4", "6", "8"])  # lines of x: 4 of 6
    run = finished(data, suspects)
    out, asked = tmp_path / "c.csv", []
    with pytest.raises(SettingsError, match="of 6 samples labelled 'x' 2 would be left") as caught:
        apply_decisions(run, None, out, suspects="drop")
    assert "yes=True" in str(caught.value)
    assert caught.value.worded(in_flags).endswith("; pass --yes to go on")
    with pytest.raises(SettingsError, match="nothing was written"):
        apply_decisions(run, None, out, suspects="drop", ask=lambda text: bool(asked.append(text)))
    assert not out.exists()
    assert asked == ["of 6 samples labelled 'x' 2 would be left"]
    apply_decisions(run, None, out, suspects="drop", ask=bool)
    assert len(out.read_text().splitlines()) == 9
    keep = decide(tmp_path, "2,keep,", "4,keep,")  # half of x stays
    assert apply_decisions(run, keep, tmp_path / "d.csv", suspects="drop")["dropped"] == 2


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


def test_tasks_are_not_made_of_data_that_changed(tmp_path, plain_run):
    data = tmp_path / "a.csv"
    for changed in ("a,label\n1,x\n", "a,label\n4,y\n3,x\n2,y\n1,x\n"):
        data.write_text(changed)
        with pytest.raises(DataError, match=r"a\.csv has changed since it was audited"):
            write_tasks(plain_run, tmp_path / "tasks.json")


def test_tasks_of_images_that_a_folder_of_tables_lists(tmp_path, finished):
    for number in range(4):
        Image.new("RGB", (8, 8), (60 * number, 0, 0)).save(tmp_path / f"{number}.png")
    (tmp_path / "lists").mkdir()
    listed = pd.DataFrame({"path": [f"{number}.png" for number in range(4)], "label": list("xyxy")})
    listed.to_parquet(tmp_path / "lists" / "all.parquet")
    run = finished(tmp_path / "lists", {"1.png": None}, features="pixels")
    write_tasks(run, tmp_path / "tasks.json")
    (task,) = json.loads((tmp_path / "tasks.json").read_text())
    assert task["data"]["image"] == str(tmp_path / "1.png")


def test_tasks_show_missing_cells_as_empty_and_tell_where_there_are_none(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text("a,b,label\n1,,x\n2,u,y\n,v,x\n4,w,y\n")
    write_tasks(finished(data, {"2": "y", "4": None}), tmp_path / "tasks.json")
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [task["data"]["row"] for task in tasks] == [{"a": "1.0", "b": ""}, {"a": "", "b": "v"}]
    shutil.rmtree(tmp_path / "run")
    none = CliRunner().invoke(app, ["tasks", str(finished(data)), "--out", str(tmp_path / "none.json")])
    assert none.exit_code == 0
    assert "0 tasks written" in none.output
    assert "nothing is flagged" in none.output


@pytest.mark.parametrize("name", ["0" * 200_000 + "x", "1." + "0" * 200_000 + "1"])
def test_names_of_any_length_are_compared_at_once(tmp_path, finished, name):
    """A label of 40,000 zeros once took 76 seconds."""
    data = tmp_path / "a.csv"
    data.write_text(f"a,label\n1,{name}\n2,y\n3,y\n")
    began = time.perf_counter()
    apply_decisions(finished(data), decide(tmp_path, f"3,relabel,{name}"), tmp_path / "clean.csv")
    assert time.perf_counter() - began < 20
    assert (tmp_path / "clean.csv").read_text() == f"a,label\n1,{name}\n2,{name}\n3,y\n"


def test_a_class_of_five_samples_goes_and_is_told_of(tmp_path, finished):
    data = tmp_path / "a.csv"
    data.write_text(
        "a,label\n" + "".join(f"{row},{'z' if row < 5 else 'xy'[row % 2]}\n" for row in range(30))
    )
    run = finished(data, dict.fromkeys(["2", "3", "4", "5", "6"], "x"))
    done = apply_decisions(run, None, tmp_path / "c.csv", suspects="suggested")
    assert (done["relabelled"], done["classes_gone"]) == (5, ["z"])
