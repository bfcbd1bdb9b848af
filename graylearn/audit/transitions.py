"""The transition model: labels that people get wrong go from one class to another, each pair at its own rate.

    p(y_i) = sum_z q_i(z) T(z, y_i)        q = softmax(beta log P),   T (K, K) by EM

q says what each sample is, T how often a sample of class z bears label y. beta is not fitted by likelihood:
the labels then pay for a flat q that explains the confusion itself (.05 to .15 of F1 lost). It is set so that
q errs as often as the model seems to err.

Where some samples may belong to no class, that is one true class more, the last: with o the chance of it,
(1 - o) q stands for q, and o for q(none); such a sample bears any label alike, T(none, y) = 1 / K.
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
SPLITS = 4
"""Times that samples are halved to see what T gains: by one split of 4,000 photos it is known to 25 nats."""
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


def true_classes(probabilities: Floats, beta: float, foreign: Floats | None) -> Floats:
    """(N, K) q, or with the chance of belonging to no class, `foreign` (N,), (N, K + 1)."""
    q = sharpened(probabilities, beta)
    if foreign is None:
        return q
    return np.concatenate([(1.0 - foreign)[:, None] * q, foreign[:, None]], axis=1)


def even_rate(q: Floats, label: Ints, num_classes: int) -> float:
    """e of T = (1 - e) I + e / K: how often labels of samples that belong are wrong, if towards any alike."""
    belongs = q[:, :num_classes].sum(axis=1)
    own, none = q[np.arange(len(label)), label], (1.0 - belongs) / num_classes
    e = 0.1
    for _ in range(60):
        wrong, right = e * belongs / num_classes, (1.0 - e) * own
        every = np.maximum(wrong + right + none, 1e-300)
        e = float((wrong / every).sum() / ((wrong + right) / every).sum())
    return e


def transition(
    q: Floats, label: Ints, num_classes: int, *, rate: float | None = None, steps: int = STEPS
) -> Floats:
    """T[z, y], the chance that a sample of true class z bears label y, by EM from the confusion of q.

    (K, K), with a row more of 1 / K where q has a column for samples of no class. In large sets from a part.
    """
    some = drawn(label, q.shape[1])
    if some is not None:
        q, label = q[some], label[some]
    n = len(q)
    rate = even_rate(q, label, num_classes) if rate is None else rate
    prior = PSEUDO_COUNT * ((1.0 - rate) * np.eye(num_classes) + rate / num_classes)
    given = csr_matrix((np.ones(n), (label, np.arange(n))), shape=(num_classes, n))  # N K^2 else
    count = prior.copy()
    np.add.at(count, (q[:, :num_classes].argmax(axis=1), label), q[:, :num_classes].sum(axis=1))
    matrix = np.full((q.shape[1], num_classes), 1.0 / num_classes)
    matrix[:num_classes] = count / count.sum(axis=1, keepdims=True)
    for _ in range(steps):
        count = (given @ responsibility(q, matrix, label)[:, :num_classes]).T + prior
        matrix[:num_classes] = count / count.sum(axis=1, keepdims=True)
    return matrix


def responsibility(q: Floats, matrix: Floats, label: Ints) -> Floats:
    """(N, K or K + 1) chance of each true class, given the sample and its label."""
    weight = q * matrix[:, label].T
    return np.asarray(weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300))


def gain_over_even(probabilities: Floats, label: Ints, beta: float, foreign: Floats | None = None) -> float:
    """Log-likelihood that a T of its own for each pair gains over even noise, read on the half not fitted.

    With q as sharp as told; `foreign` explains samples of no class. In large sets reckoned from a part.
    """
    every, num_classes = len(label), probabilities.shape[1]
    some = drawn(label, num_classes)
    if some is not None:
        probabilities, label = probabilities[some], label[some]
        foreign = None if foreign is None else foreign[some]
    q = true_classes(probabilities, beta, foreign)
    n = len(q)
    e = even_rate(q, label, num_classes)
    belongs = q[:, :num_classes].sum(axis=1)
    at_random = (e * belongs + 1.0 - belongs) / num_classes
    even = float(np.log((1.0 - e) * q[np.arange(n), label] + at_random + 1e-300).sum())
    # A seed that nobody takes: labels made wrong by the same numbers would all fall in one half.
    random = np.random.default_rng(718_281_828)
    gained = 0.0
    for _ in range(SPLITS):
        half = random.random(n) < 0.5
        for fitted, read in ((half, ~half), (~half, half)):
            matrix = transition(q[fitted], label[fitted], num_classes, rate=e, steps=15)
            said = np.einsum("nk,kn->n", q[read], matrix[:, label[read]])
            gained += float(np.log(said + 1e-300).sum()) / SPLITS
    return float((gained - even) * every / n)


def wrong_posterior(probabilities: Floats, label: Ints, beta: float, foreign: Floats | None = None) -> Floats:
    """(N,) chance that the label is not the sample's class, with q as sharp as told."""
    return 1.0 - _believed(probabilities, label, beta, foreign)[np.arange(len(label)), label]


def wrong_share(probabilities: Floats, label: Ints, beta: float) -> float:
    """The share of wrong labels, with q as sharp as told."""
    return float(wrong_posterior(probabilities, label, beta).mean())


def _believed(probabilities: Floats, label: Ints, beta: float, foreign: Floats | None) -> Floats:
    """(N, K or K + 1) chance of each true class, T fitted to the same samples."""
    q = true_classes(probabilities, beta, foreign)
    return responsibility(q, transition(q, label, probabilities.shape[1]), label)


class Reading:
    """The transition model fitted to one set of probabilities; a cautious and a bold reading beside it.

    softening: by how much less sharp the cautious reading is; the bold one is sharper by SOFTENING.
    foreign: (N,) the chance of belonging to no class, where there is any.
    """

    def __init__(
        self,
        probabilities: Floats,
        label: Ints,
        beta: float,
        softening: float = SOFTENING,
        foreign: Floats | None = None,
    ) -> None:
        self.beta = beta
        self.true_class = _believed(probabilities, label, beta, foreign)
        """(N, K) chance of each true class; with `foreign` (N, K + 1), the last: of none."""
        self.posterior = 1.0 - self.true_class[np.arange(len(label)), label]
        """(N,) chance that the label is not the sample's class."""
        self.cautious = wrong_posterior(probabilities, label, beta / softening, foreign)
        self.bold = wrong_posterior(probabilities, label, beta * SOFTENING, foreign)
