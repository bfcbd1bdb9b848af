"""The audit that comes with a fit, and the refined fit that reads it."""

import numpy as np
import pytest

from graylearn.audit import Audit
from graylearn.estimator import GrayClassifier
from graylearn.estimator.pipeline import soft_targets

SHORT = {"random_state": 0, "device": "cpu", "epochs": 10}
"""Half of what a fit takes by itself here; with fewer the views know no more than the network."""


@pytest.fixture(scope="module")
def fitted(dirty):
    return GrayClassifier(**SHORT).fit(dirty.x, dirty.y)


@pytest.fixture(scope="module")
def refined(dirty):
    return GrayClassifier(refine=True, **SHORT).fit(dirty.x, dirty.y)


def test_the_audit_finds_what_does_not_belong(fitted, dirty):
    wrong = dirty.is_ood | dirty.is_flipped
    found = fitted.audit_
    assert found.mode == "held-out"
    assert wrong[found.suspected].mean() > 0.85  # precision
    assert found.suspected[wrong].mean() > 0.85  # recall
    table = found.table
    np.testing.assert_array_equal(table["label"], fitted.classes_[dirty.y])
    relabelled = (table["kind"] == "mislabelled") & dirty.is_flipped
    assert (table["suggested"][relabelled] == dirty.true_y[relabelled]).mean() > 0.9


def test_a_refined_fit_is_better_and_keeps_the_verdicts(fitted, refined, digits):
    *_, x_test, y_test, _ = digits
    assert refined.refined_
    assert not fitted.refined_
    np.testing.assert_array_equal(refined.audit_.suspected, fitted.audit_.suspected)
    np.testing.assert_array_equal(refined.history_.label_confidence, fitted.history_.label_confidence)
    right = np.arange(len(y_test)), y_test
    gained = np.log(refined.predict_proba(x_test)[right]) - np.log(fitted.predict_proba(x_test)[right])
    assert gained.mean() > 0.05
    assert refined.score(x_test, y_test) > fitted.score(x_test, y_test) - 0.01


@pytest.mark.parametrize("audit", ["held-out", "history"])
def test_the_order_of_the_samples_does_not_matter(dirty, audit):
    order = np.random.default_rng(0).permutation(len(dirty))
    weight = np.arange(len(dirty)) % 7 > 0  # some are judged and not learned from
    settings = {"audit": audit, "refine": True, "epochs": 5, "members": 2, "random_state": 0, "device": "cpu"}
    one = GrayClassifier(**settings).fit(dirty.x, dirty.y, sample_weight=weight)
    other = GrayClassifier(**settings).fit(dirty.x[order], dirty.y[order], sample_weight=weight[order])
    assert one.refined_
    np.testing.assert_array_equal(other.audit_.ids, np.arange(len(dirty)))
    np.testing.assert_array_equal(other.audit_.score, one.audit_.score[order])
    np.testing.assert_array_equal(other.audit_.suggested, one.audit_.suggested[order])
    np.testing.assert_array_equal(other.predict_proba(dirty.x), one.predict_proba(dirty.x))
    np.testing.assert_array_equal(other.ood_score(dirty.x), one.ood_score(dirty.x))


def test_on_clean_data_the_labels_stay(digits):
    x, y, _, x_test, y_test, _ = digits
    plain = GrayClassifier(**SHORT).fit(x, y)
    refined = GrayClassifier(refine=True, **SHORT).fit(x, y)
    assert not refined.refined_
    assert refined.audit_.suspected.mean() < 0.01
    assert refined.score(x_test, y_test) >= plain.score(x_test, y_test) - 0.01
    alone = GrayClassifier(refine=True, members=1, **SHORT).fit(x, y)
    np.testing.assert_array_equal(plain.predict_proba(x_test), alone.predict_proba(x_test))


def test_what_is_learned_again_is_what_the_audit_believes():
    beliefs = np.array([[1.0, 0.0], [0.2, 0.8], [0.0, 0.0], [0.1, 0.9], [0.3, 0.3]])
    label, zeros = np.array([0, 0, 1, 1, 0]), np.zeros(5)
    found = Audit(
        ids=np.arange(5), label=label, classes=(0, 1), confidence=zeros, score=zeros, suspected=zeros > 0,
        level=np.zeros(5, dtype=int), kind=np.zeros(5, dtype=int), suggested=label, mode="held-out",
        foreign=1 - beliefs.sum(axis=1), beliefs=beliefs, probabilities=beliefs,
        because=np.full(5, "", dtype=object),
    )  # fmt: skip
    target, weight = soft_targets(found)
    np.testing.assert_allclose(weight, [1, 1, 0, 1, 0.6])
    np.testing.assert_allclose(target[[0, 1, 3, 4]], [[1, 0], [0.2, 0.8], [0.1, 0.9], [0.5, 0.5]])


def test_refining_respects_sample_weights(dirty):
    weight = np.ones(len(dirty))
    weight[dirty.is_ood] = 0.0
    classifier = GrayClassifier(refine=True, members=2, **SHORT)
    classifier.fit(dirty.x, dirty.y, sample_weight=weight)
    assert len(classifier.audit_) == len(dirty)  # what was left out of training is judged too
    assert classifier.refined_


def test_a_perceptron_for_images_is_fitted_again_alone():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 200)
    images = rng.integers(0, 60, (200, 8, 8, 3)).astype(np.uint8)
    images[np.arange(200), y] += 150
    given = np.concatenate([rng.permutation(y[:40]), y[40:]])
    found = GrayClassifier(network="mlp", refine=True, **SHORT).fit(images, given)
    assert found.refined_
    assert found.members_ == 1
    assert found.score(images[40:], y[40:]) > 0.9
