"""Feather files: their example, and damage that must not leave their memory."""

import struct

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

from graylearn.data.formats import FORMATS, Change
from graylearn.data.read import read, read_file
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataError


def example(folder):
    path = folder / "pets.feather"
    pd.DataFrame({"size": [1.5, 2.5, 3, 4, 5, 6], "label": ["cat", "dog"] * 3}).to_feather(path)
    return path


def test_damaged_offsets_are_not_followed(tmp_path):
    path, words = tmp_path / "pets.feather", pa.array(["cat", "dog"] * 3)
    pa.feather.write_feather(pa.table({"label": words, "size": range(6)}), path, compression="uncompressed")
    raw, offsets = path.read_bytes(), struct.pack("<7i", *range(0, 19, 3))
    assert offsets in raw
    path.write_bytes(raw.replace(offsets, struct.pack("<7i", *range(0, 16, 3), 2**30)))
    with pytest.raises(DataError, match=r"pets\.feather is damaged or not a Feather file"):
        read(path)


def test_a_stream_is_read_and_written_as_one(tmp_path):
    table = pa.table({"size": [1.5, 2.5, 3, 4, 5, 6], "label": ["cat", "dog"] * 3})
    path, out = tmp_path / "pets.arrow", tmp_path / "clean.arrow"
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table, 2)
    samples, origin = read_file(path, ReadOptions())
    assert samples.x["size"].tolist() == table["size"].to_pylist()
    assert (samples.ids.tolist(), origin.form) == ([0, 1, 2, 3, 4, 5], "feather")
    change = Change([""] * 6, [""] * 6, [True, False, True, True, True, True], [0, 1, 2, 2, 4, 5])
    FORMATS["feather"].rewrite(path, out, origin, change)
    with pa.ipc.open_stream(out) as stream:
        assert stream.read_all().to_pydict() == {
            "size": [1.5, 3, 4, 5, 6],
            "label": ["cat", "cat", "cat", "cat", "dog"],
        }


def test_a_stream_that_breaks_off_is_damaged(tmp_path):
    table = pa.table({"size": range(6), "label": ["cat", "dog"] * 3})
    path = tmp_path / "pets.arrow"
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)
    whole = path.read_bytes()
    for cut in (3, 9, 200, len(whole) - 40):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"pets\.arrow is damaged or not a Feather file"):
            read(path)


def test_lists_of_categories_as_polars_writes_them_are_told_as_lists(tmp_path):
    path, kind = tmp_path / "pets.arrow", pl.List(pl.Categorical)
    lists = pl.Series("tags", [["a", "b"], ["c"]] * 3).cast(kind)
    pl.DataFrame({"size": range(6), "tags": lists, "label": ["cat", "dog"] * 3}).write_ipc(path)
    with pytest.raises(DataError, match=r"'tags' \(lists\)"):
        read(path)
    assert read(path, without=("tags",)).x["size"].tolist() == list(range(6))
