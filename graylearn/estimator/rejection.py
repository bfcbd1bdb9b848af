"""Samples of no class at test time: how unfamiliar one is, measured against samples that belong.

Two signs are added, each in units of its spread over the training samples that belong: the entropy of the
class probabilities, and the cosine distance of the penultimate features to the nearest class centre. They
fail in different ways. The entropy is blind where OOD samples lie beyond a class, far from all others
(sky surveys trained on clean data: AUROC below .1), the centres are blurred where the training set is
dirty. AUROC of test samples that belong against OOD samples, on the cells of benchmarks/audit_cells.py: mean
over 10 networks trained on clean sets, over 11 trained on 20 % OOD, and over all 62 measured, with other
settings and refined ones among them:

    largest logit .57 .90 .81 | entropy .56 .90 .80 | energy .57 .90 .80
    cosine to centres .78 .87 .83 | Mahalanobis .80 .69 .67 | relative Mahalanobis .83 .81 .80
    entropy + cosine .73 .91 .84

Both are blind to how far out a sample lies: a value a thousand times too large points to where a class is,
and the network is sure of it. So the score rises by what features are longer than those of every training
sample that belongs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, log_softmax, logsumexp, softmax

from graylearn.array_types import Floats
from graylearn.errors import SettingsError

NONE_OF_THESE = None
"""What `predict(X, reject_at=...)` answers for a sample it rejects: no label of anybody's."""
REJECT_AT = 0.99
"""The share of new samples that belong and are answered where a served model is not told."""
_GRID = np.linspace(0.0, 1.0, 1001)
_SMALLEST_SPREAD = 1e-3
_HAIR = 1e-6
"""What a limit lies above the score it comes from: the last digits of a score hang on who computes it."""


def learn_reference(logits: Floats, features: Floats | None, label: NDArray[np.int64]) -> dict[str, Floats]:
    """What `unfamiliarity` compares with, from training samples that belong.

    logits (N, K), features (N, D), label (N,): their network's, and the index of each label.
    """
    reference: dict[str, Floats] = {"entropy": _middle_and_spread(entropy(logits))}
    if features is not None:
        reference["mean"] = features.mean(axis=0)
        reference["spread"] = features.std(axis=0) + 1e-6
        unit = _unit((features - reference["mean"]) / reference["spread"])
        centres = [unit[label == k].mean(axis=0) for k in np.unique(label)]
        reference["centres"] = _unit(np.stack(centres))
        reference["distance"] = _middle_and_spread(_distance(features, reference))
        length = _length(features, reference)
        reference["reach"] = np.array([length.max(), _middle_and_spread(length)[1]])
    return reference


def check_reference(reference: dict[str, Floats]) -> None:
    """ValueError where what was read from a file is no such reference."""
    features = reference["mean"].shape if "mean" in reference else (0,)
    expected = {"entropy": (2,), "quantiles": _GRID.shape, "label_quantiles": _GRID.shape}
    if "centres" in reference:
        expected |= {"mean": features, "spread": features, "distance": (2,), "reach": (2,)}
        expected["centres"] = (len(reference["centres"]), *features)
    for name, shape in expected.items():
        if reference[name].shape != shape or len(shape) > 2:
            raise ValueError(f"reference {name} has shape {reference[name].shape}, expected {shape}")


def unfamiliarity(logits: Floats, features: Floats | None, reference: dict[str, Floats]) -> Floats:
    """(N,) larger = less likely to belong to any class."""
    score = _in_units(entropy(logits), reference["entropy"])
    if features is not None and "centres" in reference:
        score = score + _in_units(_distance(features, reference), reference["distance"])
        farthest, spread = reference["reach"]
        score = score + np.maximum(_length(features, reference) - farthest, 0.0) / spread
    return score


def quantiles(scores: Floats, weight: Floats | None = None) -> Floats:
    """The limits 0, 0.001, ... 1: a new sample keeps to each with at least that probability.

    By the rule of conformal prediction: the new sample counts as one more whose score may be anything, so
    that few samples, each counting `weight`, promise no high share (infinity). The sample that a limit
    comes from keeps to it, also where its score is computed alone or by another runtime.
    """
    order = np.argsort(scores, kind="stable")
    counted = np.ones(len(scores)) if weight is None else weight[order]
    reached = np.cumsum(counted)
    needed = _GRID * (counted.sum() + 1.0)
    # a hair less, so that sums of many weights do not miss a share they meet
    index = np.searchsorted(reached, needed * (1.0 - 1e-12))
    ordered = scores[order]
    return np.asarray(np.append(ordered + _HAIR * (1.0 + np.abs(ordered)), np.inf)[index], dtype=np.float64)


