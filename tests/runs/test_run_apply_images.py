"""Decisions about images carried out: folders of classes, lists of images, images that cannot be read."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from run_helpers import decide

from graylearn.cli.show import show_applied
from graylearn.errors import DataError, DataWarning
from graylearn.runs.apply import apply_decisions, write_tasks


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


def test_hard_links_are_to_the_files_that_symbolic_ones_name(tmp_path, finished, photos):
    (photos / "cat" / "1.png").rename(tmp_path / "1.png")
    (photos / "cat" / "1.png").symlink_to("../../1.png")
    run = finished(photos, features="pixels", size=8)
    apply_decisions(run, None, tmp_path / "elsewhere" / "clean", link=True)
    made = tmp_path / "elsewhere" / "clean" / "cat" / "1.png"
    assert not made.is_symlink()
    assert made.samefile(tmp_path / "1.png")


def test_names_that_are_one_to_windows_or_macos_are_not_put_into_one_folder(tmp_path, finished, photos):
    (photos / "cat" / "1.png").rename(photos / "cat" / "A\u0301.PNG")
    (photos / "dog" / "1.png").rename(photos / "dog" / "\u00e1.png")
    run = finished(photos, features="pixels", size=8)
    apply_decisions(run, decide(tmp_path, "cat/A\u0301.PNG,relabel,dog"), tmp_path / "clean")
    assert set(tree(tmp_path / "clean")) == {
        "cat/deep/2.png",
        "dog/A\u0301 (from cat).PNG",
        "dog/\u00e1.png",
        "dog/3.png",
    }


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
    frame = pd.DataFrame({"path": [*paths, None], "label": [*(path.split("/")[1] for path in paths), "dog"]})
    if named:
        frame["id"] = [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
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
    data, clean = tmp_path / f"m.{ending}", tmp_path / "away" / f"c.{ending}"
    clean.parent.mkdir()
    write[ending](data)
    first, third = ("3", "1") if named else (paths[2], paths[4])
    unread = r"1 of 5 images cannot be read and is left out: .*0\.png"
    with pytest.warns(DataWarning, match="1 path in column 'path'"), pytest.warns(DataWarning, match=unread):
        run = finished(data, {first: None, third: "cat"}, features="pixels", size=8)
    assert write_tasks(run, tmp_path / "tasks.json")["tasks"] == 2
    shown = [task["data"]["image"] for task in json.loads((tmp_path / "tasks.json").read_text())]
    assert shown == [str(tmp_path / paths[2]), str(tmp_path / paths[4])]
    summary = apply_decisions(run, decide(tmp_path, f"{first},drop,", f"{third},relabel,cat"), clean)
    found = read[ending](clean)
    kept = [paths[0], paths[1], paths[3], paths[4]]
    assert found["path"].fillna("").tolist() == [*(f"../{path}" for path in kept), ""]
    assert found["label"].tolist() == ["cat", "dog", "dog", "cat", "dog"]
    assert (summary["kept"], summary["dropped"], summary["relabelled"]) == (3, 1, 1)


def test_images_of_a_folder_that_were_not_audited_are_told(tmp_path, finished, photos, capsys):
    (photos / "dog" / "0.png").write_bytes(b"broken")
    Image.new("RGB", (8, 8)).save(photos / "beside.png")
    with pytest.warns(DataWarning):
        run = finished(photos, {"dog/3.png": None}, features="pixels", size=8)
    assert write_tasks(run, tmp_path / "tasks.json")["tasks"] == 1  # and warns of nothing again
    (photos / "new").mkdir()
    summary = apply_decisions(run, None, tmp_path / "clean", suspects="drop")
    assert summary["images_left_out"] == ["dog/0.png"]
    show_applied(summary)
    told = "1 image that could not be read, or came since: not audited, not in it (dog/0.png)"
    assert told in capsys.readouterr().out
    assert set(tree(tmp_path / "clean")) == {"cat/1.png", "cat/deep/2.png", "dog/1.png"}


def test_a_changed_image_is_named(tmp_path, finished, photos):
    run = finished(photos, features="pixels", size=8)
    Image.new("RGB", (8, 8)).save(photos / "dog" / "3.png")
    for act in (
        lambda: apply_decisions(run, None, tmp_path / "clean", suspects="drop"),
        lambda: write_tasks(run, tmp_path / "tasks.json"),
    ):
        with pytest.raises(DataError, match=r"dog/3\.png has changed since it was audited"):
            act()
    (photos / "dog" / "3.png").unlink()
    with pytest.raises(DataError, match=r"dog/3\.png is gone"):
        apply_decisions(run, None, tmp_path / "clean", suspects="drop")
    assert not (tmp_path / "clean").exists()
    photos.rename(tmp_path / "moved")
    with pytest.raises(DataError, match=f"^{re.escape(str(photos))} is gone"):
        write_tasks(run, tmp_path / "tasks.json")


def test_decisions_come_back_from_fiftyone(tmp_path, finished, photos):
    run = finished(photos, suspects={"cat/1.png": "dog", "dog/3.png": None}, sure={"cat/1.png"})
    assert write_tasks(run, tmp_path / "suspects", "fiftyone")["tasks"] == 2
    path = tmp_path / "suspects" / "samples.json"
    written = json.loads(path.read_text())
    first, second = written["samples"]
    assert first["filepath"] == str(photos / "cat/1.png")
    assert first["tags"] == ["suspect", "mislabelled", "sure"]
    first["tags"].append("accept")
    second["tags"].append("drop")
    path.write_text(json.dumps(written))
    done = apply_decisions(run, path, tmp_path / "clean")
    assert (done["kept"], done["dropped"], done["relabelled"]) == (3, 1, 1)
    assert len(tree(tmp_path / "clean")) == 3
