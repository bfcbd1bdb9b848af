"""Fitting: what it learns, weights, validation, going on, and its place among scikit-learn's tools."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from graylearn.errors import DataError, SettingsError
from graylearn.estimator import GrayClassifier
from graylearn.training import OptimizerSettings


def quick(**parameters):
    return GrayClassifier(**{"epochs": 5, "audit": None, "random_state": 0, "device": "cpu"} | parameters)


def test_learns_clean_sets(iris):
    x, x_test, y, y_test = iris
    classifier = GrayClassifier(random_state=0).fit(x, y)
    assert classifier.score(x_test, y_test) >= 0.94
    probability = classifier.predict_proba(x_test)
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(x_test)), probability)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(classifier.classes_[probability.argmax(axis=1)], classifier.predict(x_test))
    # scipy's softmax of the logits is the independent way to the probabilities
    exponent = np.exp(classifier.decision_function(x_test))
    np.testing.assert_allclose(probability, exponent / exponent.sum(axis=1, keepdims=True))


def test_two_classes():
    x, y = load_breast_cancer(return_X_y=True)
    labels = np.where(y == 1, "benign", "malignant")
    classifier = quick(epochs=10).fit(x[:400], labels[:400])
    assert classifier.score(x[400:], labels[400:]) >= 0.95
    ahead = classifier.decision_function(x[400:])
    assert ahead.shape == (169,)
    np.testing.assert_array_equal(ahead > 0, classifier.predict(x[400:]) == "malignant")


def test_auto_is_gl_for_rows_and_gl_relative_for_images(iris, tmp_path):
    x, _, y, _ = iris
    pictures = np.random.default_rng(0).integers(0, 255, (60, 8, 8, 3), dtype=np.uint8)
    for data, labels, chosen in ((x, y, "gl"), (pictures, np.arange(60) % 3, "gl-relative")):
        found = quick(epochs=2).fit(data, labels)
        assert (found.method, found.method_) == ("auto", chosen)
        named = quick(epochs=2, method=chosen).fit(data, labels)
        np.testing.assert_array_equal(found.predict_proba(data), named.predict_proba(data))
        found.save(tmp_path / chosen)
        loaded = type(found).load(tmp_path / chosen)
        assert (loaded.method, loaded.method_) == ("auto", chosen)
    assert quick(method="standard", epochs=1).fit(pictures, np.arange(60) % 3).method_ == "standard"


def test_the_same_set_in_any_order_gives_the_same_model(iris):
    x, x_test, y, _ = iris
    order = np.random.default_rng(1).permutation(len(x))
    one, other = quick().fit(x, y), quick().fit(x[order], y[order])
    np.testing.assert_array_equal(one.predict_proba(x_test), other.predict_proba(x_test))
    # what is told by sample stays in the order given
    np.testing.assert_array_equal(one.history_.label_confidence[:, order], other.history_.label_confidence)
    np.testing.assert_array_equal(one.history_.targets[order], other.history_.targets)


def test_whole_weights_are_repetitions_and_zero_leaves_out(iris):
    x, x_test, y, _ = iris
    weight = np.random.default_rng(0).integers(0, 4, len(x))
    weighted = quick().fit(x, y, sample_weight=weight)
    repeated = quick().fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict_proba(x_test), repeated.predict_proba(x_test))
    assert np.isnan(weighted.history_.label_confidence[:, weight == 0]).all()
    assert not np.isnan(weighted.history_.label_confidence[:, weight > 0]).any()


def test_class_weight_is_a_weight_of_each_sample(iris):
    x, x_test, y, _ = iris
    by_class = quick(class_weight={0: 1.5, 1: 0.5, 2: 2.25}).fit(x, y)
    by_sample = quick().fit(x, y, sample_weight=np.array([1.5, 0.5, 2.25])[y])
    np.testing.assert_allclose(by_class.predict_proba(x_test), by_sample.predict_proba(x_test), rtol=1e-5)


def test_a_clean_validation_set_ends_the_training(dirty, digits):
    *_, x_test, y_test, _ = digits
    classifier = quick(method="standard", epochs=200, patience=3)
    classifier.fit(dirty.x, dirty.y, validation=(x_test[:200], y_test[:200]))
    assert classifier.n_iter_ < 200
    # by then the run without one knows the flipped labels by heart
    assert len(classifier.history_.label_confidence) == classifier.n_iter_ + 3
    long = quick(method="standard", epochs=60).fit(dirty.x, dirty.y)
    assert classifier.score(x_test[200:], y_test[200:]) > long.score(x_test[200:], y_test[200:])


def test_warm_start_goes_on(iris):
    x, _, y, _ = iris
    classifier = quick(epochs=2, warm_start=True).fit(x, y)
    before = classifier.predict_proba(x)
    classifier.fit(x, y)  # a fit from the same first weights would say the same again
    own_label = np.arange(len(y)), y
    assert np.log(classifier.predict_proba(x)[own_label]).mean() > np.log(before[own_label]).mean()
    with pytest.raises(DataError, match="warm_start"):
        classifier.fit(x, y + 1)


def test_partial_fit_learns_batch_by_batch(iris):
    x, x_test, y, y_test = iris
    classifier = quick(batch_size=10, learning_rate=0.003)
    for _ in range(12):
        for part in np.array_split(np.random.default_rng(0).permutation(len(x)), 2):
            classifier.partial_fit(x[part], y[part], classes=[0, 1, 2])
    assert classifier.n_iter_ == 24
    assert classifier.score(x_test, y_test) >= 0.9
    assert classifier.audit_ is None
    with pytest.raises(DataError, match="not among the classes"):
        classifier.partial_fit(x[:3], [0, 1, 7])


def test_networks_by_module_and_by_function(iris):
    x, x_test, y, y_test = iris
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    before = [value.clone() for value in module.parameters()]
    classifier = quick(network=module, epochs=60, learning_rate=0.01).fit(x, y)
    assert classifier.score(x_test, y_test) >= 0.9
    assert all(torch.equal(*pair) for pair in zip(before, module.parameters(), strict=True))
    held = np.column_stack(
        [x, np.ones(len(x))]
    )  # a module reads the columns it was made for, constant or not
    assert quick(network=nn.Linear(5, 3)).fit(held, y).n_features_in_ == 5
    made = quick(network=lambda classes, shape: nn.Linear(*shape, classes)).fit(x, y)
    assert isinstance(made.network_, nn.Linear)
    wide = quick(network="mlp", network_options={"hidden": (8,), "dropout": 0.0}).fit(x, y)
    assert [tuple(value.shape) for value in wide.network_.parameters()] == [(8, 4), (8,), (3, 8), (3,)]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"network": nn.Linear(4, 7)}, "one logit a class"),
        ({"network": nn.Linear(9, 3)}, "cannot read torch.float32 samples"),
        ({"network": nn.Linear(4, 3), "network_options": {"hidden": (8,)}}, "network_options"),
        ({"audit": "maybe"}, "audit is 'maybe'"),
        ({"refine": None}, "refine is None"),
        ({"method": None}, "method is None: use a name"),
    ],
)
def test_wrong_settings_say_what_is_wrong(parameters, words, iris):
    x, x_test, y, y_test = iris
    with pytest.raises(SettingsError, match=words):
        quick(**parameters).fit(x, y, validation=(x_test, y_test))


def test_optimizers(iris):
    x, x_test, y, y_test = iris
    for optimizer in ("sgd", OptimizerSettings("adam", 0.01), lambda p: torch.optim.Adam(p, lr=0.01)):
        assert quick(optimizer=optimizer, epochs=20).fit(x, y).score(x_test, y_test) > 0.8


def test_one_class_is_refused(iris):
    x, *_ = iris
    with pytest.raises(DataError, match="one class"):
        quick().fit(x, np.zeros(len(x)))
    with pytest.raises(DataError, match="one class"):
        quick().fit(x, np.arange(len(x)) % 2, sample_weight=np.arange(len(x)) % 2)


def test_among_the_tools_of_scikit_learn():
    x, y = load_wine(return_X_y=True, as_frame=True)
    names = y.map({0: "barolo", 1: "grignolino", 2: "barbera"})
    pipeline = make_pipeline(StandardScaler(), quick()).set_output(transform="pandas")
    assert cross_val_score(pipeline, x, names, cv=3).mean() > 0.9
    search = GridSearchCV(quick(), {"method": ["gl", "standard"], "epochs": [1, 8]}, cv=2).fit(x, names)
    assert search.best_params_["epochs"] == 8
    assert list(search.best_estimator_.feature_names_in_) == list(x.columns)
    calibrated = CalibratedClassifierCV(quick(), cv=2).fit(x, names)
    np.testing.assert_allclose(calibrated.predict_proba(x).sum(axis=1), 1.0)
    copy = clone(search.best_estimator_)
    assert copy.get_params()["method"] == search.best_params_["method"]
    assert not hasattr(copy, "network_")


def test_partial_fit_learns_from_a_column_that_was_constant_at_first():
    random = np.random.default_rng(0)
    x = pd.DataFrame({"a": random.normal(50, 10, 400), "b": "red"})
    x.loc[100:250, "b"] = "blue"
    y = np.where(x["b"] == "blue", 2, (x["a"] > 50).astype(int))
    first = x.iloc[:40].assign(a=50.0)
    model = GrayClassifier(random_state=0, learning_rate=0.005)
    model.partial_fit(first, y[:40], classes=[0, 1, 2])
    for _ in range(20):
        model.partial_fit(x, y)
    assert model.score(x, y) > 0.9


def test_partial_fit_begins_with_a_single_row():
    x, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2
    x[:, 0] += 4 * y
    model = GrayClassifier(random_state=0, learning_rate=0.005).partial_fit(x[:1], y[:1], classes=[0, 1])
    for _ in range(10):
        model.partial_fit(x, y)
    assert model.score(x, y) > 0.8  # chance is one half
