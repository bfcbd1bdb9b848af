"""At test time: what belongs to no class scores higher and can be answered by "none of these"."""

import numpy as np
import pytest
import scipy.stats
import torch
from torch import nn

from graylearn.errors import SettingsError
from graylearn.estimator import NONE_OF_THESE, GrayClassifier
from graylearn.estimator.rejection import limit_at, quantiles
from graylearn.metrics import auroc


@pytest.fixture(scope="module")
def fitted(digits):
    x, y, _, x_test, y_test, _ = digits
    classifier = GrayClassifier(random_state=0, device="cpu", audit=None)
    return classifier.fit(x, y, validation=(x_test[:250], y_test[:250]))


def test_strangers_score_higher(fitted, digits):
    *_, x_test, _, ood = digits
    scores = fitted.ood_score(np.concatenate([x_test[250:], ood]))
    assert auroc(scores, np.r_[np.zeros(250), np.ones(len(ood))]) > 0.9


def test_the_share_is_met_on_new_samples_that_belong(fitted, digits):
    *_, x_test, _, ood = digits
    for share in (0.8, 0.95):
        answers = fitted.predict(x_test[250:], reject_at=share)
        answered = np.array([answer is not NONE_OF_THESE for answer in answers])
        # 250 samples: three standard errors of a share
        assert abs(answered.mean() - share) < 3 * np.sqrt(share * (1 - share) / 250) + 0.02
    refused = np.array([answer is None for answer in fitted.predict(ood, reject_at=0.9)])
    assert refused.mean() > 0.6


def test_answers_are_the_same_where_they_are_given(fitted, digits):
    *_, x_test, _, _ = digits
    plain, some = fitted.predict(x_test), fitted.predict(x_test, reject_at=0.9)
    assert plain.dtype == np.int64
    given = np.array([answer is not None for answer in some])
    assert given.any()
    assert not given.all()
    np.testing.assert_array_equal(plain[given], some[given].astype(int))
    assert all(answer is None for answer in some[~given])


class Points(nn.Module):
    """A network with no linear layer: logits are distances to points, with the sign turned."""

    def __init__(self):
        super().__init__()
        self.points = nn.Parameter(torch.randn(3, 4, generator=torch.Generator().manual_seed(0)))

    def forward(self, x):
        return -torch.cdist(x, self.points)


def test_networks_without_features_are_judged_by_entropy_alone(iris):
    x, x_test, y, _ = iris
    classifier = GrayClassifier(network=Points(), random_state=0, device="cpu", audit=None, epochs=5).fit(
        x, y
    )
    entropy = scipy.stats.entropy(classifier.predict_proba(x_test), axis=1)
    np.testing.assert_array_equal(np.argsort(classifier.ood_score(x_test)), np.argsort(entropy))


def test_a_value_far_beyond_the_training_samples_is_refused(iris):
    x, x_test, y, _ = iris
    classifier = GrayClassifier(random_state=0, device="cpu").fit(x, y)
    middle, spread = np.median(x, axis=0), np.ptp(x, axis=0)
    far = middle + spread * np.array([[10.0], [1e3], [1e6], [-10.0], [-1e6]])
    assert (classifier.predict_proba(far).max(axis=1) > 0.9).any()  # sure of them all the same
    assert set(classifier.predict(far, reject_at=0.99)) == {None}
    assert classifier.ood_score(far).min() > classifier.ood_score(x_test).max()


@pytest.fixture(scope="module")
def alone(digits):
    """Without a validation set; each class 36 times, of which a network knows new ones less than its own."""
    x, y, *_ = digits
    return GrayClassifier(random_state=0, device="cpu").fit(x, y)


def test_without_a_validation_set_held_out_samples_say_how_new_ones_score(alone, digits):
    x, _, _, x_test, _, ood = digits
    for share in (0.8, 0.95):
        new, known = (refused(alone, rows, share) for rows in (x_test, x))
        error = np.sqrt(share * (1 - share) * (1 / len(x_test) + 1 / len(x)))
        assert abs(new - (1 - share)) < 3 * error
        assert known < new  # limits of the training samples would have refused more of the new ones
    assert refused(alone, ood, 0.9) > 0.6


def refused(classifier, rows, share):
    return np.mean([answer is NONE_OF_THESE for answer in classifier.predict(rows, reject_at=share)])


def test_sets_hold_the_true_class_as_often_as_they_promise(alone, digits):
    x, _, _, x_test, y_test, _ = digits
    sizes = []
    for coverage in (0.9, 0.99, 1.0):
        sets = alone.predict_sets(x_test, coverage)
        covered = sets[np.arange(len(y_test)), np.searchsorted(alone.classes_, y_test)].mean()
        error = np.sqrt(coverage * (1 - coverage) * (1 / len(x_test) + 1 / len(x)))
        assert covered >= coverage - 3 * error
        assert sets[np.arange(len(sets)), alone.predict_proba(x_test).argmax(axis=1)].all()
        sizes.append(sets.sum(axis=1).mean())
    assert (
        1 <= sizes[0] < sizes[1] < sizes[2] == len(alone.classes_)
    )  # nobody can promise all, but all classes
    with pytest.raises(SettingsError, match="coverage is 0, expected a share"):
        alone.predict_sets(x_test, 0)


def test_few_samples_promise_no_high_share():
    """The rule of conformal prediction, by the textbook: the ceil((n + 1) q)-th of n scores, or infinity."""
    scores = np.random.default_rng(0).normal(size=57)
    found = quantiles(scores)
    for thousandth in range(1, 1001):
        rank = -(-(len(scores) + 1) * thousandth // 1000)
        expected = np.sort(scores)[rank - 1] if rank <= len(scores) else np.inf
        assert found[thousandth] == limit_at(thousandth / 1000, found, "q")
        assert found[thousandth] == pytest.approx(expected, abs=1e-5)
        assert found[thousandth] > expected or np.isinf(expected)  # whose last digits are anybody's
    twice = quantiles(scores, np.full(57, 2.0))
    np.testing.assert_array_equal(twice[500], quantiles(np.repeat(scores, 2))[500])
    doubtful = quantiles(np.r_[scores, 50.0], np.r_[np.ones(57), 0.0])
    np.testing.assert_array_equal(doubtful, found)  # a sample that does not belong counts nothing
