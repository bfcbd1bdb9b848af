"""What may be fitted on: arrays, sparse matrices, frames of three libraries, images, Samples."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from graylearn.data import Samples
from graylearn.data.samples import encode_labels
from graylearn.errors import DataError
from graylearn.estimator import GrayClassifier


def quick(**parameters):
    return GrayClassifier(**{"epochs": 4, "audit": None, "random_state": 0, "device": "cpu"} | parameters)


@pytest.fixture(scope="module")
def shop():
    """A table of mixed columns whose class hangs on the number, the word and the date."""
    random = np.random.default_rng(0)
    n = 240
    frame = pd.DataFrame(
        {
            "price": random.normal(size=n),
            "colour": random.choice(["red", "green", "blue"], n),
            "sold": random.random(n) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, n), unit="D"),
            "stock": pd.array(random.integers(0, 50, n), dtype="Int64"),
        }
    )
    frame.loc[::9, "stock"] = pd.NA
    frame.loc[::7, "colour"] = None
    y = np.where(frame["colour"] == "red", "r", np.where(frame["price"] > 0, "high", "low"))
    return frame, y


def test_frames_of_all_libraries_give_the_same_answers(shop):
    frame, y = shop
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    classifier = quick(epochs=30).fit(frame, y)
    assert classifier.score(frame, y) > 0.9
    assert list(classifier.feature_names_in_) == list(frame.columns)
    assert classifier.n_features_in_ == 5
    expected = classifier.predict_proba(frame)
    for other in (arrow, pl.from_arrow(arrow)):
        refitted = quick(epochs=30).fit(other, y)
        assert list(refitted.feature_names_in_) == list(frame.columns)
        np.testing.assert_allclose(refitted.predict_proba(other), expected, atol=1e-6)
        np.testing.assert_allclose(classifier.predict_proba(other), expected)


def test_labels_and_columns_that_cannot_be_told_are_named_as_the_user_has_them(shop):
    frame, y = shop
    blank = y.astype(object)
    blank[[7, 3]] = ["", " "]
    with pytest.raises(DataError, match=r"2 of 240 labels are missing \(rows 3, 7, counted from 0\)"):
        quick().fit(frame, blank)
    with pytest.raises(DataError, match="X has two columns called 'sold'; rename one of them"):
        quick().fit(frame.rename(columns={"price": "sold"}), y)


@pytest.mark.parametrize("labels", [lambda y: y, lambda y: pd.cut(y, 5)])
def test_labels_that_measure_are_fitted_once_they_are_made_what_is_told(shop, labels):
    frame = shop[0][["price", "sold"]]
    y = frame["price"] * 3
    with pytest.raises(DataError, match=r"\.astype\(str\)"):
        quick().fit(frame, labels(y))
    assert len(quick().fit(frame, pd.cut(y, 5).astype(str)).classes_) == 5
    with pytest.raises(DataError, match=r"is Interval; labels are text, .* as y\.astype\(str\) does"):
        encode_labels(pd.cut(y, 5))


def test_words_never_seen_and_missing_numbers_are_answered(shop):
    frame, y = shop
    classifier = quick().fit(frame, y)
    new = frame.head(3).assign(colour="violet", price=[np.nan, np.inf, 1e300])
    assert np.isfinite(classifier.predict_proba(new)).all()


def test_ids_of_frames_and_samples_name_the_rows_of_the_audit(iris):
    x, _, y, _ = iris
    names = [f"flower {place}" for place in range(len(x))]
    classifier = quick(audit="history").fit(pd.DataFrame(x, index=names), y)
    assert classifier.audit_.table["id"].tolist() == names
    samples = Samples(x, y, ("a", "b", "c"), np.array(names, dtype=object), "array")
    classifier = quick(audit="history").fit(samples)
    assert classifier.classes_.tolist() == ["a", "b", "c"]
    assert classifier.audit_.table["id"].tolist() == names
    assert classifier.predict(samples).shape == (100,)


def test_images_are_read_as_pixels():
    random = np.random.default_rng(0)
    y = np.arange(120) % 3
    images = random.integers(0, 60, (120, 12, 12, 3), dtype=np.uint8)
    images[np.arange(120), :, :, y] += 120  # the class is the strongest colour
    classifier = quick(epochs=6, audit="auto", augment=True).fit(images[:90], y[:90])
    assert classifier.score(images[90:], y[90:]) > 0.9
    assert classifier.n_features_in_ == 12 * 12 * 3
    assert classifier.audit_.mode == "history"
    with pytest.raises(DataError, match="12 x 12 x 3"):
        classifier.predict(images[:, :10])
    with pytest.raises(DataError, match="fitted on images"):
        classifier.predict(images.reshape(120, -1))
    grey = quick(network="mlp", epochs=2, audit="history", overlap="none").fit(images[..., 0], y)
    assert grey.audit_.overlap == "none"
    assert grey.encoder_.shape == (1, 12, 12)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.zeros((4, 2)), [0, 1, 0, 1], "constant"),
        (np.eye(4), [0, 1, None, 1], "1 of 4 labels is missing"),
        (np.eye(4), [0, 1, 0], "inconsistent numbers of samples.*: give one label per sample"),
        (np.arange(4.0), [0, 1, 0, 1], r"got X of shape \(4,\). Reshape your data"),
        (np.eye(4)[:0], [], "0 sample.*: give rows of features"),
        (np.eye(4), [0.5, 1.5, 0.25, 1.0], "continuous.*: give classes, such as ranges"),
        ("orders.csv", [0, 1], "X is str: .* or what read gives of a file"),
        (np.eye(4), np.array([0, "a", 1, "b"], dtype=object), "labels mix numbers .* and text"),
        (["good", "bad"], [0, 1], "X is text: turn it into features"),
    ],
)
def test_what_cannot_be_fitted_is_refused(x, y, words):
    with pytest.raises(DataError, match=words) as told:
        quick().fit(x, y)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [("Int64", [3, 4]), ("boolean", [False, True]), ("string", ["x", "y"]), ("category", ["x", "y"])],
)
def test_labels_of_pandas_types_come_back_as_what_they_are(dtype, values):
    x = np.array([[0.0, 1.0], [5.0, 2.0]] * 10)
    classifier = quick(epochs=1).fit(x, pd.Series(values * 10, dtype=dtype))
    assert classifier.classes_.tolist() == values
    assert {type(label) for label in classifier.predict(x).tolist()} == {type(values[0])}


@pytest.mark.parametrize("audit", ["history", "held-out"])
def test_what_torch_makes_by_default_changes_nothing(audit):
    x, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        wide = quick(audit=audit).fit(x, y).predict_proba(x)
    finally:
        torch.set_default_dtype(before)
    assert np.isfinite(wide).all()
