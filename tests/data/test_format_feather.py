"""Feather files: their example, and damage that must not leave their memory."""

import struct

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest

from graylearn.data.read import read
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
