"""At test time: what belongs to no class scores higher and can be answered by "none of these"."""

import numpy as np
import pytest

from graylearn.errors import SettingsError
from graylearn.estimator import NONE_OF_THESE, GrayClassifier
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


def test_everything_is_answered_at_one_except_what_scores_above_all(fitted, digits):
    *_, x_test, _, _ = digits
    assert all(answer is not None for answer in fitted.predict(x_test[:250], reject_at=1.0))


@pytest.mark.parametrize("share", [0, -0.1, 1.5, "half"])
def test_shares_out_of_range_are_refused(fitted, digits, share):
    *_, x_test, _, _ = digits
    with pytest.raises(SettingsError, match="reject_at"):
        fitted.predict(x_test, reject_at=share)
