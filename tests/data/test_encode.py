"""TableEncoder: what each kind of column becomes."""

import datetime
import math

import numpy as np
import pandas as pd
import pytest
from hand_made_frame import FRAME
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from graylearn.data.encode import TableEncoder
from graylearn.errors import DataError, DataWarning, IdLikeColumnWarning, SettingsError


def column(encoder: TableEncoder, encoded: np.ndarray, name: str) -> list[float]:
    return encoded[:, encoder.get_feature_names_out().tolist().index(name)].tolist()


def test_every_kind_of_column():
    encoder = TableEncoder().fit(FRAME)
    encoded = encoder.transform(FRAME)
    assert encoded.dtype == np.float32
    assert encoded.shape == (4, len(encoder.get_feature_names_out()))
    assert encoder.get_feature_names_out().tolist() == [
        "size", "count", "flag", "day total seconds", "day month", "day weekday", "day hour",
        "size is missing", "day is missing", "colour=red", "colour is other", "colour is missing",
    ]  # fmt: skip
    assert column(encoder, encoded, "size is missing") == [0, 0, 1, 0]
    assert column(encoder, encoded, "flag") == [1, 0, 1, 1]
    assert column(encoder, encoded, "colour=red") == [1, 0, 0, 1]
    assert column(encoder, encoded, "colour is other") == [0, 1, 0, 0], "blue was seen once"
    assert column(encoder, encoded, "colour is missing") == [0, 0, 1, 0]
    assert column(encoder, encoded, "day is missing") == [0, 0, 0, 1]
    assert column(encoder, encoded, "size")[2] == 0.0, "the median stands in"


