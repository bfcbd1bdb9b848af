"""Groups of data that are read in blocks: one number a group, in whatever block it is met."""

import json

import datasets
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from graylearn.data import blocks as blocks_module
from graylearn.data.blocks import joined, open_blocks
from graylearn.data.formats import _arrow, _base, hugging_face, parquet
from graylearn.data.options import ReadOptions
from graylearn.data.read import read_file
from graylearn.errors import DataWarning


@pytest.fixture(autouse=True)
def few_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAYLEARN_CACHE", str(tmp_path / "cache"))
    for module in (blocks_module, hugging_face):
        monkeypatch.setattr(module, "IMAGES", 4)
    for module in (parquet, hugging_face, _arrow):
        monkeypatch.setattr(module, "ROWS", 4)
    monkeypatch.setattr(parquet, "BYTES", 1)
    monkeypatch.setattr(_base, "CHUNK", 64)


def check(path, group="video", **options):
    """The groups that a reading of the whole finds, by the same numbers in each of several blocks."""
    options = ReadOptions(group=group, **options)
    whole = read_file(path, options)[0]
    blocks = open_blocks(path, options)
    found = list(blocks.read(whole.classes))
    assert len(found) > 2
    joint = joined([block.samples for block in found])
    assert joint.ids.tolist() == whole.ids.tolist()
    assert pd.factorize(joint.groups)[0].tolist() == pd.factorize(whole.groups)[0].tolist()
    later = joined([block.samples for block in blocks.read(whole.classes, found[0].end)])
    assert later.groups.tolist() == joint.groups[len(found[0].rows) :].tolist()
    assert group not in getattr(joint.x, "columns", ())
    return joint


def frame_of(names):
    n = len(names)
    return pd.DataFrame({"size": np.arange(n) / 7, "label": ["cat", "dog"] * (n // 2), "video": names})


NAMES = [
    ["a", "b", "c", None] * 6,
    [*range(20), None, None, 0, 1],  # whole numbers, and beside missing ones not
    [*map(str, range(20)), "x", "y", "0", "1"],
]


@pytest.mark.parametrize("names", NAMES)
def test_text_files(tmp_path, names):
    frame = frame_of(pd.Series(names, dtype=object))
    frame.to_csv(tmp_path / "a.csv", index=False)
    check(tmp_path / "a.csv")
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    check(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("abcde", "str"),
        (range(60), "Int64"),
    ],
)
def test_parquet_and_datasets(tmp_path, names, kind):
    video = pd.Series([*names] * (600 // len(names)), dtype=kind)
    frame = frame_of(video.mask(video.index % 7 + 100 * (video.index < 300) == 3))  # later blocks miss some
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=100)
    check(tmp_path / "a.parquet")
    datasets.Dataset.from_pandas(frame).save_to_disk(str(tmp_path / "kept"))
    check(tmp_path / "kept")


def test_rows_and_images_that_are_left_out(tmp_path):
    names = [f"{row}.png" for row in range(12)]
    for row, name in enumerate(names):
        Image.new("RGB", (9, 9), (20 * row,) * 3).save(tmp_path / name)
    (tmp_path / "5.png").write_bytes(b"torn")
    frame = frame_of(list("abcabcabcabc")).drop(columns="size").assign(path=names)
    frame.loc[2, "label"] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    left = {"missing_labels": "skip", "unreadable": "skip", "size": 8}
    with pytest.warns(DataWarning, match="left out"):
        joint = check(tmp_path / "a.csv", **left)
    assert pd.factorize(joint.groups)[0].tolist() == [0, 1, 0, 1, 0, 1, 2, 0, 1, 2]


def test_new_data_need_not_have_the_column(tmp_path):
    frame = frame_of(["a", "b"] * 10)
    frame.to_csv(tmp_path / "a.csv", index=False)
    columns = open_blocks(tmp_path / "a.csv", ReadOptions(group="video")).origin.columns
    frame.drop(columns=["video", "label"]).to_csv(tmp_path / "new.csv", index=False)
    again = ReadOptions(columns=columns, labelled=False)
    for block in open_blocks(tmp_path / "new.csv", again).read(()):
        assert block.samples.groups is None
        assert list(block.samples.x.columns) == ["size"]
