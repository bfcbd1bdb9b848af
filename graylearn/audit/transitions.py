"""The transition model: labels that people get wrong go from one class to another, each pair at its own rate.

    p(y_i) = sum_z q_i(z) T(z, y_i)        q = softmax(beta log P),   T (K, K) by EM

q says what each sample is, T how often a sample of class z bears label y. beta is not fitted by likelihood:
the labels then pay for a flat q that explains the confusion itself (.05 to .15 of F1 lost). It is set so that
q errs as often as the model seems to err.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import softmax

from graylearn.array_types import Floats, Ints
from graylearn.audit.blocks import drawn

STEPS = 25
PSEUDO_COUNT = 10.0
"""Samples a class by which T is drawn to even noise of the same rate."""
SOFTENING = 1.5
"""What beta is divided and multiplied by for a cautious and a bold reading of the same probabilities."""
_ROWS = 4000


def sharpened(probabilities: Floats, beta: float) -> Floats:
    """(N, K) softmax(beta log P)."""
    return np.asarray(softmax(beta * np.log(np.clip(probabilities, 1e-6, 1.0)), axis=1))


def sharpness_for(probabilities: Floats, error: float) -> float:
    """beta at which 1 - max q is `error` in the mean, between .3 and 12."""
    part = probabilities
    if len(part) > _ROWS:
        part = part[np.random.default_rng(0).permutation(len(part))[:_ROWS]]
    low, high = 0.3, 12.0
    for _ in range(25):
        middle = float(np.sqrt(low * high))
        if float((1.0 - sharpened(part, middle).max(axis=1)).mean()) > error:
            low = middle
        else:
            high = middle
    return float(np.sqrt(low * high))


def even_rate(q: Floats, label: Ints) -> float:
    """e of T = (1 - e) I + e / K: how often labels are wrong if they go to any class alike."""
    num_classes = q.shape[1]
    own = q[np.arange(len(label)), label]
    e = 0.1
    for _ in range(60):
        e = float((e / num_classes / ((1.0 - e) * own + e / num_classes)).mean())
    return e


def transition(q: Floats, label: Ints, *, rate: float | None = None, steps: int = STEPS) -> Floats:
    """(K, K) T[z, y], the chance that a sample of class z bears label y, by EM from the confusion of q.

    In large sets from a part.
    """
    some = drawn(label, q.shape[1])
    if some is not None:
        q, label = q[some], label[some]
    n, num_classes = q.shape
    rate = even_rate(q, label) if rate is None else rate
    prior = PSEUDO_COUNT * ((1.0 - rate) * np.eye(num_classes) + rate / num_classes)
    given = csr_matrix((np.ones(n), (label, np.arange(n))), shape=(num_classes, n))  # N K^2 else
    count = prior.copy()
    np.add.at(count, (q.argmax(axis=1), label), 1.0)
    matrix = count / count.sum(axis=1, keepdims=True)
    for _ in range(steps):
        matrix = (given @ responsibility(q, matrix, label)).T + prior
        matrix /= matrix.sum(axis=1, keepdims=True)
    return np.asarray(matrix)


def responsibility(q: Floats, matrix: Floats, label: Ints) -> Floats:
    """(N, K) chance of each true class, given the sample and its label."""
    weight = q * matrix[:, label].T
    return np.asarray(weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300))


def gain_over_even(probabilities: Floats, label: Ints, beta: float) -> float:
    """Log-likelihood that a T of its own for each pair gains over even noise, read on the half not fitted.

    With q as sharp as told; in large sets reckoned from a part.
    """
    every = len(label)
    some = drawn(label, probabilities.shape[1])
    if some is not None:
        probabilities, label = probabilities[some], label[some]
    q = sharpened(probabilities, beta)
    n, num_classes = q.shape
    e = even_rate(q, label)
    even = float(np.log((1.0 - e) * q[np.arange(n), label] + e / num_classes + 1e-300).sum())
    # A seed that nobody takes: labels made wrong by the same numbers would all fall in one half.
    half = np.random.default_rng(718_281_828).random(n) < 0.5
    gained = 0.0
    for fitted, read in ((half, ~half), (~half, half)):
        matrix = transition(q[fitted], label[fitted], rate=e, steps=15)
        said = np.einsum("nk,kn->n", q[read], matrix[:, label[read]])
        gained += float(np.log(said + 1e-300).sum())
    return float((gained - even) * every / n)


def wrong_posterior(probabilities: Floats, label: Ints, beta: float) -> Floats:
    """(N,) chance that the label is wrong, with q as sharp as told."""
    q = sharpened(probabilities, beta)
    believed = responsibility(q, transition(q, label), label)
    return np.asarray(1.0 - believed[np.arange(len(label)), label])


def wrong_share(probabilities: Floats, label: Ints, beta: float) -> float:
    """The share of wrong labels, with q as sharp as told."""
    return float(wrong_posterior(probabilities, label, beta).mean())


class Reading:
    """The transition model fitted to one set of probabilities; a cautious and a bold reading beside it."""

    def __init__(self, probabilities: Floats, label: Ints, beta: float, softening: float = SOFTENING) -> None:
        self.beta = beta
        q = sharpened(probabilities, beta)
        self.true_class = responsibility(q, transition(q, label), label)
        """(N, K) chance of each true class."""
        self.posterior = 1.0 - self.true_class[np.arange(len(label)), label]
        """(N,) chance that the label is wrong."""
        self.cautious = wrong_posterior(probabilities, label, beta / softening)
        self.bold = wrong_posterior(probabilities, label, beta * SOFTENING)
