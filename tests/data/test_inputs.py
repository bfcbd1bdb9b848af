"""Whatever holds numbers becomes a plain array, the same way for reading, the audit and the classifier."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from PIL import Image
from scipy import sparse
from sklearn.base import BaseEstimator

import graylearn as gl
from graylearn.audit.inputs import as_features
from graylearn.data.contaminate import contaminate
from graylearn.data.inputs import as_dense, as_ids, as_labels, as_plain, as_samples
from graylearn.data.read import read
from graylearn.errors import DataError
from graylearn.estimator import GrayClassifier
from graylearn.estimator.inputs import read_inputs, read_labels

NUMBERS = np.arange(12, dtype=np.float32).reshape(6, 2)
FRAME = pd.DataFrame(NUMBERS, columns=["a", "b"])
TABLES = {
    "array": NUMBERS,
    "tensor": torch.from_numpy(NUMBERS),
    "half tensor": torch.from_numpy(NUMBERS).half(),
    "bfloat16 tensor": torch.from_numpy(NUMBERS).bfloat16(),
    "tensor of 8-bit floats": torch.from_numpy(NUMBERS).to(torch.float8_e4m3fn),
    "negated tensor": torch._neg_view(torch.from_numpy(-NUMBERS)),
    "tensor that learns": torch.from_numpy(NUMBERS).clone().requires_grad_(),
    "list": NUMBERS.tolist(),
    "sparse": sparse.csr_matrix(NUMBERS),
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "lazy polars": pl.from_pandas(FRAME).lazy(),
    "arrow": pa.Table.from_pandas(FRAME),
    "arrow batch": pa.RecordBatch.from_pandas(FRAME),
    "records": FRAME.to_records(index=False),
}
LABELS = {
    "list": list("xyxyxy"),
    "array": np.array(list("xyxyxy")),
    "pandas": pd.Series(list("xyxyxy")),
    "categories": pd.Series(pd.Categorical(list("xyxyxy"))),
    "polars": pl.Series(list("xyxyxy")),
    "arrow": pa.array(list("xyxyxy")),
    "arrow chunks": pa.chunked_array([list("xyx"), list("yxy")]),
    "arrow dictionary": pa.array(list("xyxyxy")).dictionary_encode(),
}


class Bare(BaseEstimator):
    """An estimator, as far as scikit-learn's checks of its input go."""


@pytest.mark.parametrize("given", TABLES)
def test_everyone_takes_the_same_features(given):
    x, y = TABLES[given], list("xyxyxy")
    np.testing.assert_array_equal(as_features(x, 6), as_features(NUMBERS, 6))
    rows = read_inputs(Bare(), x, reset=True)
    np.testing.assert_array_equal(np.asarray(as_dense(rows), dtype=np.float32), NUMBERS)
    if given != "sparse":
        np.testing.assert_array_equal(np.asarray(read((x, y)).x, dtype=np.float32), NUMBERS)


@pytest.mark.parametrize("given", LABELS)
def test_everyone_takes_the_same_labels(given):
    y = LABELS[given]
    assert read((NUMBERS, y)).y.tolist() == [0, 1] * 3
    assert read((FRAME, y)).classes == ("x", "y")
    codes, classes = as_labels(y, None)
    assert (codes.tolist(), classes) == ([0, 1] * 3, ("x", "y"))
    found, codes = read_labels(y, None)
    assert (found.tolist(), codes.tolist()) == (["x", "y"], [0, 1] * 3)


def test_bytes_that_stand_reversed_are_turned_round():
    """As in FITS files; pandas cannot sort, compare or count such numbers."""
    numbers = np.arange(60.0).reshape(30, 2)
    records = np.rec.fromarrays(numbers.T, dtype=[("a", ">f8"), ("b", ">i4")])
    frame = pd.DataFrame({name: records[name] for name in "ab"})
    y = np.arange(30) % 3
    for x in (numbers.astype(">f8"), records, frame):
        np.testing.assert_array_equal(as_features(x, 30), as_features(numbers, 30))
        found = read((x, y.astype(">i8")))
        np.testing.assert_array_equal(np.asarray(found.x), numbers)
        assert (found.y.tolist(), found.classes) == (y.tolist(), (0, 1, 2))
    assert read_labels(y.astype(">i8"), None)[0].tolist() == [0, 1, 2]
    assert as_ids(y.astype(">i8")[:3], None, 3).tolist() == [0, 1, 2]
    assert as_samples(numbers[:3], y[:3], ids=y[:3].astype(">i8")).ids.tolist() == [0, 1, 2]
    mixed = contaminate(numbers.astype(">f8"), y.astype(">i8"), numbers, alpha=0.5)
    np.testing.assert_array_equal(mixed.x[~mixed.is_ood], numbers)


def test_a_sparse_matrix_that_would_fill_the_memory_is_refused():
    huge = sparse.csr_matrix((1 << 20, 1 << 20))
    with pytest.raises(DataError, match="too large to be made dense"):
        as_dense(huge)


def test_what_is_masked_is_missing():
    """What lies behind a mask is often a filling such as 1e20."""
    hidden = np.zeros((6, 2), dtype=bool)
    hidden[0, 1] = True
    expected = np.where(hidden, np.nan, NUMBERS)
    for kind in (np.float32, np.int16):
        values = np.where(hidden, 9999, NUMBERS).astype(kind)
        masked = np.ma.array(values, mask=hidden)
        np.testing.assert_array_equal(as_plain(masked), expected)
        np.testing.assert_array_equal(as_features(masked, 6), as_features(expected, 6))
        np.testing.assert_array_equal(read_inputs(BaseEstimator(), masked, reset=True), expected)
        assert type(as_plain(np.ma.array(values))) is np.ndarray
    for labels in ([0, 1, 0, 1, 0, 1], list("ababab")):
        given = np.ma.array(labels, mask=hidden.any(axis=1))
        with pytest.raises(DataError, match="1 of 6 labels is missing"):
            as_labels(given, None)
        with pytest.raises(DataError, match=r"Input y contains NaN|1 of 6 labels is missing"):
            read_labels(given, NUMBERS)


def label_that_is_none(folder):
    GrayClassifier(epochs=1, device="cpu", audit=None).fit(np.eye(40), ["yes", "None"] * 20)


def columns_that_name_rows(folder):
    frame = pd.DataFrame({"a": np.arange(40.0) % 7, "name": [f"row {row}" for row in range(40)]})
    GrayClassifier(epochs=1, device="cpu", audit=None).fit(frame, np.arange(40) % 2)


def a_folder_without_images(folder):
    for name in ("a", "b", "c"):
        (folder / name).mkdir()
        if name != "c":
            Image.new("RGB", (8, 8)).save(folder / name / "1.png")
    gl.read(folder)


@pytest.mark.parametrize("act", [label_that_is_none, columns_that_name_rows, a_folder_without_images])
def test_warnings_point_at_the_line_of_the_user(tmp_path, act):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        act(tmp_path)
    assert {each.filename for each in told} == {__file__}
