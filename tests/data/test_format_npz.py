"""NumPy's files: their example, and labels that are none."""

import numpy as np
import pytest

from graylearn.data.read import read
from graylearn.errors import DataError


def example(folder):
    path = folder / "pets.npz"
    np.savez(path, x=np.arange(12.0).reshape(6, 2), y=np.array(["cat", "dog"] * 3), ids=np.arange(10, 16))
    return path


def test_a_number_is_no_name_of_an_array(tmp_path):
    with pytest.raises(
        DataError, match=r"label is -1; expected the labels of .*pets\.npz, or in a file the name"
    ):
        read(example(tmp_path), label=-1)
