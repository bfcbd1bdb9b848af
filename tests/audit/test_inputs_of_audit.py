"""What the audit takes: mixed frames of several libraries, sparse matrices, images and Samples."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from planted import clusters
from sklearn import config_context
from sklearn.datasets import load_digits

import graylearn as gl
from graylearn.audit import Audit, audit
from graylearn.audit.annotators import consensus
from graylearn.audit.duplicates import find_duplicates
from graylearn.audit.inputs import as_features
from graylearn.audit.scaling import scaled, weights
from graylearn.data import Samples, TableEncoder
from graylearn.data.splits import row_numbers
from graylearn.errors import DataError, DataWarning, IdLikeColumnWarning, SettingsError


@pytest.fixture(scope="module")
def mixed():
    """A table of numbers, words and flags that tell four classes apart, with a tenth of labels wrong."""
    random = np.random.default_rng(0)
    truth = random.integers(4, size=400)
    frame = pd.DataFrame(
        {
            "size": truth * 2.0 + random.normal(0, 0.5, 400),
            "colour": np.array(["red", "green", "blue", "white"], dtype=object)[truth],
            "heavy": truth > 1,
        }
    )
    wrong = random.random(400) < 0.1
    return frame, np.where(wrong, (truth + 1) % 4, truth), wrong


def test_mixed_frames_of_every_library_give_one_audit(mixed):
    frame, y, wrong = mixed
    found = audit(frame, y)
    assert found.suspected[wrong].mean() >= 0.8
    assert found.suspected[~wrong].mean() <= 0.03
    arrow = frame.convert_dtypes(dtype_backend="pyarrow")
    for other in (arrow, pl.from_pandas(frame), pl.from_pandas(frame).lazy(), pa.Table.from_pandas(frame)):
        np.testing.assert_array_equal(as_features(other, 400), as_features(frame, 400))
    with config_context(transform_output="polars"):  # what pipelines are set to hand on does not matter
        assert isinstance(as_features(frame, 400), np.ndarray)


def test_mixed_columns_are_encoded_as_the_classifier_encodes_them(mixed):
    frame, _, _ = mixed
    encoded = TableEncoder().fit(frame).transform(frame)
    np.testing.assert_array_equal(as_features(frame, 400), as_features(encoded, 400))
    objects = frame.astype(object).to_numpy()
    assert as_features(objects, 400).shape == as_features(frame, 400).shape


@pytest.mark.parametrize("also", ["numbers", "words"])
def test_columns_that_name_the_rows_are_left_out_of_every_frame(also):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"size": random.normal(size=60), "weight": random.normal(size=60)})
    if also == "words":
        frame["colour"] = np.array(["red", "blue", "red"] * 20, dtype=object)
    named = frame.assign(row=np.arange(1000, 1060), sample_id=random.permutation(60) * 1.5)
    with pytest.warns(
        IdLikeColumnWarning, match="'row', 'sample_id' seem to name .* are left out; pass id_like"
    ):
        found = as_features(named, 60)
    np.testing.assert_array_equal(found, as_features(frame, 60))
    with pytest.warns(IdLikeColumnWarning, match="pass id_like='drop' to leave them out"):
        assert as_features(named, 60, "keep").shape[1] == found.shape[1] + 2
    y = np.arange(60) % 2
    with pytest.warns(IdLikeColumnWarning):
        left_out = audit(named, y)
    np.testing.assert_array_equal(left_out.score, audit(frame, y).score)
    for read in (
        lambda: audit(frame, y, id_like="maybe"),
        lambda: Audit.from_predictions(np.eye(4)[y], y, frame, id_like="maybe"),
        lambda: consensus(y[:, None], X=frame, id_like="maybe"),
        lambda: find_duplicates(frame, id_like="maybe"),
    ):
        with pytest.raises(SettingsError, match="id_like is 'maybe', expected drop or keep"):
            read()


def test_samples_of_a_table_are_taken_with_their_labels(mixed):
    frame, y, wrong = mixed
    samples = Samples(frame, y, ("a", "b", "c", "d"), np.arange(400), "table")
    found = audit(samples)
    assert found.classes == ("a", "b", "c", "d")
    assert found.suspected[wrong].mean() >= 0.8


def test_small_images_are_their_pixels_and_large_ones_want_features():
    images = load_digits().images.astype(np.uint8)
    np.testing.assert_array_equal(as_features(images, 1797), as_features(images.reshape(1797, -1), 1797))
    with pytest.raises(DataError, match=r"graylearn\.data\.embed_images"):
        audit(np.zeros((20, 32, 32, 3), dtype=np.uint8), np.arange(20) % 2)


def test_text_wants_features():
    text = np.array(["a card that never came", "an account to close"] * 10, dtype=object)
    with pytest.raises(DataError, match=r"graylearn\.data\.embed_text"):
        audit(text, np.arange(20) % 2)
    with pytest.raises(DataError, match=r"graylearn\.data\.embed_text"):
        audit(Samples(text, np.arange(20) % 2, ("a", "b"), np.arange(20), "text"))


def test_paths_and_names_of_columns_are_to_be_read_first(tmp_path):
    for path in ("orders.csv", tmp_path):
        with pytest.raises(DataError, match=r"read the file first, audit\(read\(X, label=\.\.\.\)\)"):
            audit(path)
    with pytest.raises(DataError, match=r"names a column, give audit\(read\(X, label='kind'\)\)"):
        audit(pd.DataFrame({"a": [1, 2], "kind": ["x", "y"]}), "kind")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("names", [["c", "a", "b"], [2, 0, 1]])
def test_columns_of_a_frame_of_probabilities_name_the_classes(frame, names):
    y = [names[k % 3] for k in range(60)]
    chances = np.eye(3)[np.arange(60) % 3] * 0.9 + 0.1 / 3  # each label is the likeliest
    found = Audit.from_predictions(frame({name if frame is pd.DataFrame else str(name): chances[:, k]
                                          for k, name in enumerate(names)}), y)  # fmt: skip
    assert found.classes == tuple(names)
    assert found.table["confidence"].min() > 0.9
    assert Audit.from_predictions(pd.DataFrame(chances), np.arange(60) % 3).classes == (0, 1, 2)


@pytest.mark.parametrize("shape", [(0, 3), (0, 4, 4)])
def test_no_samples_are_an_audit_of_nothing(shape):
    assert len(audit(np.zeros(shape), [])) == 0


def test_infinite_values_are_counted_by_column():
    values = np.random.default_rng(0).normal(size=(40, 7))
    values[:2, 0], values[3, 1:], values[4, 2] = [np.inf, -np.inf], np.inf, np.nan
    frame = pd.DataFrame(values, columns=list("abcdefg"))
    told = r"^8 infinite values in columns {} and 2 more among 40 rows: taken as missing"
    with pytest.warns(DataWarning, match=told.format("0, 1, 2, 3, 4")):
        as_features(values.reshape(40, 7, 1), 40)
    with pytest.warns(DataWarning, match=told.format("'a', 'b', 'c', 'd', 'e'")):
        as_features(frame, 40)
    words = np.array(["red", "blue"] * 20, dtype=object)
    with pytest.warns(DataWarning, match="^8 infinite values .* taken as far beyond all others"):
        as_features(frame.assign(words=words), 40)


def test_ids_that_name_several_samples_are_refused():
    x, y, told = np.eye(4), np.arange(4) % 2, r"id 'a' .*; ids must be unique"
    ids = ["a", 1, "a", "1"]
    with pytest.raises(DataError, match=told):
        audit(x, y, ids=ids)
    with pytest.raises(DataError, match=told):
        Audit.from_predictions(np.full((4, 2), 0.5), y, ids=ids)
    doubled = pd.DataFrame(x, index=ids)  # as of two tables, one after the other
    assert audit(doubled.rename(index={1: "a"}), y).ids.tolist() == [0, 1, 2, 3]


def test_a_column_of_words_weighs_no_more_than_a_number():
    random = np.random.default_rng(0)
    word = np.where(random.random(4000) < 0.02, "rare", random.choice(list("abcdefgh"), 4000))
    number = random.normal(50.0, 9.0, 4000)
    spread = as_features(pd.DataFrame({"word": word, "number": number}), 4000).var(axis=0)
    assert spread.max() == pytest.approx(1.0, abs=0.1), "the number's"
    assert spread.sum() < 2.0
    seen = as_features(np.c_[np.where(word == "rare", 5.0, np.nan), word == "a", number], 4000)
    np.testing.assert_allclose(np.ptp(seen[:, 1]), 1.0, rtol=1e-5)
    assert not seen[:, 0].any(), "one value, and what is missing takes it"


def test_an_audit_of_more_classes_than_a_class_has_samples():
    """300 classes of two to seven samples: finished, and every number is one."""
    random = np.random.default_rng(3)
    label = random.permutation(np.concatenate([np.arange(300), random.integers(300, size=900)]))
    x = random.normal(size=(300, 32))[label] + 0.3 * random.normal(size=(1200, 32))
    found = audit(x.astype(np.float32), label)
    assert found.probabilities.shape == found.beliefs.shape == (1200, 300)
    assert np.isfinite(found.score).all()
    np.testing.assert_allclose(found.beliefs.sum(axis=1) + found.foreign, 1.0, atol=1e-6)


def test_a_value_far_from_all_others_has_no_say_in_the_scale():
    x = np.random.default_rng(0).normal(size=(500, 2))
    broken = x.copy()
    broken[:5, 0] = 99_999
    np.testing.assert_allclose(scaled(broken)[5:, 0], scaled(x)[5:, 0], atol=0.02)
    assert scaled(broken)[:5, 0].max() == 10
    huge = scaled(np.r_[x, [[np.nan, 1e308]]])
    assert np.isfinite(huge).all()


def weighed(x, y):
    return weights(scaled(x), y, row_numbers(x))


def test_columns_that_tell_nothing_weigh_little():
    planted = clusters(600, k=3, d=4, wrong=0.1, apart=2.5)
    x = np.concatenate([planted.x, np.random.default_rng(1).normal(size=(600, 12))], axis=1)
    weight = weighed(x, planted.y)
    assert weight.max() == 1.0
    assert weight[4:].max() < weight[:4].max() / 1.5
    assert (weighed(x, np.zeros(600, dtype=int)) == 1.0).all(), "no column tells of one label"


def test_a_column_tells_by_its_rare_values_and_by_its_middle():
    random = np.random.default_rng(0)
    y = random.integers(2, size=1800)
    rare = (y & (random.random(1800) < 0.1)).astype(float)
    middle = np.where(y == 1, 0.3, 2.0) * random.normal(size=1800)
    weight = weighed(np.stack([middle, rare, random.normal(size=1800)], axis=1), y)
    assert weight[0] == 1.0
    assert weight[1] > weight[2] + 0.05


def test_noise_beside_the_columns_hides_few_errors():
    planted = clusters(600, k=3, d=6, wrong=0.1, apart=3.0)
    noise = np.random.default_rng(1).normal(size=(600, 12))
    alone, beside = (gl.audit(x, planted.y).suspected[planted.wrong].mean()
                     for x in (planted.x, np.concatenate([planted.x, noise], axis=1)))  # fmt: skip
    assert beside > alone - 0.1