def check_share(share: float, option: str) -> None:
    """Refuse what is no share of the samples that belong, which the user gave as `option`."""
    if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 < share <= 1:
        raise SettingsError.wrong(option, share, "a share in (0, 1] of the samples that belong, such as 0.95")


def limit_at(share: float, known: Floats, option: str) -> float:
    """The limit that a new sample keeps to with the probability `share`, which the user gave as `option`."""
    check_share(share, option)
    return float(known[int(np.ceil(float(share) * (len(_GRID) - 1) - 1e-9))])


def entropy(logits: Floats) -> Floats:
    """(N,) of the class probabilities."""
    log_p = log_softmax(logits, axis=1)
    return np.asarray(-(np.exp(log_p) * log_p).sum(axis=1))


def _distance(features: Floats, reference: dict[str, Floats]) -> Floats:
    """Cosine distance to the nearest class centre."""
    unit = _unit((features - reference["mean"]) / reference["spread"])
    return np.asarray(1.0 - (unit @ reference["centres"].T).max(axis=1))


def _length(features: Floats, reference: dict[str, Floats]) -> Floats:
    """How far features lie from their mean, in spreads."""
    return np.asarray(np.linalg.norm((features - reference["mean"]) / reference["spread"], axis=1))


def _unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))


def _middle_and_spread(values: Floats) -> Floats:
    """The median, and what the upper half spreads as a normal one would."""
    middle, high = np.quantile(values, [0.5, 0.9])
    return np.array([middle, max((high - middle) / 1.2816, _SMALLEST_SPREAD)])


def _in_units(values: Floats, middle_and_spread: Floats) -> Floats:
    """Away from the middle in spreads; logarithmic far out, so that neither sign drowns the other."""
    return np.asarray(np.arcsinh((values - middle_and_spread[0]) / middle_and_spread[1]))


# -- scores by name, of logits z (N, K); Q = softmax(z), a = exp z, a_0 = sum a, psi the digamma function:
#
#    entropy+cosine         ours, which reads features too: `unfamiliarity`
#    msp                    -max_k Q_k                                       Hendrycks and Gimpel 2017
#    max-logit              -max_k z_k                                       Hendrycks et al. 2022
#    energy                 -log sum_k exp z_k                               Liu et al. 2020
#    entropy                -sum_k Q_k log Q_k                               of IsoMax, Macêdo et al. 2021
#    mutual-information     -sum_k a_k/a_0 [log(a_k/a_0) - psi(a_k + 1) + psi(a_0 + 1)], of the class and a
#                           Dirichlet with parameters a: prior networks, Malinin and Gales 2018

Score = Callable[[Floats, Floats | None, dict[str, Floats]], Floats]
"""(logits (N, K), features (N, D) or None, what samples that belong look like) -> (N,)."""
OURS = "entropy+cosine"
_LARGEST = 30.0


def _mutual_information(logits: Floats) -> Floats:
    concentration = np.exp(np.clip(logits, -_LARGEST, _LARGEST))
    total = concentration.sum(axis=1, keepdims=True)
    surprise = log_softmax(np.log(concentration), axis=1) - digamma(concentration + 1) + digamma(total + 1)
    return np.asarray(-(concentration / total * surprise).sum(axis=1))


SCORES: dict[str, Score] = {
    OURS: unfamiliarity,
    "msp": lambda logits, features, reference: -softmax(logits, axis=1).max(axis=1),
    "max-logit": lambda logits, features, reference: -logits.max(axis=1),
    "energy": lambda logits, features, reference: -logsumexp(logits, axis=1),
    "entropy": lambda logits, features, reference: entropy(logits),
    "mutual-information": lambda logits, features, reference: _mutual_information(logits),
}
"""Scores by name; add your own with SCORES["name"] = function."""


def score_of(name: str) -> Score:
    """The score of this name, or a sentence that says which there are."""
    if not isinstance(name, str) or name not in SCORES:
        raise SettingsError.wrong("score", name, f"one of {', '.join(SCORES)}")
    return SCORES[name]
