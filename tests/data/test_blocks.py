"""Blocks: the same samples as a reading of the whole, a part at a time and from any block on."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import graylearn as gl
from graylearn.data import blocks as blocks_module
from graylearn.data.blocks import count_rows, open_blocks
from graylearn.data.options import ReadOptions
from graylearn.errors import DataError


@pytest.fixture(autouse=True)
def few_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAYLEARN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(blocks_module, "ROWS", 4)
    monkeypatch.setattr(blocks_module, "IMAGES", 4)
    monkeypatch.setattr(blocks_module, "BYTES", 1)


def check(blocks, whole, start):
    """All blocks give what a reading of the whole gives, and so do those from `start` on."""
    assert blocks.label_counts() == dict(zip(whole.classes, whole.class_counts.tolist(), strict=True))
    found = list(blocks.read(whole.classes))
    joint = blocks_module.joined([block.samples for block in found])
    assert joint.ids.tolist() == whole.ids.tolist()
    assert joint.y.tolist() == whole.y.tolist()
    if isinstance(whole.x, pd.DataFrame):
        pd.testing.assert_frame_equal(joint.x, whole.x, check_column_type=False)
    else:
        np.testing.assert_array_equal(joint.x, whole.x)
    assert found[1].end == start
    later = list(blocks.read(whole.classes, start))
    assert [block.rows.tolist() for block in later] == [block.rows.tolist() for block in found[2:]]
    some = blocks.at(np.array([1, start]), whole.classes)
    assert some.ids.tolist() == whole.ids[[1, start]].tolist()


def test_a_folder_of_images(tmp_path):
    for number in range(11):
        folder = tmp_path / "photos" / "ab"[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (9, 7), (20 * number, 0, 0)).save(folder / f"{number:02d}.png")
    options = ReadOptions(size=8)
    check(open_blocks(tmp_path / "photos", options), gl.read(tmp_path / "photos", size=8), 8)


def test_parquet_with_an_index_that_pandas_kept(tmp_path):
    frame = pd.DataFrame({"a": np.arange(250.0), "label": list("xyxyx") * 50}, index=np.arange(250) * 3)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    plain = gl.read(frame.reset_index(drop=True))
    assert count_rows(tmp_path / "rows.parquet") == 250
    check(open_blocks(tmp_path / "rows.parquet", ReadOptions()), plain, 200)


def test_datasets_and_streams_of_hugging_face():
    import datasets

    whole = datasets.Dataset.from_dict({"a": list(range(11)), "label": ["x", "y"] * 5 + ["x"]})
    for source in (whole, whole.to_iterable_dataset()):
        check(open_blocks(source, ReadOptions()), gl.read(whole), 8)


def test_a_file_without_rows(tmp_path):
    pd.DataFrame({"a": [], "label": []}).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match="has no rows"):
        open_blocks(tmp_path / "none.parquet", ReadOptions())