def test_numbers_are_scaled_by_median_and_quartiles_then_squashed():
    values = np.random.default_rng(0).normal(50, 4, 1001)
    encoded = TableEncoder(limit=5.0).fit_transform(pd.DataFrame({"a": values}))[:, 0]
    low, middle, high = np.percentile(values, [25, 50, 75])
    standard = (values - middle) / ((high - low) / (2 * 0.6744897501960817))  # quartile of the normal curve
    np.testing.assert_allclose(encoded, standard / np.sqrt(1 + (standard / 5) ** 2), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*infinite value:graylearn.errors.DataWarning")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True) | st.none(), min_size=2, max_size=12))
def test_any_floats_give_finite_features(values):
    frame = pd.DataFrame({"a": pd.Series(values, dtype=float), "b": np.arange(len(values)) % 2 == 0})
    encoder = TableEncoder().fit(frame)
    encoded = encoder.transform(frame)
    assert np.isfinite(encoded).all()
    assert (np.abs(encoded) <= 10).all()
    present = np.array([v for v in values if v is not None and not math.isnan(v)])
    if "a" in encoder.get_feature_names_out():  # order is kept
        order = np.argsort(np.clip(present, -1e150, 1e150), kind="stable")
        kept = encoded[[v is not None and not math.isnan(v) for v in values], 0]
        assert (np.diff(kept[order]) >= 0).all()


def test_dates_become_their_parts():
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=400, freq="7h"), "b": [0, 1] * 200})
    encoder = TableEncoder(limit=1e9).fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names[:5] == [*(f"day {part}" for part in ("total seconds", "month", "weekday", "hour")), "b"]
    encoded = encoder.transform(frame)
    for name, part in (("month", frame["day"].dt.month), ("weekday", frame["day"].dt.day_of_week)):
        found = np.array(column(encoder, encoded, f"day {name}"))
        assert np.corrcoef(found, part)[0, 1] == pytest.approx(1.0)
    zoned = frame.assign(day=frame["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    np.testing.assert_array_equal(encoder.transform(zoned), encoded)
    spelled = frame.assign(day=frame["day"].dt.strftime("%Y-%m-%dT%H:%M:%S"))
    np.testing.assert_array_equal(encoder.transform(spelled), encoded)
    objects = pd.DataFrame({"day": [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]})
    assert TableEncoder().fit(objects).kinds_ == {"day": "date"}


def test_unknown_and_rare_categories():
    frame = pd.DataFrame({"town": ["Bern"] * 500 + ["Chur"] * 495 + ["Thun", "Biel", "Brig", "Visp", "Zug"]})
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["town=bern", "town=chur", "town is other"]
    new = pd.DataFrame({"town": ["CHUR ", "Thun", "Rome", None]})
    assert encoder.transform(new).tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    known = TableEncoder().fit(pd.DataFrame({"a": ["x", "y"] * 5}))
    assert known.transform(pd.DataFrame({"a": ["z"]})).tolist() == [[0, 0]]


def test_a_feature_says_what_is_missing_where_that_is_no_rare_exception():
    frame = pd.DataFrame({"town": ["Bern", "Chur"] * 50, "size": np.arange(100.0)})
    frame.loc[:3, "town"], frame.loc[:3, "size"] = None, np.nan
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["size", "town=bern", "town=chur"]
    assert encoder.transform(frame)[0].tolist() == [0, 0, 0]
    frame.loc[:4, "town"], frame.loc[:4, "size"] = None, np.nan
    assert {"size is missing", "town is missing"} < set(TableEncoder().fit(frame).get_feature_names_out())


def test_many_categories_are_hashed_by_their_letters():
    rng = np.random.default_rng(0)
    words = [f"{a} street {n}" for a, n in zip(rng.choice(["oak", "elm"], 300), range(300), strict=True)]
    frame = pd.DataFrame({"address": words})
    encoder = TableEncoder(max_categories=10).fit(frame)
    encoded = encoder.transform(
        pd.DataFrame({"address": ["oak street 999", "oak street 998", "elm street 1", None]})
    )
    assert encoded.shape[1] <= 10 + 1 + 32
    near, far = encoded[0] @ encoded[1], encoded[0] @ encoded[2]
    assert near > far, "texts that look alike are near"
    assert not encoded[3].any()


def test_bools_with_gaps_and_in_words():
    frame = pd.DataFrame({"flag": pd.Series([True, None, False, True], dtype=object)})
    encoder = TableEncoder().fit(frame)
    assert encoder.transform(frame).tolist() == [[1, 0], [0, 1], [0, 0], [1, 0]]
    words = pd.DataFrame({"flag": ["true", None, "False", "1"]})
    np.testing.assert_array_equal(encoder.transform(words), encoder.transform(frame))
    with pytest.raises(DataError, match=r"'flag' held bools .* such as 'perhaps'"):
        encoder.transform(pd.DataFrame({"flag": ["perhaps"]}))
    numbers = pd.DataFrame({"flag": [1.0, np.nan, 0.0, 1.0]})
    np.testing.assert_array_equal(encoder.transform(numbers), encoder.transform(frame))
    with pytest.raises(DataError, match=r"'flag' held bools .* such as '7.0'"):
        encoder.transform(pd.DataFrame({"flag": [1.0, np.nan, 7.0]}))


def test_text_that_is_mostly_numbers():
    frame = pd.DataFrame({"a": [str(n) for n in range(19)] + ["n.a. "]})
    with pytest.warns(
        DataWarning, match=r"column 'a' is text but mostly numbers; 1 other value, such as 'n.a. ', is taken"
    ):
        encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["a", "a is missing"]


def test_constant_columns_are_dropped_and_not_asked_for_again():
    frame = pd.DataFrame({"a": [1.0, 2.0], "same": [3, 3], "one": ["x", "x"], "none": [np.nan, np.nan]})
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["a"]
    assert encoder.transform(frame[["a"]]).shape == (2, 1)
    with pytest.raises(DataError, match="every column of the table is constant"):
        TableEncoder().fit(frame[["same", "one", "none"]])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("customer_id", np.random.default_rng(0).permutation(10_000)[:50]),
        ("code", [f"K{n:03}" for n in range(50)]),
        ("name", [f"Anna{n} van der {n}" for n in range(50)]),
        ("file path", [f"photos of {n}/a b.png" for n in range(50)]),
    ],
)
def test_id_like_columns_are_warned_about(name, values):
    frame = pd.DataFrame({name: values, "a": np.arange(50) % 7})
    with pytest.warns(IdLikeColumnWarning, match=f"'{name}' seems to name the rows"):
        kept = TableEncoder(id_like="keep").fit(frame)
    with pytest.warns(IdLikeColumnWarning, match="and is left out; pass id_like='keep' to learn from it"):
        dropped = TableEncoder().fit(frame)
    with pytest.warns(IdLikeColumnWarning, match="tells nothing about new ones; pass id_like='drop'"):
        assert list(TableEncoder().fit(frame[[name]]).kinds_) == [name]  # for want of another
    assert name in kept.kinds_
    assert list(dropped.kinds_) == ["a"]


