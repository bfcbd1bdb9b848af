"""srcc and lcvd, the methods that make inputs of their own, against numpy.

Inputs are rows of the identity matrix, so that a blend shows whom it is made of.
"""

import numpy as np
import pytest
import torch
from hand_made import make_step, make_task, softmax

from graylearn.errors import SettingsError
from graylearn.methods import Output, make_method

N, K = 6, 3
NUMBERS = np.random.default_rng(0)
TARGET = np.array([0, 2, 2, 0, 2, 0])  # class 1 is absent
LOGITS = NUMBERS.normal(size=(N, K))
WEIGHTS = NUMBERS.normal(size=(N, K)) * 2


class SeenForward:
    """A linear network that keeps what it was given."""

    def __init__(self):
        self.seen = []

    def __call__(self, inputs):
        self.seen.append(inputs.numpy())
        return Output(inputs @ torch.tensor(WEIGHTS, dtype=inputs.dtype), None)


def cross_entropy(logits, target):
    return -np.log(softmax(logits))[np.arange(len(target)), target]


def test_srcc_centroids_weights_and_mixed_pairs():
    method = make_method("srcc", momentum=0.8)
    method.start(make_task(TARGET, K))
    forward = SeenForward()
    centroids = {}
    for _ in range(3):
        features = NUMBERS.normal(size=(N, 4)) + 0.5
        step = make_step(LOGITS, TARGET, features=features, inputs=np.eye(N), forward=forward)
        loss = method.loss(step).numpy()
        for label in (0, 2):
            mean = features[label == TARGET].mean(0)
            centroids[label] = 0.8 * centroids[label] + 0.2 * mean if label in centroids else mean
        own = np.array([centroids[label] for label in TARGET])
        cosine = (features * own).sum(1) / np.linalg.norm(features, axis=1) / np.linalg.norm(own, axis=1)
        weight = np.maximum(cosine, 0)
        weight *= N / weight.sum()
        mixed = forward.seen[-1]
        np.testing.assert_allclose(mixed.sum(1), 1)
        alone = np.isclose(mixed.max(1), 1)  # mixed with itself
        share = np.diag(mixed)[~alone][0]
        other = np.where(alone, np.arange(N), (mixed - np.diag(np.diag(mixed))).argmax(1))
        assert sorted(other) == list(range(N))
        logits = mixed @ WEIGHTS
        expected = weight * cross_entropy(LOGITS, TARGET)
        expected += share * weight * cross_entropy(logits, TARGET)
        expected += (1 - share) * weight[other] * cross_entropy(logits, TARGET[other])
        np.testing.assert_allclose(loss, expected, rtol=1e-6)
    assert method.known.tolist() == [True, False, True]


def test_srcc_without_any_closeness_is_zero_not_nan():
    method = make_method("srcc", mixup=0.0, momentum=1.0)
    method.start(make_task([0, 0], 2))
    method.loss(make_step(np.zeros((2, 2)), [0, 0], features=np.array([[1.0, 0], [1.0, 0]])))
    leaf = torch.zeros(2, 2, requires_grad=True)
    loss = method.loss(make_step(leaf, [0, 0], features=np.array([[-1.0, 0], [-1.0, 0]])))
    loss.mean().backward()
    assert loss.tolist() == [0, 0]
    assert leaf.grad.abs().sum() == 0


def test_lcvd_rejects_the_classes_that_took_part():
    method = make_method("lcvd", blended=3, beta=0.7)
    method.start(make_task(TARGET, K))
    forward = SeenForward()
    for _ in range(4):
        loss = method.loss(make_step(LOGITS, TARGET, inputs=np.eye(N), forward=forward)).numpy()
        blend = forward.seen[-1]
        np.testing.assert_allclose(blend.sum(0), 1)  # each shuffle uses every input once
        np.testing.assert_allclose(blend.sum(1), 1)
        assert (np.diag(blend) >= 1 / 3 - 1e-9).all()
        Q = softmax(blend @ WEIGHTS)
        expected = cross_entropy(LOGITS, TARGET)
        for i in range(N):
            classes = sorted(set(TARGET[blend[i] > 0]))
            expected[i] += 0.7 * np.mean([-np.log(1 - Q[i, c]) for c in classes])
        np.testing.assert_allclose(loss, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["srcc", "lcvd"])
def test_inputs_that_cannot_be_blended_are_refused(name):
    method = make_method(name)
    method.start(make_task(TARGET, K))
    words = torch.ones(N, 5, dtype=torch.int64)
    with pytest.raises(SettingsError, match=f"{name} blends inputs.*torch.int64"):
        method.loss(make_step(LOGITS, TARGET, inputs=words, features=np.ones((N, 2)), forward=SeenForward()))
