"""What a run hands to its report: likeness, whole pictures, notes on the data, the next command."""

import base64
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from graylearn.runs import RunProgress, RunSettings, run
from graylearn.runs.prepare import prepare
from graylearn.runs.results import apply_command


def payload_of(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table of five groups that lie far apart, a tenth of the labels wrong; and its run."""
    folder = tmp_path_factory.mktemp("reported")
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 5
    given = truth.copy()
    wrong = np.arange(0, 300, 11)
    given[wrong] = (truth[wrong] + 1 + rng.integers(0, 4, len(wrong))) % 5
    table = pd.DataFrame(6 * np.eye(5)[truth] + rng.normal(size=(300, 5)), columns=list("abcde"))
    table["bought"] = [f"{row % 28 + 1}.12.2024" for row in range(300)]
    table["ticket_id"] = [f"T-{7919 * row % 10_007:05d}" for row in range(300)]
    table["lab"] = [f"lab {row}" for row in range(300)]
    table["label"] = np.array(["ant", "bee", "cow", "dog", "eel"])[given]
    table.to_csv(folder / "my blobs.csv", index=False)
    settings = RunSettings(
        command="audit", data=str(folder / "my blobs.csv"), label="label", without=("lab",)
    )
    run(settings, folder / "run", progress=RunProgress(quiet=True))
    return folder


def test_the_report_of_a_table_explains_its_rows(made):
    main = payload_of(made / "run")
    assert main["idWord"] == "line"
    assert main["judge"] == "views that had not seen its label"
    assert main["command"] == f"graylearn apply {made / 'run'} decisions.csv --out 'my blobs-clean.csv'"
    assert main["previews"]["odd"]["names"] == [*"abcde", "bought"]  # ticket_id names the rows
    assert main["previews"]["columns"] == [[*"abcde", "bought", "ticket_id", "lab"]]  # left out, but shown
    page = (made / "run" / "report.html").read_text(encoding="utf-8")
    rows = json.loads(re.search(r'class="previews">(.*?)</script>', page, re.S)[1])
    assert [values[-1] for _, _, values, *_ in rows] == [f"lab {row}" for row in main["previews"]["index"]]
    assert len(main["beside"]["likely"]["of"]) == 300
    assert len(main["map"]["index"]) == 300
    suspects = main["suspected"].count("1")
    assert suspects >= 20
    nearest = np.array(main["beside"]["nearest"]["index"]).reshape(suspects, 3)
    # The groups lie far apart: the nearest of a row are of its own group, whatever its label says.
    assert (nearest % 5 == np.array(main["beside"]["nearest"]["of"])[:, None] % 5).mean() > 0.9


@pytest.mark.parametrize(
    ("data", "clean"),
    [
        ("set", "set-clean.parquet"),
        ("set/part*.parquet", "part-clean.parquet"),
        ("v1.2.jsonl.gz", "v1.2-clean.jsonl.gz"),
        ("ROWS.CSV", "ROWS-clean.CSV"),
    ],
)
def test_the_next_command_names_what_apply_can_write(tmp_path, data, clean):
    (tmp_path / "set").mkdir()
    for part in "ab":
        rows = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "label": list("xyxy")})
        rows.to_parquet(tmp_path / "set" / f"part-{part}.parquet")
    rows.to_json(tmp_path / "v1.2.jsonl.gz", orient="records", lines=True)
    rows.to_csv(tmp_path / "ROWS.CSV", index=False)
    settings = RunSettings(command="audit", data=str(tmp_path / data))
    prepared = prepare(settings, tmp_path / "stages", RunProgress(quiet=True))
    assert apply_command(prepared, Path("run")) == f"graylearn apply run decisions.csv --out {clean}"


@pytest.mark.parametrize("listed", [False, True], ids=["folder", "table"])
def test_pictures_are_shown_whole(tmp_path, listed):
    rng = np.random.default_rng(0)
    rows = ["path,label"]
    for label, shade in (("dark", 40), ("light", 200)):
        (tmp_path / "photos" / label).mkdir(parents=True)
        for number in range(20):
            pixels = (shade + rng.integers(-20, 20, (30, 120, 3))).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / label / f"{number:02d}.png")
            rows.append(f"photos/{label}/{number:02d}.png,{label}")
    (tmp_path / "photos.csv").write_text("\n".join(rows))
    data = tmp_path / ("photos.csv" if listed else "photos")
    settings = RunSettings(command="audit", data=str(data), features="pixels", size=16, epochs=2)
    run(settings, tmp_path / "run", progress=RunProgress(quiet=True))
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    first = json.loads(re.search(r'class="previews">(.*?)</script>', page, re.S)[1])[0]
    assert first[0] == "image"
    with Image.open(io.BytesIO(base64.b64decode(first[1].split(",")[1]))) as image:
        assert image.size == (120, 30)


def test_a_column_that_tells_the_label_and_labels_that_look_measured_are_told(tmp_path, capsys):
    row = np.arange(330)
    measured = 100 + 2 * (row % 60)
    table = pd.DataFrame({"a": np.sin(row), "code": [f"K{number}" for number in measured], "label": measured})
    table.to_csv(tmp_path / "a.csv", index=False)
    settings = RunSettings(command="audit", data=str(tmp_path / "a.csv"), mode="history", epochs=1)
    run(settings, tmp_path / "run", progress=RunProgress())
    in_parts = RunProgress(quiet=True)
    with in_parts.of_warnings():
        prepare(replace(settings, part_size=100), tmp_path, in_parts)
    terminal, log = capsys.readouterr().err, (tmp_path / "run" / "run.log").read_text()
    for note in (
        "column 'code' alone tells the label of 100.0% of the rows; if it was made from the label",
        "the labels look like a measurement: 60 different numbers on 330 rows",
    ):
        assert f"note: {note}" in terminal
        assert f"note: {note}" in log
        assert sum(told.startswith(note) for told in payload_of(tmp_path / "run")["reading"]) == 1
        assert sum(told.startswith(note) for told in in_parts.notes) == 1


def test_the_report_knows_what_groups_are_called(tmp_path):
    rng = np.random.default_rng(0)
    visit = np.repeat(np.arange(40), 4)
    table = pd.DataFrame(5 * np.eye(4)[visit % 4] + rng.normal(size=(160, 4)), columns=list("abcd"))
    table["patient"] = [f"P{each:03d}" if each else None for each in visit]
    table["label"] = np.array(["ant", "bee", "cow", "dog"])[visit % 4]
    table.to_csv(tmp_path / "visits.csv", index=False)
    settings = RunSettings(data=str(tmp_path / "visits.csv"), command="audit", group="patient")
    run(settings, tmp_path / "run", progress=RunProgress(quiet=True))
    payload = payload_of(tmp_path / "run")
    groups, first = payload["groups"], payload["index"].index(4)
    assert groups["names"][groups["of"][first]] == "P001"
    assert groups["sizes"][groups["of"][first]] == 4
    alone = [groups["sizes"][groups["of"][payload["index"].index(row)]] for row in range(4)]
    assert alone == [1, 1, 1, 1], "whose group is missing stands alone"
