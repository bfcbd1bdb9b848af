"""Groups as data tell them: a column, which is not learned from, of whatever holds rows."""

import json

import datasets
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import graylearn as gl
from graylearn.data.formats import Origin
from graylearn.data.read import read_file, read_with_others
from graylearn.data.tables import Columns, ReadOptions
from graylearn.errors import DataError, DataWarning

FRAMES = pd.DataFrame(
    {
        "size": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
        "label": ["cat", "dog"] * 3,
        "video": ["a", "a", "b", None, None, "b"],
    }
)


def together(groups):
    """Which samples belong together, whatever their numbers."""
    return [np.flatnonzero(groups == number).tolist() for number in dict.fromkeys(groups.tolist())]


SIX = [[0, 1], [2, 5], [3], [4]]


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("group", ["video", 2, "-1"])
def test_a_column_says_which_rows_belong_together(tmp_path, ending, group):
    samples = gl.read(write(FRAMES, tmp_path / f"frames{ending}"), group=group)
    assert together(samples.groups) == SIX
    assert list(samples.x.columns) == ["size"], "it is not learned from"
    assert gl.read(FRAMES).groups is None


def test_tables_datasets_texts_and_vectors():
    assert together(gl.read(FRAMES, group="video").groups) == SIX
    assert together(gl.read((FRAMES.drop(columns="label"), FRAMES["label"]), group="video").groups) == SIX
    assert together(gl.read(datasets.Dataset.from_pandas(FRAMES), group="video").groups) == SIX
    texts = FRAMES.assign(text=[f"frame {row}" for row in range(6)]).drop(columns="size")
    read = gl.read(texts, group="video")
    assert (read.kind, together(read.groups)) == ("text", SIX), "text and label are plain beside the group"
    vectors = FRAMES.assign(size=[[row, row + 1] for row in range(6)])
    read = gl.read(vectors, group="video")
    assert (read.kind, together(read.groups)) == ("array", SIX)
    unlabelled = gl.read(FRAMES, group="video", label="label", labelled=False)
    assert (together(unlabelled.groups), list(unlabelled.x.columns)) == (SIX, ["size"])


def test_names_of_groups_are_as_written(csv):
    path = csv("x,label,patient\n1,a,007\n2,b,7\n3,a,007\n4,b,NA\n5,a,?\n6,b,\n7,a,1.10\n8,b,1.1\n")
    groups = gl.read(path, group="patient").groups
    assert together(groups) == [[0, 2], [1], [3], [4], [5], [6], [7]], "007 is not 7, nor 1.10 1.1"
    path = csv("x,label,patient\n1,a,p1\n2,b,NA\n3,a,NA\n4,b,p1\n")
    assert together(gl.read(path, group="patient").groups) == [[0, 3], [1], [2]], "NA is no patient"


def test_rows_that_are_left_out(csv):
    path = csv("x,label,video\n1,a,v\n2,,v\n3,b,w\n4,a,w\n5,b,v\n")
    with pytest.warns(DataWarning, match="1 of 5 labels is missing"):
        samples = gl.read(path, group="video")
    assert samples.ids.tolist() == [2, 4, 5, 6]
    assert together(samples.groups) == [[0, 3], [1, 2]]


@pytest.fixture
def listed(tmp_path, image_cache):
    """Six images that a table lists; one cannot be read and one has no path."""
    for row in range(6):
        Image.new("RGB", (9, 9), (40 * row,) * 3).save(tmp_path / f"{row}.png")
    (tmp_path / "1.png").write_bytes(b"torn")
    table = FRAMES.drop(columns="size").assign(path=[f"{row}.png" for row in range(6)])
    table.loc[3, "path"] = None
    return write(table, tmp_path / "frames.csv")


def test_images_that_a_table_lists(listed):
    with pytest.warns(DataWarning, match="left out"):
        samples = gl.read(listed, group="video", size=8)
    assert samples.ids.tolist() == ["0.png", "2.png", "4.png", "5.png"]
    assert together(samples.groups) == [[0], [1, 3], [2]]
    assert samples.kind == "image"


def test_images_of_a_dataset(tmp_path, image_cache):
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.Value("string"), "video": datasets.Value("string")}
    )
    for row in range(6):
        Image.new("RGB", (9, 9), (40 * row,) * 3).save(tmp_path / f"{row}.png")
    stored = [{"bytes": (tmp_path / f"{row}.png").read_bytes(), "path": None} for row in range(6)]
    stored[1]["bytes"] = b"torn"
    columns = {"image": stored, "label": ["cat", "dog"] * 3, "video": ["a", "a", "b", None, None, "b"]}
    dataset = datasets.Dataset.from_dict(columns, features=features)
    with pytest.warns(DataWarning, match="1 of 6 images"):
        samples = gl.read(dataset, group="video", size=8)
    assert together(samples.groups) == [[0], [1, 4], [2], [3]]
    dataset.save_to_disk(str(tmp_path / "frames"))
    with pytest.warns(DataWarning, match="1 of 6 images"):
        again, origin = read_file(tmp_path / "frames", ReadOptions(group="video", size=8))
    assert again.groups.tolist() == samples.groups.tolist()
    assert origin.columns == Columns("label", group="video")


def test_an_array_of_an_npz_file(tmp_path):
    path = tmp_path / "frames.npz"
    np.savez(path, x=np.eye(6), y=[0, 1] * 3, recording=["a", "a", "b", "", "", "b"])
    samples, origin = read_file(path, ReadOptions(group="recording"))
    assert together(samples.groups) == SIX
    assert origin.columns == Columns(group="recording")
    with pytest.raises(DataError, match="no array 'video' to take the groups from; it holds x, y, recording"):
        gl.read(path, group="video")
    np.savez(path, x=np.eye(6), y=[0, 1] * 3, recording=[1, 2])
    with pytest.raises(DataError, match=r"shape \(2,\) for 6 samples"):
        gl.read(path, group="recording")


def test_what_has_no_column_says_what_to_do(tmp_path):
    with pytest.raises(DataError, match=r"list the images in a table with their path, their label and 'v'"):
        gl.read(tmp_path, group="v")
    for source in (np.eye(4), (np.eye(4), [0, 1, 0, 1]), [[1, 2], [3, 4]]):
        with pytest.raises(DataError, match=r"give groups= to gl\.audit or GrayClassifier\.fit"):
            gl.read(source, group="v")


def test_more_data_need_not_have_the_column(tmp_path):
    path = write(FRAMES, tmp_path / "frames.csv")
    _, origin, others = read_with_others(path, ReadOptions(group="video"))
    assert origin.columns == Columns("label", group="video")
    assert list(others.columns) == ["video"], "a person may judge by it"
    assert Origin.from_json(json.loads(json.dumps(origin.to_json()))) == origin
    again = ReadOptions(columns=origin.columns)
    assert together(read_file(path, again)[0].groups) == SIX
    fewer = write(FRAMES.drop(columns="video"), tmp_path / "fewer.csv")
    assert read_file(fewer, again)[0].groups is None