def test_copied_rows_do_not_make_a_measurement_of_an_id():
    frame = pd.DataFrame({"Nr": range(50), "x": np.random.default_rng(0).normal(size=50)})
    copied = pd.concat([frame, frame.iloc[:5]], ignore_index=True)
    with pytest.warns(IdLikeColumnWarning, match="column 'Nr' seems to name the rows"):
        assert list(TableEncoder().fit(copied).kinds_) == ["x"]
    measured_twice = copied.assign(x=np.random.default_rng(1).normal(size=55))
    assert list(TableEncoder().fit(measured_twice).kinds_) == ["Nr", "x"]


def test_unique_measurements_and_sentences_are_no_ids():
    frame = pd.DataFrame(
        {
            "weight": np.random.default_rng(0).normal(size=50),
            "grams": np.random.default_rng(0).permutation(10_000)[:50],
            "note": [f"the sample number {n} was fine" for n in range(50)],
        }
    )
    with pytest.warns(DataWarning, match=r"'note' holds sentences, .* \(--without note\)") as told:
        encoder = TableEncoder().fit(frame)
    assert len(told) == 1
    assert list(encoder.kinds_) == ["weight", "grams", "note"]
    frame["note"] = [f"sample {n} was fine" for n in range(50)]  # a warning would be an error
    TableEncoder().fit(frame)


def test_columns_are_found_by_name():
    encoder = TableEncoder().fit(FRAME)
    shuffled = FRAME[["day", "flag", "size", "colour", "count"]].assign(extra=1)
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(FRAME))
    with pytest.raises(DataError, match="lacks 2 of the 5 columns it was fitted on: count, flag"):
        encoder.transform(FRAME.drop(columns=["count", "flag"]))
    with pytest.raises(DataError, match="two columns called 'size'"):
        encoder.transform(pd.concat([FRAME, FRAME[["size"]]], axis=1))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("size", "large", "held numbers .* such as 'large': write numbers there"),
        ("day", "soon", "held dates .* such as 'soon': write dates there"),
    ],
)
def test_a_column_that_changed_its_kind(name, value, message):
    with pytest.raises(DataError, match=message):
        TableEncoder().fit(FRAME).transform(FRAME.assign(**{name: value}))


def test_scikit_learn_manners():
    encoder = TableEncoder(limit=4.0)
    assert clone(encoder).get_params() == encoder.get_params()
    with pytest.raises(NotFittedError):
        encoder.transform(FRAME)
    with pytest.raises(NotFittedError):
        encoder.to_json()
    for options in ({"limit": 0}, {"max_categories": 0}, {"id_like": "ignore"}):
        with pytest.raises(SettingsError, match=next(iter(options))):
            TableEncoder(**options).fit(FRAME)


@pytest.mark.filterwarnings("ignore:column 'a' seems to name the rows")
def test_text_of_bytes_that_were_no_text_is_learned():
    """As pandas.read_csv(..., encoding_errors="surrogateescape") gives it."""
    text = pd.Series([f"a word {number}" for number in range(60)], dtype=object)
    text[3] = "caf\udce9"
    frame = pd.DataFrame({"a": text, "b": np.arange(60) / 7})
    encoder = TableEncoder(id_like="keep").fit(frame)
    assert np.isfinite(encoder.transform(frame)).all()
