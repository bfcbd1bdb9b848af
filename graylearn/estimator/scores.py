"""Scores of test samples by name: how little each seems to belong to any class; larger = less likely.

Of logits z (N, K), with Q = softmax(z), a = exp z, a_0 = sum a, psi the digamma function:

    entropy+cosine         ours, which reads features too, see `graylearn.estimator.rejection`
    msp                    -max_k Q_k                                       Hendrycks and Gimpel 2017
    max-logit              -max_k z_k                                       Hendrycks et al. 2022
    energy                 -log sum_k exp z_k                               Liu et al. 2020
    entropy                -sum_k Q_k log Q_k                               of IsoMax, Macêdo et al. 2021
    mutual-information     -sum_k a_k/a_0 [log(a_k/a_0) - psi(a_k + 1) + psi(a_0 + 1)], of the class and a
                           Dirichlet with parameters a: prior networks, Malinin and Gales 2018
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import digamma, log_softmax, logsumexp, softmax

from graylearn.array_types import Floats
from graylearn.errors import SettingsError
from graylearn.estimator.rejection import entropy, unfamiliarity

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
