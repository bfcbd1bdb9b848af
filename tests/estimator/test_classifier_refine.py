"""The audit that comes with a fit, and the refined fit that reads it."""

import numpy as np
import pytest
import torch

from graylearn.audit import Audit
from graylearn.estimator import GrayClassifier
from graylearn.estimator.refine import SoftTargets, know_more, soft_targets
from graylearn.methods import Output, Step

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


def test_history_mode_judges_by_the_run_itself(dirty):
    classifier = GrayClassifier(method="gl-label", audit="history", **SHORT)
    classifier.fit(dirty.x, dirty.y)
    assert classifier.audit_.mode == "history"
    wrong = dirty.is_ood | dirty.is_flipped
    assert wrong[classifier.audit_.suspected].mean() > 0.85
    assert classifier.audit_.suspected[wrong].mean() > 0.6


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


def an_audit(label, beliefs, foreign):
    label, beliefs, foreign = np.array(label), np.array(beliefs, dtype=float), np.array(foreign, dtype=float)
    n, zeros = len(label), np.zeros(len(label))
    return Audit(
        ids=np.arange(n), label=label, classes=tuple(range(beliefs.shape[1])), confidence=zeros, score=zeros,
        suspected=zeros > 0, level=np.zeros(n, dtype=int), kind=np.zeros(n, dtype=int), suggested=label,
        foreign=foreign, beliefs=beliefs, probabilities=beliefs, because=np.full(n, "", dtype=object),
        mode="held-out",
    )  # fmt: skip


def test_trusted_samples_keep_their_label_and_strangers_count_for_nothing():
    beliefs = [[1.0, 0.0], [0.2, 0.8], [0.0, 0.0], [0.1, 0.9], [0.3, 0.3]]
    target, weight = soft_targets(an_audit([0, 0, 1, 1, 0], beliefs, [0.0, 0.0, 1.0, 0.0, 0.4]))
    np.testing.assert_allclose(weight, [1, 1, 0, 1, 0.6])
    np.testing.assert_allclose(target[[0, 1, 3, 4]], [[1, 0], [0.2, 0.8], [0.1, 0.9], [0.5, 0.5]])


def test_no_class_is_dropped_away():
    label = [0] * 30 + [1] * 30
    # everything that bears label 1 is believed to be of class 0, the first the least
    doubt = np.linspace(0.97, 0.99, 30)
    beliefs = np.concatenate([np.tile([1.0, 0.0], (30, 1)), np.stack([doubt, 1 - doubt], axis=1)])
    target, weight = soft_targets(an_audit(label, beliefs, np.zeros(60)))
    assert (weight * target[:, 1]).sum() >= 3
    np.testing.assert_array_equal(np.flatnonzero(target[:, 1] == 1.0), [30, 31, 32])  # the least suspected


def test_soft_targets_are_read_by_sample():
    distributions = torch.tensor([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5], [0.0, 0.5, 0.5]])
    method = SoftTargets(distributions)
    logits = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    index = torch.tensor([2, 1])
    step = Step(
        torch.zeros(2, 1), torch.zeros(2, dtype=torch.long), index, Output(logits, None), 0, lambda x: x
    )
    # torch's own cross entropy with probabilities as targets is the reference
    expected = torch.nn.functional.cross_entropy(logits, distributions[index], reduction="none")
    torch.testing.assert_close(method.loss(step), expected)


def test_refining_respects_sample_weights(dirty):
    weight = np.ones(len(dirty))
    weight[dirty.is_ood] = 0.0
    classifier = GrayClassifier(refine=True, members=2, **SHORT)
    classifier.fit(dirty.x, dirty.y, sample_weight=weight)
    assert len(classifier.audit_) == len(dirty)  # what was left out of training is judged too
    assert classifier.refined_


def test_views_that_know_no_more_than_the_network_are_not_worth_a_fit():
    label = np.arange(200) % 4
    right = np.eye(4)[label]
    wrong = np.eye(4)[(label + 1) % 4]
    own = np.where(np.arange(200)[:, None] < 120, right, wrong)  # says 120 of 200 labels
    better = np.where(np.arange(200)[:, None] < 140, right, wrong)  # the same and 20 more: 4.7 errors
    hardly = np.where(np.arange(200)[:, None] < 122, right, wrong)  # 2 more: 1.4 errors
    assert know_more(better, own, label)
    assert not know_more(hardly, own, label)
    assert not know_more(own, own, label)
    assert not know_more(own, better, label)
