"""What is held of the classes where the user does not say."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from graylearn.audit import audit
from graylearn.audit.overlap import overlap_of
from graylearn.data import Samples
from graylearn.errors import SettingsError


def samples(x, kind):
    return Samples(x, np.arange(2), ("a", "b"), np.arange(2), kind)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (samples(np.zeros((2, 8, 8), dtype=np.uint8), "image"), "none"),
        (samples(np.array(["one", "two"], dtype=object), "text"), "none"),
        (samples(pd.DataFrame({"a": [1, 2]}), "table"), "possible"),
        (samples(np.zeros((2, 64)), "array"), "none"),
        (np.zeros((2, 8, 8)), "none"),
        (torch.zeros(2, 32), "none"),
        (sparse.csr_matrix((2, 500)), "none"),
        (np.zeros((2, 31)), "possible"),
        (np.zeros((2, 40)).astype(object), "possible"),
        (pd.DataFrame(np.zeros((2, 40))), "possible"),
        (None, "possible"),
    ],
)
def test_the_kind_of_data_decides_where_the_user_does_not(x, expected):
    assert overlap_of("auto", x) == expected
    for word in ("none", "possible"):
        assert overlap_of(word, x) == word


def test_another_word_is_refused():
    with pytest.raises(SettingsError, match="overlap is 'some', expected auto, none or possible"):
        audit(np.zeros((40, 3)), np.arange(40) % 2, overlap="some", epochs=1)
