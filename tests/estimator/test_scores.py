"""Scores of test samples, against their formulas written out for one sample at a time."""

import math

import numpy as np
import pytest
from scipy.special import digamma

from graylearn.errors import SettingsError
from graylearn.estimator import GrayClassifier
from graylearn.estimator.rejection import SCORES

LOGITS = np.random.default_rng(0).normal(size=(30, 4)) * 3


def probabilities(z):
    return np.exp(z) / np.exp(z).sum()


def information(z):
    """Entropy of the mean less the mean entropy, of a Dirichlet with a = exp z."""
    a = np.exp(z)
    mean = a / a.sum()
    expected = -sum(m * (digamma(each + 1) - digamma(a.sum() + 1)) for m, each in zip(mean, a, strict=True))
    return -(mean * np.log(mean)).sum() - expected


BY_HAND = {
    "msp": lambda z: -max(probabilities(z)),
    "max-logit": lambda z: -max(z),
    "energy": lambda z: -math.log(sum(math.exp(each) for each in z)),
    "entropy": lambda z: -sum(p * math.log(p) for p in probabilities(z)),
    "mutual-information": information,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_scores_are_their_formulas(name):
    expected = [BY_HAND[name](z) for z in LOGITS]
    np.testing.assert_allclose(SCORES[name](LOGITS, None, {}), expected, rtol=1e-9)


@pytest.mark.parametrize("name", SCORES)
def test_large_logits_stay_finite(name):
    logits = np.array([[1e4, -1e4, 0.0], [700.0, 700.0, 700.0], [-1e4, -1e4, -1e4]])
    reference = {"entropy": np.array([0.1, 0.1])}
    assert np.isfinite(SCORES[name](logits, None, reference)).all()


def test_a_classifier_gives_them_by_name(digits):
    x, y, _, test_x, _, ood_x = digits
    fitted = GrayClassifier(epochs=5, audit=None, random_state=0, device="cpu").fit(x, y)
    np.testing.assert_array_equal(fitted.ood_score(test_x), fitted.ood_score(test_x, score="entropy+cosine"))
    largest = fitted.predict_proba(test_x).max(axis=1)
    np.testing.assert_allclose(fitted.ood_score(test_x, score="msp"), -largest)
    for name in SCORES:  # 8 and 9, which it never saw, score higher
        apart = fitted.ood_score(ood_x, score=name)[:, None] > fitted.ood_score(test_x, score=name)
        assert apart.mean() > 0.75, name
    with pytest.raises(SettingsError, match=r"score is 'mps'.*msp, max-logit"):
        fitted.ood_score(test_x, score="mps")
