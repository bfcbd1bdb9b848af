"""The Gray objective of boosted trees: its derivatives, and the trees that learn by it."""

import numpy as np
import pytest
import torch
from clouds import clouds
from scipy.special import log_softmax, softmax

import graylearn as gl
from graylearn.errors import DataError, SettingsError
from graylearn.integrations.lightgbm import GrayLGBMClassifier
from graylearn.integrations.trees import gray_derivatives, gray_objective, train_objective

STEP = 1e-4


@pytest.fixture(scope="module")
def scores():
    """Scores of 2 to 7 classes, from equal ones to sure ones, and labels."""
    random = np.random.default_rng(0)
    found = [(np.zeros((3, k)), np.arange(3) % k) for k in (2, 3, 7)]
    for spread in (0.5, 4.0):
        found += [(spread * random.normal(size=(20, k)), random.integers(0, k, 20)) for k in (2, 3, 7)]
    return found


def loss(z, y, certain):
    """The Gray loss (N,) as the paper writes it, at a fixed confidence."""
    q = softmax(z, axis=1)
    other = np.ones_like(q)
    other[range(len(q)), y] = 0
    rejected = -(other * np.log1p(-np.minimum(q, 1 - 1e-15))).sum(axis=1)
    return -certain * log_softmax(z, axis=1)[range(len(q)), y] + (1 - certain) * rejected


def moved(z, j, by):
    other = z.copy()
    other[:, j] += by
    return other


def ahead(z):
    """(N, K) how far each class is ahead of all others together."""
    q = softmax(z, axis=1)
    return np.log(q) - np.log1p(-q)


def test_the_gradient_is_that_of_the_loss_at_a_fixed_confidence(scores):
    for z, y in scores:
        certain = softmax(z, axis=1).max(axis=1)
        gradient, _ = gray_derivatives(z, y)
        for j in range(z.shape[1]):
            up, down = loss(moved(z, j, STEP), y, certain), loss(moved(z, j, -STEP), y, certain)
            np.testing.assert_allclose(gradient[:, j], (up - down) / (2 * STEP), atol=1e-6)


def test_the_curvature_is_exact_for_the_label_and_gauss_newton_for_the_rest(scores):
    """Second differences of the cross entropy; Q (1 - Q) times squared first differences of each u_k."""
    for z, y in scores:
        q = softmax(z, axis=1)
        certain, rows = q.max(axis=1), range(len(z))
        _, curvature = gray_derivatives(z, y)
        assert (curvature > 0).all()
        for j in range(z.shape[1]):
            parts = [-log_softmax(moved(z, j, by), axis=1)[rows, y] for by in (STEP, 0.0, -STEP)]
            label = (parts[0] - 2 * parts[1] + parts[2]) / STEP**2
            slope = (ahead(moved(z, j, STEP)) - ahead(moved(z, j, -STEP))) / (2 * STEP)
            squares = q * (1 - q) * slope**2
            squares[rows, y] = 0
            expected = certain * label + (1 - certain) * squares.sum(axis=1)
            np.testing.assert_allclose(curvature[:, j], expected, atol=1e-6)


def test_the_gradient_is_that_of_the_torch_loss_also_where_scores_are_huge():
    random = np.random.default_rng(1)
    z, y = 60 * random.normal(size=(50, 5)), random.integers(0, 5, 50)
    tensor = torch.tensor(z, requires_grad=True)
    gl.gray_loss(tensor, torch.from_numpy(y), reduction="sum").backward()
    gradient, curvature = gray_derivatives(z, y, np.full(50, 2.0))
    np.testing.assert_allclose(gradient, 2 * tensor.grad.numpy(), atol=1e-9)
    assert np.isfinite(curvature).all()


@pytest.fixture(scope="module")
def table():
    x, given, wrong = clouds(300)
    return x, given, wrong


def test_trees_learn_by_it_in_every_api(table):
    import lightgbm
    import xgboost

    x, given, wrong = table
    rounds, weight = 5, np.linspace(0.5, 1.5, len(x))
    options = {"verbosity": -1, "num_threads": 1, "min_child_samples": 5}
    data = lightgbm.Dataset(x, given, weight=weight)
    booster = lightgbm.train({"objective": train_objective, "num_class": 5, **options}, data, rounds)
    ours = GrayLGBMClassifier(n_estimators=rounds, verbosity=-1, n_jobs=1, min_child_samples=5)
    ours.fit(x, given, sample_weight=weight)
    said = ours.predict_proba(x)
    np.testing.assert_allclose(said, softmax(booster.predict(x), axis=1), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(x), said.argmax(axis=1))
    data = xgboost.DMatrix(x, given, weight=weight)
    own = {"objective": "multi:softprob", "num_class": 5, "nthread": 1}
    booster = xgboost.train(own, data, rounds, obj=train_objective)
    theirs = xgboost.XGBClassifier(n_estimators=rounds, objective=gray_objective, n_jobs=1)
    theirs.fit(x, given, sample_weight=weight)
    np.testing.assert_allclose(theirs.predict_proba(x), booster.predict(data), atol=1e-6)
    for model in (ours, theirs):
        np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1, atol=1e-5)
        assert (model.predict(x) == given)[~wrong].mean() > 0.9


def test_with_two_classes_it_is_cross_entropy(table):
    import xgboost

    x, given, _ = table
    y = given % 2
    own, gray = (
        xgboost.XGBClassifier(n_estimators=4, n_jobs=1, base_score=0.5, **options).fit(x, y).predict_proba(x)
        for options in ({}, {"objective": gray_objective})
    )
    np.testing.assert_allclose(gray, own, atol=1e-5)
    named = GrayLGBMClassifier(n_estimators=4, verbosity=-1, n_jobs=1).fit(x, np.array(["no", "yes"])[y])
    assert set(named.predict(x)) == {"no", "yes"}


@pytest.mark.filterwarnings("ignore:Cannot compute class probabilities")
def test_raw_scores_for_probabilities_are_refused(table):
    import lightgbm

    x, given, _ = table
    model = lightgbm.LGBMClassifier(objective=gray_objective, n_estimators=2, verbosity=-1, n_jobs=1)
    with pytest.raises(DataError, match="no probabilities"):
        gl.audit(x, given, model=model)
    with pytest.raises(SettingsError, match="no predict_proba"):
        gl.audit(x, given, model=object())
