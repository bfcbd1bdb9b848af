"""Trees, and other classifiers of scikit-learn's kind, in the place of the network of a GrayClassifier."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import graylearn as gl
from graylearn.errors import CheckpointError, SettingsError
from graylearn.runs import RunSettings


def table(n=300, k=4, seed=0):
    random = np.random.default_rng(seed)
    truth = np.arange(n) % k
    x = 2.5 * random.normal(size=(k, 6))[truth] + random.normal(size=(n, 6))
    wrong = random.random(n) < 0.2
    return x, np.where(wrong, (truth + random.integers(1, k, n)) % k, truth), truth, wrong


@pytest.fixture(scope="module")
def dirty():
    x, given, truth, wrong = table()
    names = np.array(["ant", "bee", "cow", "dog"])
    return x, names[given], names[truth], wrong


def test_trees_are_fitted_again_on_what_the_audit_believes(dirty):
    x, given, truth, wrong = dirty
    trees = DecisionTreeClassifier(min_samples_leaf=3)
    plain = clone(trees).set_params(random_state=0).fit(x, given)
    found = gl.GrayClassifier(network=trees, refine=True, random_state=0).fit(x, given)
    assert found.refined_
    assert found.audit_.suspected[wrong].mean() > 0.7
    assert wrong[found.audit_.suspected].mean() > 0.8
    assert (found.predict(x) == truth).mean() > (plain.predict(x) == truth).mean() + 0.05
    assert not hasattr(trees, "tree_")  # a copy was fitted
    np.testing.assert_allclose(found.predict_proba(x).sum(axis=1), 1, atol=1e-5)
    assert found.ood_score(x).shape == (len(x),)
    assert found.history_.label_confidence.shape == (1, len(x))
    order = np.random.default_rng(1).permutation(len(x))
    shuffled = gl.GrayClassifier(network=trees, refine=True, random_state=0).fit(x[order], given[order])
    np.testing.assert_array_equal(shuffled.audit_.score, found.audit_.score[order])
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(x), found.predict(x))


def test_new_samples_that_belong_are_rejected_as_rarely_as_asked():
    x, given, truth, _ = table(800, seed=3)
    new, new_y = x[400:], truth[400:]
    trees = DecisionTreeClassifier(min_samples_leaf=10)
    found = gl.GrayClassifier(network=trees, refine=True, random_state=0).fit(x[:400], given[:400])
    rejected = np.mean([answer is None for answer in found.predict(new, reject_at=0.9)])
    assert rejected < 0.2
    assert (found.predict(new) == new_y).mean() > 0.85


def test_without_an_audit_it_is_the_model_itself(dirty):
    x, given, _, _ = dirty
    weight = np.linspace(0.1, 1, len(x))
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)
    ours = gl.GrayClassifier(network=model, audit=None, random_state=0).fit(x, given, sample_weight=weight)
    theirs = clone(model).set_params(random_state=0).fit(x, given, sample_weight=weight)
    # trees see columns that were scaled, in single precision
    assert (ours.predict(x) == theirs.predict(x)).mean() > 0.98
    assert ours.audit_ is None
    named = gl.GrayClassifier(network="trees", audit=None, random_state=0).fit(x[:60], given[:60])
    assert isinstance(named.network_.model, HistGradientBoostingClassifier)


def test_a_model_that_takes_no_weights_is_shown_what_is_believed(dirty):
    x, given, truth, _ = dirty
    found = gl.GrayClassifier(network=KNeighborsClassifier(1), refine=True, random_state=0).fit(x, given)
    assert found.refined_
    assert (found.predict(x) == truth).mean() > 0.9  # by heart, it would be .8


def test_what_a_model_cannot_do_is_refused(dirty, tmp_path):
    x, given, _, _ = dirty
    images = np.zeros((8, 4, 4, 1), dtype=np.uint8)
    with pytest.raises(SettingsError, match="X holds images"):
        gl.GrayClassifier(network="trees").fit(images, [0, 1] * 4)
    for network in ("trees", LogisticRegression()):
        with pytest.raises(SettingsError, match="which learns all samples at once: call fit"):
            gl.GrayClassifier(network=network).partial_fit(x, given, classes=np.unique(given))
    fitted = gl.GrayClassifier(network=LogisticRegression(), audit=None).fit(x, given)
    with pytest.raises(CheckpointError, match=r"joblib\.dump"):
        fitted.save(tmp_path / "model")
    with pytest.raises(SettingsError, match="a run folder cannot keep"):
        RunSettings(data="x.csv", network="trees")
