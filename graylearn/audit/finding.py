"""`Finding`: what one detector says of every sample, and how several findings come together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints

LOWEST_FLAG, HIGHEST_FLAG = 0.25, 0.5
"""Between these the threshold on the posterior is chosen by the posterior itself; see `threshold_of`."""
SURE_POSTERIOR = 0.9
"""Posterior above which a suspect is sure, where its detector does not say so itself."""


@dataclass(frozen=True, eq=False)
class Finding:
    """What a detector found. It found something where any posterior is above zero."""

    posterior: Floats
    """(N,) chance that the sample does not belong under its label; zero where the detector abstains."""
    prior: Floats
    """(N,) the same chance before looking at the label."""
    ood_prior: Floats
    """(N,) the part of `prior` that is due to the sample belonging to no class."""
    wrong: Floats
    """(N,) the part of `posterior` by which the sample is of another class than its label says."""
    suggested: Ints | None = None
    """(N,) class that explains the sample, -1 where there is none to offer; None: the most probable."""
    sure: NDArray[np.bool_] | None = None
    """(N,) where the label surely is not the sample's; None: where the posterior is above SURE_POSTERIOR."""
    low: Floats | None = None
    """(N,) `posterior` read cautiously, for the lower end of shares; None: by its odds (shares.CAUTIOUS)."""
    high: Floats | None = None
    """(N,) `posterior` read boldly, for the upper end of shares; None: by its odds (shares.BOLD)."""
    doubt: Floats | None = None
    """(N,) in [0, 1]: the order of the samples that nothing speaks against; None: no opinion."""
    notes: tuple[str, ...] = ()
    """What the reader should know."""
    overrules: tuple[str, ...] = ()
    """Names of earlier detectors whose findings this one explains better: theirs are dropped."""
    hints: tuple[str, ...] = ()
    """What the reader should know if no detector found anything."""
    details: dict[str, float] = field(default_factory=dict)
    """Numbers behind the finding, for the curious."""
    form: str = ""
    """Which of its models the detector chose, where it has several."""
    temperature: float | None = None
    """softmax(log probabilities / temperature) is how well the classes explain samples that belong."""

    @property
    def found(self) -> bool:
        """Whether the detector holds anything against any sample."""
        return bool(self.posterior.any())

    def take(self, index: Ints | slice) -> Finding:
        """The same of the samples at `index`, in that order."""
        return replace(self, **_taken(self, index))


def nothing(
    n: int,
    *,
    doubt: Floats | None = None,
    hints: tuple[str, ...] = (),
    details: dict[str, float] | None = None,
) -> Finding:
    """The finding of a detector that holds nothing against any of n samples."""
    zero = np.zeros(n)
    return Finding(zero, zero, zero, zero, doubt=doubt, hints=hints, details=details or {})


def _taken(said: Finding | Chances, index: Ints | slice) -> dict[str, Any]:
    """The arrays of all samples among the fields, at `index`."""
    return {name: each[index] for name, each in vars(said).items() if isinstance(each, np.ndarray)}


@dataclass(frozen=True, eq=False)
class Chances:
    """What all detectors say together, (N,) each; see `Finding`."""

    posterior: Floats
    prior: Floats
    ood_prior: Floats
    wrong: Floats

    def take(self, index: Ints | slice) -> Chances:
        """The same of the samples at `index`, in that order."""
        return replace(self, **_taken(self, index))

    @property
    def ood(self) -> Floats:
        """(N,) the part of `posterior` that is due to the sample belonging to no class."""
        return np.asarray(self.posterior * share_of(self.ood_prior, self.prior))


def share_of(part: Floats, whole: Floats) -> Floats:
    """(N,) the part over the whole; 0 where there is none."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def together(findings: Iterable[Finding], n: int) -> Chances:
    """The findings side by side: a sample belongs if it belongs by each of them."""
    posterior, prior, ood_prior, wrong = (np.zeros(n) for _ in range(4))
    for each in findings:
        both = (posterior > 0) & (each.posterior > 0)  # a tiny chance alone stays what it is, to the last bit
        joint = 1.0 - (1.0 - posterior) * (1.0 - each.posterior)
        posterior = np.where(both, joint, np.maximum(posterior, each.posterior))
        prior = np.maximum(prior, each.prior)
        ood_prior = np.maximum(ood_prior, each.ood_prior)
        wrong = np.maximum(wrong, each.wrong)
    return Chances(posterior, prior, ood_prior, wrong)


def threshold_of(posterior: Floats) -> float:
    """The threshold that is best for F1 if the posterior is right, between .25 and .5.

    Flagging the n largest finds sum(their posterior) of sum(all), so the expected F1 is about
    2 sum(n largest) / (n + sum(all)); the largest n with the maximum is taken.
    """
    ordered = np.sort(posterior)[::-1]
    total = float(ordered.sum())
    if total <= 0:
        return HIGHEST_FLAG
    expected = 2.0 * np.cumsum(ordered) / (np.arange(1, len(ordered) + 1) + total)
    return float(np.clip(ordered[int(expected.argmax())] - 1e-9, LOWEST_FLAG, HIGHEST_FLAG))
