"""How many samples are wrong or foreign: the one estimate that is told everywhere, and its range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints
from graylearn.audit.finding import Chances, Finding, share_of
from graylearn.audit.kinds import KINDS, MISLABELLED, OK, OOD

NINETY = 1.645
"""Standard errors to each side of an estimate that hold nine cases of ten."""
CAUTIOUS, BOLD = 1 / 1.5, 3.0
"""What the odds of a posterior are multiplied by where its detector does not say how else it may be read. On
31 design sets with labels drawn at random or foreign samples the truth lay within; mostly above the estimate,
since views that learnt from wrong labels excuse some of them."""
MOST_TOLD = 0.25
"""Share of labels that contradict the views above which these err too often themselves to say much of how
many are wrong."""


def chances_by_kind(ood: Floats, wrong: Floats, kind: Ints) -> dict[str, Floats]:
    """(N,) how far each sample counts as "ood" and as "mislabelled": their sums are what is estimated.

    ood, wrong: (N,) the chance of either. kind: (N,) the verdicts. A suspect counts as what it was found to
    be. Views that learnt from wrong labels excuse some of them, so where the chances add up to less than is
    flagged, those of the suspects are raised until they do not.
    """
    whole = np.minimum(ood + wrong, 1.0)
    found = {}
    for name, verdict, own in (("ood", OOD, ood), ("mislabelled", MISLABELLED, wrong)):
        flagged = kind == verdict
        chance = np.where(flagged, whole, np.where(kind == OK, own, 0.0))
        missing = float(flagged.sum() - chance.sum())
        if missing > 0:
            room = np.where(flagged, 1.0 - whole, 0.0)
            chance = chance + room * (missing / room.sum())
        found[name] = chance
    return found


def shares_of(chances: dict[str, Floats]) -> dict[str, float]:
    """Share of each kind that `chances_by_kind` tells apart, and their sum "total"."""
    shares = {name: float(each.mean()) if len(each) else 0.0 for name, each in chances.items()}
    return {**shares, "total": sum(shares.values())}


def told(shares: dict[str, float], ranges: dict[str, tuple[float, float]]) -> dict[str, float | None]:
    """The shares, None where nothing was found: that does not say that nothing is there, unless the range
    ends at 0 too."""
    return {
        name: share if share > 0 or (name in ranges and not ranges[name][1]) else None
        for name, share in shares.items()
    }


def share_in_words(share: float | None, ends: tuple[float, float] | None) -> str:
    """An estimated share in words, as `told`; ends: its range, None if it was not judged."""
    if ends is None:
        return "not judged"
    low, high = ends
    if share is None:
        return f"at most {high:.1%}, which of them cannot be told"
    return f"{share:.1%}, 90% range {low:.1%} to {max(high, share):.1%}" if high > 0 else f"{share:.1%}"


def part_in_words(share: float | None, ends: tuple[float, float] | None) -> str:
    """The share of one kind in a few words; ends: its range, None if it was not judged."""
    if share or (ends is not None and not ends[1]):
        return f"{share or 0.0:.1%}"
    return "not judged" if ends is None else f"at most {ends[1]:.1%}"


def shown_shares(found: Mapping[str, int]) -> dict[str, float]:
    """The share of each kind to a tenth of a percent, as it is told; "ok" is the rest: they add up."""
    total = max(sum(found.values()), 1)
    shares = {kind: round(100 * count / total, 1) / 100 for kind, count in found.items()}
    others = sum(share for kind, share in shares.items() if kind != KINDS[OK])
    return shares | {KINDS[OK]: max(0.0, 1.0 - others) if found[KINDS[OK]] else 0.0}


def ranges_of(findings: Sequence[Finding], chances: Chances) -> dict[str, tuple[float, float]]:
    """The 90% range of each share, "ood", "mislabelled" and "total".

    It reaches from the cautious to the bold reading of the detectors' posteriors, and by chance beyond: given
    its posterior, each sample is wrong or not.
    """
    n = len(chances.posterior)
    if n == 0 or not chances.posterior.any():
        return dict.fromkeys(("ood", "mislabelled", "total"), (0.0, 0.0))
    ood, found = chances.ood, {}
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
    part = share_of(chance, posterior)
    low, high = np.zeros(len(chance)), np.zeros(len(chance))
    for each in findings:
        low = np.maximum(low, _at_odds(each.posterior, CAUTIOUS) if each.low is None else each.low)
        high = np.maximum(high, _at_odds(each.posterior, BOLD) if each.high is None else each.high)
    mean = float(chance.mean())
    return min(float((low * part).mean()), mean), max(float((high * part).mean()), mean)
