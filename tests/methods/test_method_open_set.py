"""Methods that teach a network what belongs to no class, against their formulas written out in numpy."""

import numpy as np
import pytest
import torch
from hand_made import make_step, make_task, softmax
from scipy.special import digamma, gammaln

from graylearn.errors import SettingsError
from graylearn.methods import Output, make_method
from graylearn.methods.blends import outside_inputs

NUMBERS = np.random.default_rng(0)
LOGITS, OUTSIDE = NUMBERS.normal(size=(2, 6, 4)) * 2
TARGET = np.array([0, 1, 2, 3, 3, 0])
ENTROPY = -np.log(softmax(LOGITS))[np.arange(6), TARGET]


def loss_of(method, forward_logits=OUTSIDE, inputs=None):
    """Losses of a batch whose further pass gives these logits."""
    method.start(make_task(TARGET, 4))
    inputs = torch.as_tensor(NUMBERS.normal(size=(6, 3)) if inputs is None else inputs)
    forward = lambda x: Output(torch.as_tensor(forward_logits) + 0 * x.sum(), None)  # noqa: E731
    return method.loss(make_step(LOGITS, TARGET, inputs=inputs, forward=forward)).detach().numpy()


def divergence(logits, target):
    """KL(Dir(exp z) | Dir(target)), term by term."""
    found = []
    for a, b in zip(np.exp(logits), target, strict=True):
        value = gammaln(a.sum()) - gammaln(a).sum() - gammaln(b.sum()) + gammaln(b).sum()
        found.append(value + ((a - b) * (digamma(a) - digamma(a.sum()))).sum())
    return np.array(found)


def test_outlier_exposure():
    uniform = -np.log(softmax(OUTSIDE)).mean(axis=1)
    np.testing.assert_allclose(loss_of(make_method("oe", weight=0.3)), ENTROPY + 0.3 * uniform)


def test_isomax():
    scaled = -np.log(softmax(7.0 * LOGITS))[np.arange(6), TARGET]
    np.testing.assert_allclose(loss_of(make_method("isomax", scale=7.0)), scaled)


def test_prior_network():
    target = 1 + 50.0 * np.eye(4)[TARGET]
    expected = divergence(LOGITS, target) + 0.2 * divergence(OUTSIDE, np.ones((6, 4)))
    method = make_method("prior-network", concentration=50.0, weight=0.2)
    np.testing.assert_allclose(loss_of(method), expected / 50)
    alone = make_method("prior-network", concentration=50.0, weight=0.0)
    np.testing.assert_allclose(loss_of(alone), divergence(LOGITS, target) / 50)


def test_confident_classifier():
    unsure = -np.log(softmax(OUTSIDE)).mean(axis=1) - np.log(4)
    np.testing.assert_allclose(loss_of(make_method("confident", beta=0.4)), ENTROPY + 0.4 * unsure, rtol=1e-6)


def test_training_the_generator_leaves_the_network_alone():
    """Its gradient is taken apart; what the network gets is that of the loss."""
    net = torch.nn.Linear(3, 4)
    method = make_method("confident")
    method.start(make_task(TARGET, 4))
    inputs = torch.as_tensor(NUMBERS.normal(size=(6, 3)), dtype=torch.float32)
    step = make_step(net(inputs), TARGET, inputs=inputs, forward=lambda x: Output(net(x), None))
    before = method.loss(step)
    assert net.weight.grad is None
    before.mean().backward()
    assert net.weight.grad.isfinite().all()


def test_given_outliers_are_drawn():
    known = 100 + np.arange(12.0).reshape(4, 3)
    step = make_step(LOGITS, TARGET, inputs=np.zeros((6, 3)))
    found = outside_inputs(known, step, torch.Generator().manual_seed(0), "oe")
    assert found.shape == (6, 3)
    assert {tuple(row) for row in found.tolist()} <= {tuple(row) for row in known.tolist()}
    for wrong in (np.zeros((4, 2)), np.zeros((0, 3))):
        with pytest.raises(SettingsError, match=r"oe: outliers have shape .* \(M, 3\)"):
            loss_of(make_method("oe", outliers=wrong))
