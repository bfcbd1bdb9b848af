"""Samples of no class at test time: a score from the logits, and what it was on samples that belong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graylearn.errors import SettingsError

Floats = NDArray[np.float64]

NONE_OF_THESE = None
"""What `predict(X, reject_at=...)` answers for a sample it rejects: no label of anybody's."""
_GRID = 1001


def ood_from_logits(logits: Floats) -> Floats:
    """(N,) larger = less likely to belong to any class: the largest logit with its sign turned."""
    return np.asarray(-logits.max(axis=1), dtype=np.float64)


def reference_quantiles(scores: Floats) -> Floats:
    """Scores of samples that belong, as their quantiles 0, 0.001, ... 1."""
    return np.asarray(np.quantile(scores, np.linspace(0.0, 1.0, _GRID)), dtype=np.float64)


def score_at(reject_at: float, quantiles: Floats) -> float:
    """The score that a share `reject_at` of the samples that belong do not exceed."""
    if not isinstance(reject_at, int | float | np.number) or not 0 < reject_at <= 1:
        raise SettingsError(
            f"reject_at is {reject_at!r}: expected a share in (0, 1] of the samples that belong and should "
            "be answered, such as 0.95"
        )
    return float(np.interp(float(reject_at), np.linspace(0.0, 1.0, len(quantiles)), quantiles))
