"""Several annotators from the command line: columns or long form in, consensus, whom to ask."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from run_helpers import blobs
from typer.testing import CliRunner

from graylearn.cli.main import app
from graylearn.errors import DataError, SettingsError
from graylearn.runs import RunProgress, RunSettings
from graylearn.runs import run as start
from graylearn.runs.apply import apply_decisions, write_tasks
from graylearn.runs.crowd import opinions

NAMES = np.array(["ant", "bee", "cow"])
PEOPLE = ["anna", "ben", "cleo", "dan"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """90 samples, labelled by three of four people each: dan at random, the others right but for one in
    twenty; the same in long form beside a table without labels."""
    folder = tmp_path_factory.mktemp("annotators")
    random = np.random.default_rng(0)
    x, y = blobs(90)
    said = np.stack([np.where(random.random(90) < wrong, random.integers(3, size=90), y)
                     for wrong in (0.05, 0.05, 0.05, 1.0)], axis=1)  # fmt: skip
    labels = pd.DataFrame(NAMES[said], columns=PEOPLE)
    labels = labels.mask(pd.DataFrame(np.arange(4) == np.arange(90)[:, None] % 4, columns=PEOPLE))
    rows = pd.DataFrame(x.round(4), columns=["one", "two", "three"])
    rows.insert(0, "id", [f"{number:03d}" for number in range(90)])
    pd.concat([rows, labels], axis=1).to_csv(folder / "wide.csv", index=False, sep=";")
    rows.to_csv(folder / "rows.csv", index=False)
    long = labels.assign(id=rows["id"]).melt("id", var_name="worker", value_name="answer").dropna()
    long.to_csv(folder / "long.csv", index=False)
    return folder, y


@pytest.fixture(scope="module")
def made(folder):
    path, _ = folder
    words = ["audit", str(path / "wide.csv"), "--id", "id", "--out", str(path / "run"), "--json", "-q"]
    done = CliRunner().invoke(app, [*words, *(word for name in PEOPLE for word in ("--annotators", name))])
    assert done.exit_code == 0, done.output
    return path / "run", json.loads(done.stdout)


def test_the_consensus_is_audited_and_annotators_are_judged(made, folder):
    run, summary = made
    _, y = folder
    table = pd.read_csv(run / "consensus.csv", dtype=str)
    assert table.columns.tolist() == ["id", "one", "two", "three", "consensus"]
    assert table["id"][7] == "007"
    assert (table["consensus"] == NAMES[y]).mean() > 0.95
    audit = pd.read_csv(run / "audit.csv", dtype={"id": str})
    assert audit["label"].tolist() == table["consensus"].tolist()
    people = pd.read_csv(run / "annotators.csv")
    assert people["annotator"][0] == "dan"
    assert people["quality"][0] < 0.6 < 0.85 < people["quality"][1]
    assert summary["annotators"]["annotators"] == 4
    assert summary["annotators"]["quality"]["dan"] == pytest.approx(people["quality"][0], abs=1e-3)
    assert any("consensus of 4 annotators, who agree by" in note for note in summary["notes"])
    asked = pd.read_csv(run / "ask_again.csv", dtype={"id": str})
    assert asked["confidence"].is_monotonic_increasing
    silent = [PEOPLE[int(name) % 4] for name in asked["id"]]
    assert asked["ask"].tolist() == silent  # the only one who has not seen it


def test_the_run_goes_on_to_tools_and_back_to_the_data(made, folder, tmp_path):
    run, _ = made
    write_tasks(run, tmp_path / "tasks.json")
    (tmp_path / "decisions.csv").write_text("id,decision,label\n007,drop,\n")
    done = apply_decisions(run, tmp_path / "decisions.csv", tmp_path / "clean.csv")
    assert (done["kept"], done["dropped"]) == (89, 1)
    again = CliRunner().invoke(
        app, ["audit", "--settings", str(run / "settings.toml"), "--out", str(run), "-q"]
    )
    assert again.exit_code == 3, again.output
    assert "holds a finished run of these settings" in again.output


def test_long_form_is_the_same_opinions(folder):
    path, _ = folder
    without_labels, wide, _ = opinions(RunSettings(data=str(path / "wide.csv"), annotators=tuple(PEOPLE)))
    _, parted, _ = opinions(RunSettings(data=str(path / "wide.csv"), annotators=(", ".join(PEOPLE),)))
    assert parted.equals(wide)
    table, long, _ = opinions(RunSettings(data=str(path / "rows.csv"), annotations=str(path / "long.csv")))
    assert (long[PEOPLE].fillna("").to_numpy() == wide.fillna("").to_numpy()).all()
    assert table.frame.columns.tolist() == without_labels.frame.columns.tolist()


def test_what_cannot_be_is_refused(folder, tmp_path):
    path, _ = folder
    with pytest.raises(SettingsError, match="label or annotations as well"):
        RunSettings(data="x.csv", annotators=("anna", "ben"), label="cleo")
    with pytest.raises(SettingsError, match="names one column, 'anna'"):
        opinions(RunSettings(data=str(path / "wide.csv"), annotators=("anna",)))
    with pytest.raises(DataError, match="no column 'bill' to take an annotator's labels from"):
        opinions(RunSettings(data=str(path / "wide.csv"), annotators=("anna", "bill")))
    for content, told in (
        ("sample,annotator,label\n001,anna,ant\n999,ben,ant\n", "names the sample '999'"),
        ("sample,annotator,label\n001,anna,ant\n,ben,ant\n", "names the sample ''"),
        ("sample,annotator,label\n001,anna,ant\n001,,ant\n", "1 label of no annotator; fill in column"),
        ("sample,annotator,label\n001,anna,ant\n001,anna,bee\n", "anna labels '001' twice"),
        ("a,b\n1,2\n", "expected sample, annotator, label"),
    ):
        (tmp_path / "long.csv").write_text(content)
        with pytest.raises(DataError, match=told):
            opinions(RunSettings(data=str(path / "rows.csv"), annotations=str(tmp_path / "long.csv")))


@pytest.mark.parametrize(
    ("name", "parts"), [("wide.csv", {}), ("wide.xlsx", {}), ("wide.csv", {"part_size": 100})]
)
def test_samples_go_by_their_line_in_the_data(folder, tmp_path, name, parts):
    path, _ = folder
    table = pd.read_csv(path / "wide.csv", sep=";").drop(columns="id")
    table.loc[:4, PEOPLE] = None
    (table.to_csv if name == "wide.csv" else table.to_excel)(tmp_path / name, index=False)
    settings = RunSettings(command="audit", data=str(tmp_path / name), annotators=tuple(PEOPLE), **parts)
    summary = start(settings, tmp_path / "run", progress=RunProgress(quiet=True))
    below = list(range(7, 92))  # the header, and five that nobody labelled
    assert pd.read_parquet(tmp_path / "run" / "audit.parquet")["id"].tolist() == below
    assert sorted(pd.read_csv(tmp_path / "run" / "ask_again.csv")["id"]) == below
    assert summary["annotators"]["annotators"] == 4
    assert min(summary["annotators"]["quality"], key=summary["annotators"]["quality"].get) == "dan"


def test_images_go_by_their_paths_in_the_data(tmp_path):
    (tmp_path / "data" / "img").mkdir(parents=True)
    random = np.random.default_rng(0)
    files = [f"img/{number}.png" for number in range(12)]
    for file in files:
        Image.fromarray(random.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(tmp_path / "data" / file)
    said = {"anna": ["ant", "bee"] * 6, "ben": ["ant", "bee"] * 5 + ["bee", "ant"]}
    pd.DataFrame({"file": files, **said}).to_csv(tmp_path / "data" / "list.csv", index=False)
    settings = RunSettings(
        command="audit", data=str(tmp_path / "data" / "list.csv"), annotators=("anna", "ben"),
        features="pixels", size=8, epochs=1,
    )  # fmt: skip
    start(settings, tmp_path / "run", progress=RunProgress(quiet=True))
    assert pd.read_parquet(tmp_path / "run" / "audit.parquet")["id"].tolist() == files
    assert sorted(pd.read_csv(tmp_path / "run" / "ask_again.csv")["id"]) == sorted(files)
    written = pd.read_csv(tmp_path / "run" / "consensus.csv")
    assert written["file"].tolist() == [f"../data/{file}" for file in files], "as seen from the run folder"
