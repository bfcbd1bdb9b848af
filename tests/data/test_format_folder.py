"""Folders of images: their example, and a single image."""

import os

import numpy as np
import pytest
from PIL import Image

from graylearn.data.read import read
from graylearn.errors import DataError, DataWarning


def example(folder):
    random = np.random.default_rng(0)
    for index in range(6):
        path = folder / "pets" / ("cat", "dog")[index % 2] / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 255, (8, 8, 3)).astype(np.uint8)).save(path)
    return folder / "pets"


def test_a_single_image_has_no_label(tmp_path):
    path = example(tmp_path) / "cat" / "0.png"
    samples = read(path, labelled=False, cache=tmp_path / "cache")
    assert samples.ids.tolist() == ["0.png"]
    assert samples.kind == "image"
    with pytest.raises(DataError, match="is one image; expected a folder"):
        read(path, cache=tmp_path / "cache")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes have names here")
def test_nobody_is_waited_for(tmp_path):
    path = example(tmp_path)
    os.mkfifo(path / "dog" / "7.png")
    with pytest.warns(DataWarning, match=r"1 of 7 images cannot be read .*7\.png \(it is no file\)"):
        assert len(read(path, cache=tmp_path / "cache")) == 6
    for ending in ("csv", "npz", "xlsx", "parquet", "sqlite"):
        os.mkfifo(tmp_path / f"a.{ending}")
        with pytest.raises(DataError, match="is no file and no folder"):
            read(tmp_path / f"a.{ending}")
    (tmp_path / "a.duckdb").write_bytes(b"DUCK")
    os.mkfifo(tmp_path / "a.duckdb.wal")
    with pytest.raises(DataError, match=r"a\.duckdb\.wal is no file, but stands where a part of"):
        read(tmp_path / "a.duckdb")


@pytest.mark.parametrize("label", [None, "animal"])
def test_a_folder_of_tables_is_told_what_to_give(tmp_path, label):
    (tmp_path / "2024").mkdir()
    (tmp_path / "2024" / "b.csv.gz").touch()
    with pytest.raises(DataError, match=r"no images but tables: give the file, such as .*/2024/b\.csv\.gz$"):
        read(tmp_path, label=label)
    (tmp_path / "2024" / "a.parquet").touch()
    with pytest.raises(
        DataError, match=r"such as .*/2024/a\.parquet, or all of them as '.*/\*\*/\*\.parquet'"
    ):
        read(tmp_path, label=label)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no folders"):
        read(tmp_path / "empty", label=label)
