"""The paper's theory as numbers: the exact identity of the Gray loss, and the two bounds as printed.

The bounds and the condition on lambda are computed as the authors state them; each docstring says what is
known to be wrong, docs/how/loss.md why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from graylearn.errors import SettingsError
from graylearn.losses import complementary_loss
from graylearn.losses.reference import confidence_and_doubt

CROSS_ENTROPY_LIPSCHITZ = math.sqrt(2.0)
"""Cross entropy's Lipschitz constant in the logits: its gradient Q - e_y is no longer than sqrt(2)."""


def remainder(logits: Tensor, target: Tensor, *, confidence: str | Tensor = "max") -> Tensor:
    """What the Gray loss adds to cross entropy, a sample: r = (1 - C)(L_C - L_G), so that L_M = L_G + r.

    `logits` are (N, K, ...), `target` (N, ...); the result has the shape of `target`. C is a constant in
    the gradient, as in the loss. r <= 0 always (but for rounding), since the product of 1 - Q_k over the
    classes other than the label is at least the label's Q_y; r = 0 for K = 2.

    Errata: the paper's Theorem 2 prints the integral of -log L_G where that of L_G is meant, and Q_y for
    Q_k in the sum within r; the display in its proof drops a log. Mended, its r is this one with C = Q_y.
    """
    with torch.no_grad():
        log_probs = logits.log_softmax(1)
        _, doubt = confidence_and_doubt(log_probs, target.unsqueeze(1), confidence)
    rejected = complementary_loss(logits, target, reduction="none")
    return doubt.squeeze(1) * (rejected - F.cross_entropy(logits, target, reduction="none"))


@dataclass(frozen=True)
class Assumptions:
    """What both bounds are made of: the sample, the network and the loss."""

    num_in: int
    """N_I, in-distribution samples."""
    num_ood: int
    """N_O, out-of-distribution samples."""
    num_classes: int
    """K."""
    norms: Sequence[float]
    """M_1 ... M_d, bounds on the Frobenius norms of the weight matrices."""
    input_norm: float
    """B, a bound on the Euclidean norm of an input."""
    discrepancy: float
    """d_H(P_I, P_O) = sup_h |risk_I(h) - risk_O(h)|: how differently one network can fare on the two."""
    loss_bound: float
    """c, a bound on the loss."""
    lipschitz: float = CROSS_ENTROPY_LIPSCHITZ
    """L, the loss's Lipschitz constant in the logits."""
    delta: float = 0.05
    """The bounds hold with probability at least 1 - delta."""

    def __post_init__(self) -> None:
        if self.num_in < 1 or self.num_ood < 0:
            raise SettingsError(
                f"there are {self.num_in} in-distribution and {self.num_ood} ood samples, "
                "expected at least 1 and 0: count the training set anew"
            )
        if self.num_classes < 2:
            raise SettingsError(f"num_classes is {self.num_classes}, expected at least 2")
        if not self.norms or min(self.norms) < 0:
            raise SettingsError(f"norms are {tuple(self.norms)}, expected one non-negative number per layer")
        if not 0 < self.delta < 1:
            raise SettingsError(f"delta is {self.delta}, expected a probability in (0, 1): 0.05 is common")
        for name in ("input_norm", "discrepancy", "loss_bound", "lipschitz"):
            if not getattr(self, name) >= 0:
                raise SettingsError(f"{name} is {getattr(self, name)}, expected a number of at least 0")

    @property
    def alpha(self) -> float:
        """The share of ood samples, taken from the counts."""
        return self.num_ood / (self.num_in + self.num_ood)

    @property
    def rate(self) -> float:
        """(alpha sqrt(N_I) + (1 - alpha) sqrt(N_O)) / sqrt(N_I N_O), finite also where there is no ood."""
        ood = self.alpha / math.sqrt(self.num_ood) if self.num_ood else 0.0
        return ood + (1 - self.alpha) / math.sqrt(self.num_in)

    @property
    def network_size(self) -> float:
        """(sqrt(2 d ln 2) + 1) times the product of the norms, of a network of depth d."""
        return (math.sqrt(2 * len(self.norms) * math.log(2)) + 1) * math.prod(self.norms)


@dataclass(frozen=True)
class Bound:
    """A bound on the excess risk on in-distribution data, term by term."""

    discrepancy: float
    """How much the two kinds of samples differ: 2 alpha d_H."""
    complexity: float
    """How much the network can fit."""
    sampling: float
    """How much chance is in the sample."""

    @property
    def total(self) -> float:
        """The bound itself."""
        return self.discrepancy + self.complexity + self.sampling


def standard_bound(given: Assumptions) -> Bound:
    """Theorem 1: the excess in-distribution risk of a network that minimises cross entropy on the mixture.

        2 alpha d_H + 4 B L rate (sqrt(2 d ln 2) + 1) prod M_i + 8 c rate sqrt(2 ln(16 / delta))

    As the authors state it. The complexity term comes from a lemma on real-valued networks without biases,
    shortcuts or batch norm; K logits need a contraction for vectors, whose factor it leaves out.
    """
    complexity = 4 * given.input_norm * given.lipschitz * given.rate * given.network_size
    return _bound(given, complexity)


def gray_bound(given: Assumptions, lambda_: float) -> Bound:
    """Theorem 3: the same for a network that minimises the Gray loss, if r <= lambda on every sample.

        2 alpha d_H + 4 B L K rate (c + log(2 lambda - 2)) + 8 c rate sqrt(2 ln(16 / delta))

    As the authors state it, not as proved. Errata: r <= 0 always, so r <= lambda binds nothing; the proof
    uses x^y >= x / (x + y) under a log that it then drops, so that a negative number is at least a positive
    one; its E sup <= sup sqrt(sum h^2) runs the wrong way; statement, proof and condition disagree on c or
    z, and on K or sqrt(K). The term falls without limit as lambda falls to 1.
    """
    if not lambda_ > 1:
        raise SettingsError(f"lambda is {lambda_}, expected more than 1: the bound holds log(2 lambda - 2)")
    spread = given.loss_bound + math.log(2 * lambda_ - 2)
    complexity = 4 * given.input_norm * given.lipschitz * given.num_classes * given.rate * spread
    return _bound(given, complexity)


def lambda_limit(given: Assumptions, log_sum_exp: float) -> float:
    """Theorem 3's condition: the largest lambda for which the authors call their bound the tighter one.

        1 + exp(B (sqrt(2 d ln 2) + 1) prod M_i / (L sqrt(K)) - z) / 2

    `log_sum_exp` is z, a bound on log sum_k exp(logit_k). As the authors state it. Errata: it does not
    follow from their two bounds, which as printed meet at 1 + exp((sqrt(2 d ln 2) + 1) prod M_i / K - c) / 2;
    and since r <= 0 always, any lambda > 0 caps r. Infinite where the exponential overflows.
    """
    if not (given.lipschitz > 0 and math.isfinite(log_sum_exp)):
        raise SettingsError(
            f"lipschitz is {given.lipschitz} and log_sum_exp is {log_sum_exp}, expected a positive number "
            "and a finite one"
        )
    size = given.input_norm * given.network_size / (given.lipschitz * math.sqrt(given.num_classes))
    try:
        return 1 + math.exp(size - log_sum_exp) / 2
    except OverflowError:
        return math.inf


def _bound(given: Assumptions, complexity: float) -> Bound:
    return Bound(
        discrepancy=2 * given.alpha * given.discrepancy,
        complexity=complexity,
        sampling=8 * given.loss_bound * given.rate * math.sqrt(2 * math.log(16 / given.delta)),
    )
