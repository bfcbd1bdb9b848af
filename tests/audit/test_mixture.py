"""The noise mixture on labels drawn from the very model it fits."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from graylearn.audit.beliefs import AskedAgain
from graylearn.audit.detectors.random_labels import by_company
from graylearn.audit.mixture import (
    GATE_FULL,
    GATE_FULL_FEW,
    OF_GAIN_FEW,
    OF_RIVAL,
    NoiseFit,
    _Objective,
    fit_noise,
    uneven_sharpness,
)

mixture = importlib.import_module("graylearn.audit.mixture")


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def planted(seed, n=4000, k=6, wrong=0.1, a=-2.5, b=(2.0, 0.0), temperature=0.5):
    """Probabilities, labels, evidence and the truth, drawn from the model itself."""
    random = np.random.default_rng(seed)
    p = softmax(random.normal(size=(n, k)) * 1.5)
    u = random.normal(size=(n, len(b)))
    o = 1 / (1 + np.exp(-(a + u @ np.array(b))))
    pi = wrong + (1 - wrong) * o
    q = softmax(np.log(p) / temperature)
    true = (q.cumsum(axis=1) > random.random((n, 1))).argmax(axis=1)
    at_random = random.random(n) < pi
    label = np.where(at_random, random.integers(k, size=n), true)
    return p, label, u, pi, at_random


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_parameters_are_recovered(seed):
    p, label, u, pi, at_random = planted(seed)
    fit = fit_noise(p, label, u)
    assert fit.form == "full"
    assert fit.temperature == pytest.approx(0.5, rel=0.2)
    assert fit.slopes[0] == pytest.approx(2.0, abs=0.6)
    assert fit.slopes[1] < 0.6
    assert fit.wrong_rate == pytest.approx(0.1, abs=0.05)
    assert np.corrcoef(fit.prior, pi)[0, 1] > 0.97
    assert fit.posterior.mean() == pytest.approx(at_random.mean(), abs=0.05)


def test_noise_that_all_samples_have_belongs_to_no_class_of_none():
    # o rises a little with the evidence, and pays for it: all labels may then be put down to it, none to e
    p, label, u, _, at_random = planted(1, n=6000, wrong=0.0, a=-1.5, b=(0.3, 0.0))
    fit = fit_noise(p, label, u, gate_full=0.0)
    assert fit.form == "full"
    assert fit.wrong_rate > 0.1
    some = fit.ood_prior > 0  # of the others, all that may be random is e
    assert 1 - fit.prior[some] == pytest.approx((1 - fit.wrong_rate) * (1 - fit.ood_prior[some]))
    foreign = fit.ood_prior > 0.5 * fit.prior
    assert foreign[at_random].mean() < 0.2


def test_posterior_is_calibrated_where_the_model_holds():
    p, label, u, _, at_random = planted(3, n=8000)
    posterior = fit_noise(p, label, u).posterior
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        chosen = (posterior >= low) & (posterior <= high)
        assert at_random[chosen].mean() == pytest.approx(posterior[chosen].mean(), abs=0.08)


@pytest.mark.parametrize("k", [2, 3, 5, 20])
def test_labels_explained_by_the_probabilities_flag_nothing(k):
    flagged = 0
    for seed in range(4):
        p, label, u, _, _ = planted(10 + seed, n=1000, k=k, wrong=0.0, a=-40.0)
        flagged += int((fit_noise(p, label, u).posterior > 0.5).sum())
    assert flagged == 0


def test_equal_noise_everywhere_needs_no_evidence():
    p, label, u, _, at_random = planted(5, wrong=0.3, a=-40.0, b=(0.0, 0.0))
    fit = fit_noise(p, label, u)
    assert fit.form == "constant"
    assert np.ptp(fit.prior) == 0
    assert fit.prior[0] == pytest.approx(0.3, abs=0.05)
    assert at_random[fit.posterior > 0.5].mean() > 0.7


def overlapping(seed, n=600, k=8):
    """Labels drawn from the probabilities themselves, which are far too sure where u is large."""
    random = np.random.default_rng(seed)
    u = random.normal(size=(n, 1))
    true = softmax(random.normal(size=(n, k)) * 1.5)
    label = (true.cumsum(axis=1) > random.random((n, 1))).argmax(axis=1)
    return np.clip(softmax(np.log(true) * np.exp(0.45 * u)), 1e-6, 1.0), label, u


def gains(fit, uneven):
    log_likelihood = fit.log_likelihood
    simple = max(log_likelihood["none"], log_likelihood["constant"])
    return 2 * (log_likelihood["full"] - simple), 2 * (log_likelihood["full"] - uneven)


def test_overlap_that_a_weak_model_is_too_sure_of_is_not_taken_for_noise():
    p, label, u = overlapping(0)
    never = 1e9  # only the form that says where is asked for
    strong = fit_noise(p, label, u, gate_constant=never)
    weak = fit_noise(p, label, u, gate_constant=never, weak=True)
    paid, beyond = gains(strong, uneven_sharpness(np.log(p), label, u))
    assert paid > GATE_FULL > paid + OF_RIVAL * beyond
    assert strong.form == "full"
    assert weak.form == "none"
    assert not weak.posterior.any()


def test_overlap_of_two_classes_is_not_taken_for_noise_by_a_strong_model_either():
    p, label, u = overlapping(0, n=1500, k=2)
    fit = fit_noise(p, label, u, gate_constant=1e9)  # only the form that says where is asked for
    paid, beyond = gains(fit, fit.log_likelihood["uneven"])
    assert paid > GATE_FULL_FEW
    assert beyond < -OF_GAIN_FEW * paid
    assert fit.form == "none"


@pytest.mark.parametrize("seed", [0, 1])
def test_a_rare_class_that_little_tells_is_not_taken_for_noise(seed):
    random = np.random.default_rng(seed)
    n = 3000
    z = random.normal(size=n)
    label = (random.random(n) < 1 / (1 + np.exp(3.4 - 1.6 * z))).astype(np.int64)  # 7 %
    said = 1 / (1 + np.exp(3.0 - 0.7 * z))  # views that are too cautious about it
    p = np.stack([1 - said, said], axis=1)
    unsure = -(p * np.log(p)).sum(axis=1)
    odd = random.random(n) < 0.1
    away = 3.0 * odd + random.normal(size=n)
    u = np.stack([(each - each.mean()) / each.std() for each in (unsure, away)], axis=1)
    clean = fit_noise(p, label, u)
    gain = 2 * (clean.log_likelihood["full"] - clean.log_likelihood["none"])
    assert gain > 2 * GATE_FULL_FEW, "the case must be one that evenly drawn labels would explain"
    assert clean.form == "none"
    noisy = fit_noise(p, np.where(odd, random.integers(2, size=n), label), u)
    assert noisy.form == "full"
    assert noisy.posterior[odd].mean() > 0.5 > 3 * noisy.posterior[~odd].mean()


def test_noise_that_overlap_does_not_explain_is_found_by_a_weak_model_too():
    p, label, u, _, at_random = planted(1, n=200, wrong=0.0, a=-5.0, b=(4.0,), temperature=0.8)
    fit = fit_noise(p, label, u, weak=True)
    paid, beyond = gains(fit, fit.log_likelihood["uneven"])
    assert paid + OF_RIVAL * min(beyond, 0.0) > GATE_FULL
    assert fit.form == "full"
    assert at_random[fit.posterior > 0.5].mean() > 0.7


@pytest.mark.parametrize(
    ("gain", "ahead", "form"),
    [
        (13.5, 0.5, "full"),
        (14.5, 5.0, "none"),
        (20.0, 5.0, "full"),
        (31.0, 60.0, "none"),
        (33.0, 55.0, "full"),
    ],
)
def test_what_the_rival_explains_is_weighed_against_the_gain_of_a_weak_model(gain, ahead, form, monkeypatch):
    full = -1000.0 + gain / 2
    monkeypatch.setattr(mixture, "uneven_sharpness", lambda *_: full + ahead / 2)
    monkeypatch.setattr(mixture, "gain_by_frequency", lambda _: np.inf)
    found = {"none": -1000.0, "constant": -1000.0, "full": full}
    p, label, u = overlapping(0, n=50)
    objective = _Objective.of(p, label, u, np.full(50, 1 / 8))
    assert mixture._form(objective, found, 8, gate_constant=4.0, gate_full=GATE_FULL, weak=True) == form


def test_uneven_sharpness_is_as_likely_as_a_search_over_its_two_numbers_finds():
    p, label, u = overlapping(1, n=200)

    def log_likelihood(s, r):
        q = softmax(np.log(p) * np.exp(s + r * u))
        return np.log(q[np.arange(200), label] + 1e-300).sum()

    grid = np.linspace(-1.5, 1.5, 61)
    best = max(log_likelihood(s, r) for s in grid for r in grid)
    assert uneven_sharpness(np.log(p), label, u) == pytest.approx(best, abs=0.3)


def test_evidence_may_be_missing():
    p, label, _, _, _ = planted(6, wrong=0.3, a=-40.0)
    fit = fit_noise(p, label, np.zeros((len(label), 0)))
    assert fit.form == "constant"
    assert np.isfinite(fit.posterior).all()


def test_gradient_is_that_of_the_objective():
    p, label, u, _, _ = planted(7, n=200)
    objective = _Objective(np.log(p), label, u, np.full(200, 1 / 6))
    theta = np.array([1.3, -1.5, -2.0, 0.7, 0.2])
    numeric = approx_fprime(theta, lambda t: objective(t)[0], 1e-6)
    np.testing.assert_allclose(objective(theta)[1], numeric, rtol=1e-4, atol=1e-3)


def test_a_large_set_is_fitted_on_a_part_and_judged_whole(monkeypatch):
    p, label, u, _, at_random = planted(7, n=9000)
    all_of_it = fit_noise(p, label, u)
    monkeypatch.setitem(fit_noise.__globals__, "FIT_VALUES", 0)
    part = fit_noise(p, label, u)
    assert not np.array_equal(part.posterior, all_of_it.posterior)
    assert part.form == all_of_it.form == "full"
    assert part.posterior.shape == (9000,)
    assert np.abs(part.posterior - all_of_it.posterior).mean() < 0.02
    assert part.posterior.mean() == pytest.approx(at_random.mean(), abs=0.05)


@pytest.mark.parametrize(("k", "believed"), [(3, False), (4, True)])
def test_with_two_or_three_classes_evidence_must_gain_more(k, believed):
    """Between gains of 13 and 25, twice the log-likelihood."""
    between = 0
    for seed in range(12):
        p, label, u, _, _ = planted(100 + seed, n=400, k=k, wrong=0.1, a=-2.5, b=(1.6,))
        fit = fit_noise(p, label, u)
        gained = fit.log_likelihood
        if 13 < 2 * (gained["full"] - max(gained["none"], gained["constant"])) < 25:
            between += 1
            assert (fit.form == "full") == believed
    assert between > 2


def test_suspects_among_their_like_belong_to_no_class_and_those_among_trusted_samples_do():
    random = np.random.default_rng(0)
    foreign = np.arange(400) >= 320
    flipped = ~foreign & (random.random(400) < 0.2)
    x = random.normal(size=(400, 5)).astype(np.float32)
    x[foreign] += 6.0
    posterior = np.where(foreign | flipped, 0.95, 0.02)
    prior = np.full(400, 0.3)
    even = 0.5 * prior  # how odd a sample is tells nothing here
    fit = NoiseFit("full", prior, even, posterior, 1.0, np.zeros(1), 0.2)
    share = by_company(fit, AskedAgain(x))
    assert (share[foreign] > 0.5).mean() > 0.95
    assert (share[flipped] < 0.5).mean() > 0.7
    odd = by_company(replace(fit, ood_prior=0.9 * prior), AskedAgain(x))
    assert odd[flipped].mean() > share[flipped].mean()
