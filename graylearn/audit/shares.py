"""Ranges of the estimated shares of wrong and of foreign samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Floats
from graylearn.audit.finding import Chances, Finding

NINETY = 1.645
"""Standard errors to each side of an estimate that hold nine cases of ten."""
CAUTIOUS, BOLD = 1 / 1.5, 3.0
"""What the odds of a posterior are multiplied by where its detector does not say how else it may be read. On
31 design sets with labels drawn at random or foreign samples the truth lay within; mostly above the estimate,
since views that learnt from wrong labels excuse some of them."""


def ranges_of(findings: Sequence[Finding], chances: Chances) -> dict[str, tuple[float, float]]:
    """The 90 % range of each share, "ood", "mislabelled" and "total".

    It reaches from the cautious to the bold reading of the detectors' posteriors, and by chance beyond: given
    its posterior, each sample is wrong or not.
    """
    n = len(chances.posterior)
    if n == 0 or not chances.posterior.any():
        return dict.fromkeys(("ood", "mislabelled", "total"), (0.0, 0.0))
    share = np.divide(chances.ood_prior, chances.prior, out=np.zeros(n), where=chances.prior > 0)
    ood = chances.posterior * share
    found = {}
    for name, chance in (("ood", ood), ("mislabelled", chances.wrong), ("total", ood + chances.wrong)):
        low, high = _readings(findings, chances.posterior, chance)
        luck = NINETY * float(np.sqrt((chance * (1.0 - np.minimum(chance, 1.0))).sum())) / n
        found[name] = (max(0.0, low - luck), min(1.0, high + luck))
    return found


def range_unfound(contradicted: NDArray[np.bool_]) -> tuple[float, float]:
    """The range where nothing is held against any label: none is wrong, or all that views contradict."""
    n = max(len(contradicted), 1)
    count = int(contradicted.sum())
    return 0.0, min(1.0, (count + NINETY * float(np.sqrt(count))) / n)


def _at_odds(posterior: Floats, factor: float) -> Floats:
    """The posterior whose odds are so many times as large."""
    return factor * posterior / (1.0 - posterior + factor * posterior)


def _readings(findings: Sequence[Finding], posterior: Floats, chance: Floats) -> tuple[float, float]:
    """The mean of `chance`, a part of the posterior, as the posterior is read cautiously and boldly."""
    part = np.divide(chance, posterior, out=np.zeros(len(chance)), where=posterior > 0)
    low, high = np.zeros(len(chance)), np.zeros(len(chance))
    for each in findings:
        low = np.maximum(low, _at_odds(each.posterior, CAUTIOUS) if each.low is None else each.low)
        high = np.maximum(high, _at_odds(each.posterior, BOLD) if each.high is None else each.high)
    mean = float(chance.mean())
    return min(float((low * part).mean()), mean), max(float((high * part).mean()), mean)
