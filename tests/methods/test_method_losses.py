"""Methods whose loss follows from logits and label alone, against numpy in float64."""

import numpy as np
import pytest
import torch
from hand_made import make_step, softmax

from graylearn.methods import make_method

NUMBERS = np.random.default_rng(0)


def reference(name, options, logits, target):
    """The loss of each sample from the definition, nothing clever."""
    Q = softmax(logits)
    N, K = Q.shape
    rows = np.arange(N)
    q = Q[rows, target]
    label = np.eye(K)[target]
    claimed = -np.log(q)
    excluded = np.array([-sum(np.log(1 - Q[i, k]) for k in range(K) if k != target[i]) for i in rows])
    if name == "standard":
        return claimed
    if name == "mae":
        return np.abs(label - Q).sum(1)
    if name in ("bt", "bt-hard"):
        beta = options.get("beta", 0.95 if name == "bt" else 0.8)
        other = Q if name == "bt" else np.eye(K)[Q.argmax(1)]
        return -((beta * label + (1 - beta) * other) * np.log(Q)).sum(1)
    if name == "il-lite":
        return Q.max(1) * claimed
    if name == "sl":
        alpha, beta = (0.1, 1.0) if K == 10 else (6.0, 0.1)
        log_label = np.where(label == 1, 0.0, options.get("log_zero", -4.0))
        return options.get("alpha", alpha) * claimed + options.get("beta", beta) * -(Q * log_label).sum(1)
    if name == "nl":
        return excluded
    if name in ("gl", "gl-label", "gl-relative"):
        own = {"gl": "max", "gl-label": "label", "gl-relative": "relative"}[name]
        top = Q.max(1)
        middle = np.sort(top)[(len(top) - 1) // 2]  # of an even number the lower one
        confidence = {"max": top, "label": q, "relative": np.minimum(top / middle, 1)}[
            options.get("confidence", own)
        ]
        if eps := options.get("eps"):
            excluded = -(np.log(1 - Q + eps) * (1 - label)).sum(1)
        if options.get("mean"):
            excluded = excluded / (K - 1)
        w = options.get("w")
        claims, excludes = (1, 1) if w is None else (1 - w, w)
        return claims * confidence * claimed + excludes * (1 - confidence) * excluded
    if name == "standard+nl":
        return (claimed + excluded) / 2
    if name == "gce":
        power = options.get("q", 0.7)
        return (1 - q**power) / power
    raise AssertionError(name)


CASES = [
    ("standard", {}),
    ("mae", {}),
    ("bt", {}),
    ("bt", {"beta": 0.3}),
    ("bt-hard", {}),
    ("bt-hard", {"beta": 0.4}),
    ("il-lite", {}),
    ("sl", {}),
    ("sl", {"alpha": 2.0, "beta": 0.5, "log_zero": float(np.log(1e-4))}),
    ("nl", {}),
    ("gl", {}),
    ("gl", {"confidence": "label"}),
    ("gl", {"w": 0.5, "eps": 1e-5}),
    ("gl", {"w": 0.9}),
    ("gl", {"mean": True}),
    ("gl", {"detach": False}),
    ("gl-label", {"eps": 0.01, "mean": True}),
    ("gl-relative", {"w": 0.1}),
    ("gl-label", {}),
    ("gl-relative", {}),
    ("standard+nl", {}),
    ("gce", {}),
    ("gce", {"q": 0.2}),
]


@pytest.mark.parametrize("K", [10, 100])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_loss_equals_its_definition(name, options, K):
    logits = NUMBERS.normal(size=(40, K)) * 3
    target = NUMBERS.integers(0, K, 40)
    loss = make_method(name, **options).loss(make_step(logits, target))
    np.testing.assert_allclose(loss.numpy(), reference(name, options, logits, target), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("options", [{"detach": False}, {"detach": False, "mean": True}])
def test_gl_through_its_confidence_has_the_slope_of_its_value(options):
    logits, target = NUMBERS.normal(size=(6, 5)), NUMBERS.integers(0, 5, 6)
    method = make_method("gl", **options)
    assert torch.autograd.gradcheck(
        lambda leaf: method.loss(make_step(leaf, target)), torch.tensor(logits, requires_grad=True)
    )


@pytest.mark.parametrize("name", ["gl", "gl-label", "gl-relative", "il-lite"])
def test_confidence_is_constant_in_the_gradient(name):
    logits = NUMBERS.normal(size=(12, 5)) * 2
    target = NUMBERS.integers(0, 5, 12)
    leaf = torch.tensor(logits, requires_grad=True)
    make_method(name).loss(make_step(leaf, target)).sum().backward()
    Q, label = softmax(logits), np.eye(5)[target]
    confidence = ((Q * label).sum(1) if name == "gl-label" else Q.max(1))[:, None]
    if name == "gl-relative":
        confidence = np.minimum(confidence / np.sort(confidence, axis=0)[5], 1)  # the lower of two middles
    odds = np.where(label == 1, 0.0, Q / (1 - Q))
    against = (1 - confidence) * (odds - Q * odds.sum(1, keepdims=True))
    expected = confidence * (Q - label) + (0 if name == "il-lite" else against)
    np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-6, atol=1e-9)


def test_relative_confidence_begins_as_cross_entropy_however_many_classes():
    target = NUMBERS.integers(0, 100, 30)
    slopes = {}
    for name in ("standard", "gl", "gl-relative"):
        leaf = torch.zeros(30, 100, dtype=torch.float64, requires_grad=True)
        make_method(name).loss(make_step(leaf, target)).sum().backward()
        slopes[name] = leaf.grad
    torch.testing.assert_close(slopes["gl-relative"], slopes["standard"])
    torch.testing.assert_close(slopes["gl"], 2 / 100 * slopes["standard"])
