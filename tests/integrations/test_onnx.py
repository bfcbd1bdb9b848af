"""A classifier in an ONNX file answers as it does itself: class, probabilities, ood_score and rejection."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

import graylearn as gl
from graylearn.errors import SettingsError
from graylearn.integrations.onnx import save_model, unexportable

pytestmark = pytest.mark.filterwarnings("ignore:.*infinite value:graylearn.errors.DataWarning")
FIT = {"epochs": 3, "audit": None, "random_state": 0}


def answers(path, inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def as_inputs(frame):
    """A frame as the file reads it: float64, and text with "" where it is missing."""
    return {
        name: frame[name].fillna("").to_numpy(object)
        if frame[name].dtype.kind == "O" and name != "paid"
        else frame[name].to_numpy(np.float64, na_value=np.nan)
        for name in frame
    }


def assert_same(found, classifier, X, reject_at=0.99):
    np.testing.assert_array_equal(found["class"], classifier.predict(X))
    np.testing.assert_allclose(found["probabilities"], classifier.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(found["ood_score"], classifier.ood_score(X), atol=1e-7)
    rejected = [answer is None for answer in classifier.predict(X, reject_at=reject_at)]
    np.testing.assert_array_equal(found["rejected"], rejected)


def rows(n=150, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 5)) + 2 * np.eye(5)[y], y


def table(n=150, seed=0):
    """Numbers and words with values missing, a bool, a constant and a wild one."""
    rng = np.random.default_rng(seed)
    X, y = rows(n, seed)
    frame = pd.DataFrame(X, columns=["width", "height", "a", "b", "c"])
    frame["colour"] = np.array(["red", "green", "blue"], dtype=object)[(y + (rng.random(n) < 0.3)) % 3]
    frame["maker"] = rng.choice(["mill", "Müller & Söhne", None], size=n, p=[0.6, 0.3, 0.1])
    frame["paid"] = rng.random(n) < 0.5
    frame["always"] = 1.0
    frame.loc[::7, "width"] = np.nan
    frame.loc[3, "a"] = np.inf
    frame.loc[4, "a"] = -1e300
    return frame, np.array(["low", "middle", "high"], dtype=object)[y]


@pytest.fixture(scope="module")
def of_table(tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "table.onnx"
    X, y = table()
    classifier = gl.GrayClassifier(**FIT).fit(X, y)
    save_model(classifier, path, reject_at=0.9)
    return classifier, path


def test_rows_of_numbers(tmp_path):
    X, y = rows()
    X[:, 3] = 7.0  # constant: left out
    X[::9, 0] = np.nan
    classifier = gl.GrayClassifier(**FIT).fit(X, y)
    save_model(classifier, tmp_path / "rows.onnx", reject_at=0.7)
    new = rows(seed=1)[0] * 3  # some of them far from all
    new[0], new[1, 0], new[2] = np.nan, np.inf, 1e300
    found = answers(tmp_path / "rows.onnx", {"X": new})
    assert_same(found, classifier, new, reject_at=0.7)
    assert found["class"].dtype == np.int64
    assert 0 < found["rejected"].sum() < len(new)


def test_columns_of_numbers_words_and_bools_with_missing_and_new_values(of_table):
    classifier, path = of_table
    X, _ = table(60, seed=1)
    X.loc[5, "colour"], X.loc[6, "maker"] = "purple", None
    X.loc[7, "colour"] = X.loc[7, "colour"].upper()
    read = set(classifier.encoder_.table.kinds_)
    assert "always" not in read
    found = answers(path, {name: values for name, values in as_inputs(X).items() if name in read})
    assert_same(found, classifier, X, reject_at=0.9)
    assert set(found["class"]) <= {"low", "middle", "high"}


def test_a_network_of_your_own_and_one_without_hidden_layers(tmp_path):
    X, y = rows()
    torch.manual_seed(0)
    own = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    for network, options in ((own, None), ("mlp", {"hidden": ()})):
        classifier = gl.GrayClassifier(network=network, network_options=options, **FIT).fit(X, y > 0)
        save_model(classifier, tmp_path / "own.onnx")
        found = answers(tmp_path / "own.onnx", {"X": X})
        np.testing.assert_allclose(found["probabilities"], classifier.predict_proba(X), atol=1e-5)
        np.testing.assert_allclose(found["ood_score"], classifier.ood_score(X), atol=1e-5)


@pytest.mark.parametrize("often", [2, 60])
def test_an_empty_text_is_a_missing_one_to_both(tmp_path, often):
    X, y = table()
    maker = np.array(["mill", "forge", "barn"], dtype=object)[np.arange(150) % 3]
    maker[:often] = ""
    maker[often : often + 1] = "rare"
    classifier = gl.GrayClassifier(**FIT | {"epochs": 2}).fit(X[["a"]].assign(maker=maker), y)
    save_model(classifier, tmp_path / "table.onnx")
    new = X[["a"]].assign(maker=["", None, "rare", "new", "mill"] * 30)
    assert_same(answers(tmp_path / "table.onnx", as_inputs(new)), classifier, new)
    blank = classifier.predict_proba(new)
    np.testing.assert_array_equal(classifier.predict_proba(new.replace({"maker": {"": None}})), blank)


def odd_tables():
    X, y = table()
    yield X.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(150) % 40, "D")), y, "dates"
    prices = [f"{value},50 €" for value in range(10, 160)]
    yield X.assign(price=prices), y, "written as text"
    words = [f"{each} word {number % 40}" for number, each in enumerate(y)]
    yield X.assign(note=words), y, "too many different words"
    yield X.rename(columns={"a": "class"}), y, "rename it"
    yield X.rename(columns={"a": "/constant 0"}), y, "rename it"
    yield X.rename(columns={"a": ""}), y, "rename it"


@pytest.mark.filterwarnings("ignore::graylearn.errors.DataWarning")
@pytest.mark.parametrize("which", range(6))
def test_columns_that_cannot_be_exported_are_named(which, tmp_path):
    X, y, why = list(odd_tables())[which]
    classifier = gl.GrayClassifier(**FIT | {"epochs": 1}).fit(X, y)
    with pytest.raises(SettingsError, match=why):
        save_model(classifier, tmp_path / "odd.onnx")
    told = unexportable(classifier)  # what a run says of it once it is fitted
    assert told is None if why == "rename it" else why in told
    assert not list(tmp_path.iterdir())


def test_networks_that_cannot_be_exported_are_told(tmp_path):
    X, y = rows()
    images = np.zeros((12, 8, 8), dtype=np.uint8) + np.arange(12, dtype=np.uint8)[:, None, None]
    quick = FIT | {"epochs": 1}
    cases = [
        (gl.GrayClassifier(network=LogisticRegression(), audit=None).fit(X, y), "scikit-learn model"),
        (gl.GrayClassifier(**quick).fit(images, np.arange(12) % 2), "of images"),
        (gl.GrayClassifier(network=nn.Sequential(nn.Linear(5, 3), nn.Tanh()), **quick).fit(X, y), "ReLU"),
    ]
    for classifier, why in cases:
        with pytest.raises(SettingsError, match=why):
            save_model(classifier, tmp_path / "none.onnx")
    with pytest.raises(SettingsError, match="reject_at is 2"):
        save_model(gl.GrayClassifier(**quick).fit(X, y), tmp_path / "none.onnx", reject_at=2)
