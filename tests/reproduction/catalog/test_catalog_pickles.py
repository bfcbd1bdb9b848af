"""Pickles of published sets are read as data: arrays and plain values, and nothing that runs."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from published_images import pictures, python2_pickle

from graylearn.errors import DataError
from reproduction.catalog.safe_pickle import load_plain_pickle


class Evil:
    def __reduce__(self):
        return os.system, ("echo this must not run",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pickle.dumps({"data": Evil()}), r"asks for (posix|nt)\.system"),
        (pickle.dumps({"data": Path("x")}), r"asks for pathlib"),
        (python2_pickle({"data": pictures(2, 3072)})[:-40], "damaged"),
        (b"<html>404</html>", "damaged"),
    ],
)
def test_pickles_hold_arrays_and_nothing_that_runs(tmp_path, capfd, content, said):
    (tmp_path / "batch").write_bytes(content)
    with pytest.raises(DataError, match=said):
        load_plain_pickle(tmp_path / "batch")
    assert "must not run" not in capfd.readouterr().out


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("kind", [">i8", "<U3"])
def test_arrays_in_pickles_come_back_as_they_were(tmp_path, protocol, kind):
    whole = np.arange(12).reshape(3, 4).astype(kind)
    saved = {"data": whole, "turned": np.asfortranarray(whole), "names": ["a", "b"]}
    (tmp_path / "batch").write_bytes(pickle.dumps(saved, protocol))
    found = load_plain_pickle(tmp_path / "batch")
    for name in ("data", "turned"):
        np.testing.assert_array_equal(found[name], whole)
        assert found[name].dtype == whole.dtype
    assert found["names"] == ["a", "b"]


def test_a_pickle_that_lies_about_its_array_does_not_reach_numpy(tmp_path):
    """NumPy crashes on some of these: a type that is set up anew, memory that is not there."""
    whole = pickle.dumps({"data": np.arange(4)}, 2)
    for old, new in ((b"i8", b"O8"), (b"K\x04\x85", b"K\x7f\x85"), (b"i8", b"V9"), (b"i8", b"S0")):
        assert old in whole
        (tmp_path / "batch").write_bytes(whole.replace(old, new))
        with pytest.raises(DataError, match="is damaged or not a dataset"):
            load_plain_pickle(tmp_path / "batch")
