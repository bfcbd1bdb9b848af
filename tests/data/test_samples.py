"""Samples refuses what cannot be one training set; labels keep their types and a stable order."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graylearn.data.samples import Samples, encode_labels, plain_classes
from graylearn.errors import DataError


def make(n=4, **changes):
    fields = {
        "x": np.arange(2.0 * n).reshape(n, 2),
        "y": np.arange(n) % 2,
        "classes": ("a", "b"),
        "ids": np.arange(n),
        "kind": "array",
    }
    return Samples(**(fields | changes))


def text(*items):
    return np.array(items, dtype=object)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"y": np.zeros(3, int)}, "x has 4 samples, y 3 and ids 4"),
        ({"y": np.array([0, 1, 2, 0])}, r"label 2 at row 2 but there are 2 classes \(0..1\)"),
        ({"y": np.array([0, -1, 1, 0])}, "label -1 at row 1"),
        ({"ids": np.array(["a", "b", "a", "c"])}, r"id 'a' occurs more than once \(again at row 2\); ids"),
        ({"classes": ("a", "a")}, "class 'a' is listed twice"),
        ({"kind": "sound"}, "kind is 'sound'; it must be one of array, table, image, text"),
        ({"x": torch.zeros(4, 2)}, "is Tensor"),
        ({"x": np.zeros(4), "kind": "table"}, "two axes"),
        ({"x": np.zeros((4, 8), np.uint8), "kind": "image"}, "height, width"),
        ({"x": text("a", "b", None, "d"), "kind": "text"}, "text 2 is NoneType"),
    ],
)
def test_what_does_not_fit_is_named(changes, said):
    with pytest.raises(DataError, match=said):
        make(**changes)


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (np.arange(20.0).reshape(5, 4), "array"),
        (pd.DataFrame({"u": range(5), "v": list("abcde")}, index=list("vwxyz")), "table"),
        (np.arange(5 * 4 * 4 * 3, dtype=np.uint8).reshape(5, 4, 4, 3), "image"),
        (text("one", "two", "three", "four", "five"), "text"),
    ],
)
def test_take_moves_x_y_and_ids_together(x, kind):
    samples = make(5, x=x, kind=kind, ids=np.array(list("pqrst")))
    chosen = samples.take([3, 0])
    rows = x.iloc[[3, 0]] if kind == "table" else x[[3, 0]]
    assert np.array_equal(np.asarray(chosen.x), np.asarray(rows))
    assert type(chosen.x) is type(x)
    assert chosen.y.tolist() == [1, 0]
    assert chosen.ids.tolist() == ["s", "p"]
    assert chosen.classes == samples.classes
    mask = np.array([False, True, False, False, True])
    assert samples.take(mask).ids.tolist() == samples.take(slice(1, None, 3)).ids.tolist() == ["q", "t"]
    assert len(samples.take([])) == 0
    assert samples.take(np.array([-1])).ids.tolist() == ["t"]


@pytest.mark.parametrize(
    ("raw", "classes"),
    [
        ([10, 9, 2, 9], (2, 9, 10)),
        (["b", "a", "10", "9"], ("10", "9", "a", "b")),
        ([True, False, True], (False, True)),
        ([0.5, -1.0, 2], (-1.0, 0.5, 2)),
        (pd.Series([2, 1, 2], dtype="Int64"), (1, 2)),
        (pd.Categorical(["x", "a", "x"], categories=["x", "a"]), ("a", "x")),
        (torch.tensor([5, 3, 3]), (3, 5)),
        ([], ()),
    ],
)
def test_labels_are_encoded_in_natural_order_and_keep_their_type(raw, classes):
    y, found = encode_labels(raw)
    assert found == classes
    assert [type(label) for label in found] == [type(label) for label in classes]
    assert y.dtype == np.int64
    assert [found[place] for place in y] == (raw.tolist() if hasattr(raw, "tolist") else list(raw))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (["a", None, "b", float("nan"), " "], r"3 of 5 labels are missing \(rows 1, 3, 4, counted from 0\)"),
        (np.array([1.0, np.nan]), r"1 of 2 labels is missing \(row 1,"),
        ([1, "1"], r"mix numbers \(1\) and text \('1'\)"),
        ([1, True], r"mix numbers \(1\) and bools \(True\)"),
        ([1.0, float("inf")], "inf is not a finite number; correct it or leave"),
        (np.array(["2020-01-01"], dtype="datetime64[ns]"), r"type datetime64\[ns\]"),
    ],
)
def test_labels_that_cannot_be_classes_are_refused(raw, said):
    with pytest.raises(DataError, match=said):
        encode_labels(raw)


labels = st.one_of(
    st.lists(st.integers(-(2**60), 2**60), min_size=1),
    st.lists(st.text(min_size=1).filter(str.strip), min_size=1),
    st.lists(st.booleans(), min_size=1),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
)


@given(labels)
def test_classes_survive_json_and_the_encoding_is_invertible(raw):
    y, classes = encode_labels(raw)
    assert list(classes) == sorted(set(raw))
    assert [classes[place] for place in y] == raw
    back = plain_classes(json.loads(json.dumps(plain_classes(classes))))
    assert back == classes
    assert [type(label) for label in back] == [type(label) for label in classes]
