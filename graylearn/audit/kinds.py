"""What a sample can turn out to be, how sure that is, and how many samples are of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graylearn.array_types import Floats, Ints
from graylearn.errors import counted

KINDS = ("ok", "mislabelled", "ood")
"""ok; mislabelled: another class explains the sample; ood: no class does."""
OK, MISLABELLED, OOD = range(len(KINDS))

LEVELS = ("", "review", "sure")
"""Of a suspect: review, for a person to look at; sure, right in 95 of 100 cases or more."""
REVIEW, SURE = 1, 2


def chances_by_kind(foreign: Floats, wrong: Floats, kind: Ints) -> dict[str, Floats]:
    """(N,) how far each sample counts as "ood" and as "mislabelled": their means are what is estimated.

    A suspect counts as what it was found to be.
    """
    both = foreign + wrong
    return {
        "ood": np.where(kind == OOD, both, np.where(kind == MISLABELLED, 0.0, foreign)),
        "mislabelled": np.where(kind == MISLABELLED, both, np.where(kind == OOD, 0.0, wrong)),
    }


def shares_of(chances: Mapping[str, Floats]) -> dict[str, float]:
    """The share of each kind, and their sum "total"."""
    shares = {name: float(each.mean()) if len(each) else 0.0 for name, each in chances.items()}
    return {**shares, "total": sum(shares.values())}


def ranges_of(chances: Mapping[str, Floats], reach: float) -> dict[str, tuple[float, float]]:
    """The 90 % range of each share and of their sum, the wider the more samples are in doubt.

    reach: how often the mean spread of a sample's own chance it goes to each side, so that on families left
    out nine of ten ranges hold the true share. Doubts of one set go the same way: they do not cancel out.
    """
    found = {}
    for name, each in {**chances, "total": sum(chances.values())}.items():
        chance = np.clip(np.asarray(each, dtype=np.float64), 0.0, 1.0)
        side = np.sqrt(chance * (1.0 - chance)).mean() if len(chance) else 0.0
        share = float(chance.mean()) if len(chance) else 0.0
        found[name] = (max(0.0, share - reach * float(side)), min(1.0, share + reach * float(side)))
    return found


def share_in_words(share: float | None, ends: Sequence[float] | None = None) -> str:
    """An estimated share and, where it is to be told, its range."""
    if share is None:
        return "not judged"
    return f"{share:.1%}" + ("" if ends is None else f", 90% range {ends[0]:.1%} to {ends[1]:.1%}")


def classes_in_words(count: int, misspelt: int) -> str:
    """How many classes there are, and how many more labels that seem to be one of them misspelt."""
    told = f"{count} class{'' if count == 1 else 'es'}"
    return told + (f" and {counted(misspelt, 'misspelt label')}" if misspelt else "")


def shown_shares(found: Mapping[str, int]) -> dict[str, float]:
    """The share of each kind to a tenth of a percent, as it is told; "ok" is the rest: they add up."""
    total = max(sum(found.values()), 1)
    shares = {kind: round(100 * count / total, 1) / 100 for kind, count in found.items()}
    others = sum(share for kind, share in shares.items() if kind != KINDS[OK])
    return shares | {KINDS[OK]: max(0.0, 1.0 - others) if found[KINDS[OK]] else 0.0}
