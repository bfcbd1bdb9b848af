"""The noise mixture: which labels are explained by the sample, and which look drawn at random.

    p(y_i) = (1 - pi_i) q_i(y_i) + pi_i / K        q = softmax(log P / T)
    pi_i   = e + (1 - e) o_i                       o_i = sigmoid(a + b . u_i),  b >= 0

P are held-out class probabilities, u_i is what speaks for "no class fits this sample" (entropy, distance
to its neighbours, ...), e the share of labels that are wrong wherever the sample lies, o_i the chance that
the sample belongs to no class at all. A gate compares the model with the two that are nested in it: labels
never at random, and labels at random equally often everywhere; and with what classes that overlap look like:
labels never at random, and P surer of itself in some places than in others (1 / T hangs on u). Only where the
labels themselves pay for the larger model is anything flagged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from graylearn.array_types import Floats
from graylearn.audit.blocks import ENOUGH, row_blocks

Form = Literal["none", "constant", "full"]

GATE_CONSTANT = 4.0
"""2 (LL1 - LL0) above which labels are held to be wrong now and then. Over 166 clean sets (real and
synthetic, 80 to 2,400 rows, 2 to 57 classes) the largest value was 3.8."""
GATE_CONSTANT_SEEN = 8.0
"""The same where the network has seen the labels (`history`). Over 156 clean sets the largest values were
11.8 (synthetic, 10 classes), 6.3, 5.3 and 4.5."""
GATE_FULL, GATE_FULL_FEW = 13.0, 25.0
"""2 (LL2 - max(LL0, LL1)) above which the evidence is held to say where, largest value over the clean sets
12.9; with two or three classes, where a class of several clusters looks like noise to a model that does not
see them apart, 23, 20 and 19."""
OF_RIVAL = 1 / 3
"""Where the model is weak and labels are not wrong equally often everywhere, it may be overlap: this part of
what LL3, that of uneven sharpness, is ahead by is taken off the gain. Clean sets with weak features have
gains of up to 19.5 and 11.8 with LL3 ahead by 57 and 6; OOD among 300 rows 15 to 36, ahead by 2 at most; ECG
beats 33 to 45, ahead by 43 to 55."""
OF_GAIN_FEW = 0.1
"""With two or three classes LL3 may be ahead by this part of the gain, for that of clouds that overlap grows
with the samples. Clean clouds of 800 to 3,000 samples have gains of 31, 28 and 35, ahead by 4.5, 26 and 17;
OOD with two classes 56 to 94, ahead by 7 at most."""
GATE_FREQUENT, GATE_FREQUENT_FEW = 4.0, 7.0
"""And the gain must be above this, the second with two or three classes, where random labels are drawn as
often as labels are given, and not each as often. Else a class that is rare, and that little tells, is held
for random wherever it lies: clean tables with 2 to 8 % of one class have gains of up to 120, and so counted
4.8, one of five classes 33 and 1.3; OOD with two classes 8 to 122, with more 7 to 238."""

AT_HOME = 0.1
"""Share of the samples that surely belong: those of smallest o. What labels are random among them is e."""

FIRST_STEPS = 12
FIT_VALUES, FIT_ROWS = 1_000_000, 4_000
"""A handful of parameters needs no more class probabilities than the first, from no fewer samples than the
second: larger sets, and all of more than are `ENOUGH`, are fitted on a part drawn at random and judged whole.
On 55,000 samples of 100 classes that takes a fifth of the time."""
DOUBLE_VALUES = 4_000_000
"""Class probabilities up to which they are worked on in double precision; single is three times as quick."""


@dataclass(frozen=True)
class NoiseFit:
    """What the noise mixture found."""

    form: Form
    """Which model passed the gate: "none" flags nothing, "constant" has one pi for all, "full" has both."""
    prior: Floats
    """(N,) pi, the chance that the label was drawn at random, before looking at it."""
    ood_prior: Floats
    """(N,) o, the part of it that is due to the sample belonging to no class."""
    posterior: Floats
    """(N,) chance that the label was drawn at random, given the label; all zero where form is "none"."""
    temperature: float
    """T: above 1 the probabilities were too sure of themselves, below 1 not sure enough."""
    slopes: Floats
    """(F,) b, what each column of the evidence is worth."""
    wrong_rate: float
    """e, the share of wrong labels among samples that belong."""
    log_likelihood: dict[str, float] = field(default_factory=dict)
    """Log-likelihood of the labels under "none", "constant", "full", and "uneven" where it was asked."""

    @property
    def gain(self) -> float:
        """What labels pay for the full model."""
        return full_gain(self.log_likelihood)

    @property
    def paid(self) -> float:
        """What labels pay for the model that passed the gate, over the one without random labels."""
        return 2 * (self.log_likelihood[self.form] - self.log_likelihood["none"])


def full_gain(log_likelihood: Mapping[str, float]) -> float:
    """2 (LL2 - max(LL0, LL1)): what labels pay for the full model."""
    return 2 * (log_likelihood["full"] - max(log_likelihood["none"], log_likelihood["constant"]))


def _sigmoid(x: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


class _Objective:
    """Minus the penalised log-likelihood, with its gradient, in theta = [1 / T, c, a, b (F)]."""

    def __init__(self, log_p: Floats, label: NDArray[np.int64], evidence: Floats, background: Floats) -> None:
        self.log_p = log_p  # (N, K)
        self.label = label
        self.evidence = evidence  # (N, F)
        self.background = background  # (N,) chance of the given label when drawn at random
        self.rows = np.arange(len(label))
        self.log_p_label = log_p[self.rows, label]
        # Which parts of pi the current form has.
        self.with_wrong = self.with_ood = True

    @classmethod
    def of(cls, p: Floats, label: NDArray[np.int64], evidence: Floats, background: Floats) -> _Objective:
        """The same of class probabilities (N, K)."""
        log_p: NDArray[Any] = np.clip(p, 1e-6, 1.0).astype(
            np.float64 if p.size <= DOUBLE_VALUES else np.float32
        )
        np.log(log_p, out=log_p)
        return cls(log_p, label, evidence, background)

    def explain(self, sharpness: float) -> tuple[Floats, Floats]:
        """q (N, K) for a sharpness 1 / T, and the derivative of log q_y by it, (N,)."""
        z = self.log_p.dtype.type(sharpness) * self.log_p
        z -= z.max(axis=1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
        return z, self.log_p_label - np.einsum("nk,nk->n", z, self.log_p)

    def chances(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """e, o (N,) and pi (N,) for parameters theta."""
        e = float(_sigmoid(theta[1:2])[0]) if self.with_wrong else 0.0
        o = _sigmoid(theta[2] + self.evidence @ theta[3:]) if self.with_ood else np.zeros(len(self.rows))
        return e, o, e + (1.0 - e) * o

    def log_likelihood(self, theta: Floats) -> float:
        """Log-likelihood of the labels, without the penalty."""
        q, _ = self.explain(theta[0])
        _, _, pi = self.chances(theta)
        return float(np.log((1.0 - pi) * q[self.rows, self.label] + pi * self.background + 1e-300).sum())

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        sharpness, c, a, b = theta[0], theta[1], theta[2], theta[3:]
        q, slope = self.explain(sharpness)
        e, o, pi = self.chances(theta)
        q_label = q[self.rows, self.label].astype(np.float64)
        p = (1.0 - pi) * q_label + pi * self.background + 1e-300
        by_pi = (self.background - q_label) / p
        log_s = np.log(sharpness)
        value = np.log(p).sum() - log_s**2 / 2 - (c + 4) ** 2 / 8 - (a + 4) ** 2 / 8 - (b**2).sum() / 8
        by_a = by_pi * (1.0 - e) * o * (1.0 - o)
        grad = np.empty_like(theta)
        grad[0] = slope @ ((1.0 - pi) * q_label / p) - log_s / sharpness
        grad[1] = (by_pi * (1.0 - o)).sum() * e * (1.0 - e) - (c + 4) / 4
        grad[2] = by_a.sum() - (a + 4) / 4
        grad[3:] = self.evidence.T @ by_a - b / 4
        return -value, -grad

    def solve(self, theta: Floats, *, wrong: bool, ood: bool, steps: int = 200) -> Floats:
        """The best parameters of the form that has these parts of pi, looked for from theta."""
        self.with_wrong, self.with_ood = wrong, ood
        # What a form leaves out stands still at the centre of its penalty.
        bounds = [(0.02, 20.0)]
        bounds += [(-12.0, 6.0) if wrong else (-4.0, -4.0)]
        bounds += [(-14.0, 6.0) if ood else (-4.0, -4.0)]
        bounds += [(0.0, 20.0) if ood else (0.0, 0.0)] * self.evidence.shape[1]
        low, high = np.array(bounds).T
        found = minimize(
            self,
            np.clip(theta, low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": steps, "ftol": 1e-9},
        )
        return np.asarray(found.x, dtype=np.float64)


def uneven_sharpness(log_p: NDArray[Any], label: NDArray[np.int64], evidence: Floats) -> float:
    """Log-likelihood of labels never drawn at random, where 1 / T = exp(s + r.u) hangs on the sample.

    Where classes overlap, probabilities are too sure in some places and not sure enough in others, and this
    explains the labels better than any chance of being random does.
    """
    rows = np.arange(len(label))
    columns = np.column_stack([np.ones(len(label)), evidence])  # (N, 1 + F)
    own = log_p[rows, label].astype(np.float64)

    def minus_likelihood(theta: Floats) -> tuple[float, Floats]:
        sharpness = np.exp(np.clip(columns @ theta, -6.0, 6.0))
        z = sharpness.astype(log_p.dtype)[:, None] * log_p
        z -= z.max(axis=1, keepdims=True)
        q = np.exp(z)
        total = q.sum(axis=1)
        expected = np.einsum("nk,nk->n", q, log_p) / total
        fit = float((z[rows, label] - np.log(total)).sum())
        slope = theta - columns.T @ (sharpness * (own - expected))
        return float(theta @ theta) / 2 - fit, np.asarray(slope)

    found = minimize(minus_likelihood, np.zeros(columns.shape[1]), jac=True, method="L-BFGS-B")
    return float(found.x @ found.x / 2 - found.fun)


def gain_by_frequency(objective: _Objective) -> float:
    """`full_gain` where a random label is a class as often as the given labels are."""
    label = objective.label
    frequency = np.bincount(label)[label] / len(label)
    return full_gain(_fit_forms(_Objective(objective.log_p, label, objective.evidence, frequency))[1])


def fit_noise(
    probabilities: Floats,
    label: NDArray[np.int64],
    evidence: Floats,
    *,
    gate_constant: float = GATE_CONSTANT,
    gate_full: float | None = None,
    weak: bool = False,
) -> NoiseFit:
    """Fit the noise mixture to labels by maximum penalised likelihood and let the gate choose its form.

    probabilities: (N, K) class probabilities that did not see the label they are asked about.
    evidence: (N, F) standardised columns that speak for "no class fits"; larger = less likely to belong.
    weak: whether the probabilities come from a model that errs often.
    """
    p = np.asarray(probabilities)
    n, k = p.shape
    u = np.asarray(evidence, dtype=np.float64).reshape(n, -1)
    drawn = np.full(n, 1.0 / k)  # the chance of each given label where it is drawn at random
    given = np.asarray(label, dtype=np.int64)

    def objective_of(rows: slice | NDArray[np.int64]) -> _Objective:
        return _Objective.of(p[rows], given[rows], u[rows], drawn[rows])

    size = min(max(FIT_ROWS, FIT_VALUES // k), ENOUGH)
    objective = objective_of(
        slice(None) if n <= size else np.sort(np.random.default_rng(0).permutation(n)[:size])
    )
    fitted, log_likelihood = _fit_forms(objective)
    if gate_full is None:
        gate_full = GATE_FULL if k >= 4 else GATE_FULL_FEW
    form = _form(objective, log_likelihood, k, gate_constant=gate_constant, gate_full=gate_full, weak=weak)
    theta = fitted[form]
    prior, ood_prior, posterior = np.empty(n), np.empty(n), np.empty(n)
    e = 0.0
    for rows in row_blocks(n, k):
        block = objective_of(rows)
        block.with_wrong, block.with_ood = form != "none", form == "full"
        q, _ = block.explain(theta[0])
        e, ood_prior[rows], pi = block.chances(theta)
        q_label = q[block.rows, block.label]
        prior[rows] = pi
        posterior[rows] = pi * drawn[rows] / ((1.0 - pi) * q_label + pi * drawn[rows] + 1e-300)
    # A part of o that all samples have says of none that it belongs to no class. Flips look so where o rises
    # a little with the evidence, and pays for it, and e stays at zero.
    everywhere = float(np.quantile(ood_prior, AT_HOME))
    ood_prior = np.maximum((ood_prior - everywhere) / (1.0 - everywhere), 0.0)
    e += (1.0 - e) * everywhere
    return NoiseFit(
        form, prior, ood_prior, posterior, float(1.0 / theta[0]), theta[3:].copy(), e, log_likelihood
    )


def _fit_forms(objective: _Objective) -> tuple[dict[Form, Floats], dict[str, float]]:
    """Parameters and log-likelihood of each form, each fitted from the one before."""
    columns = objective.evidence.shape[1]
    fitted: dict[Form, Floats] = {}
    fitted["none"] = objective.solve(np.array([1.0, -4.0, -4.0, *[0.0] * columns]), wrong=False, ood=False)
    log_likelihood = {"none": objective.log_likelihood(fitted["none"])}
    fitted["constant"] = objective.solve(fitted["none"], wrong=True, ood=False)
    log_likelihood["constant"] = objective.log_likelihood(fitted["constant"])
    sharpness, c = fitted["constant"][:2]
    starts = [(c, -4.0, 0.5), (-4.0, -2.0, 1.0), (-6.0, -1.0, 2.0)]
    # A few steps tell which start is best; only that one is followed to the end.
    tried = [
        objective.solve(
            np.array([sharpness, c0, a0, *[b0] * columns]), wrong=True, ood=True, steps=FIRST_STEPS
        )
        for c0, a0, b0 in starts
    ]
    first = min(tried, key=lambda theta: objective(theta)[0])
    fitted["full"] = objective.solve(first, wrong=True, ood=True)
    log_likelihood["full"] = objective.log_likelihood(fitted["full"])
    return fitted, log_likelihood


def _form(
    objective: _Objective,
    log_likelihood: dict[str, float],
    k: int,
    *,
    gate_constant: float,
    gate_full: float,
    weak: bool,
) -> Form:
    """The form that the labels pay for; where overlap may explain them too, "uneven" is added to the dict."""
    paid = 2 * (log_likelihood["constant"] - log_likelihood["none"]) > gate_constant
    gain = full_gain(log_likelihood)
    noise = gain > gate_full
    if noise and not paid and (k < 4 or weak):
        log_likelihood["uneven"] = uneven_sharpness(objective.log_p, objective.label, objective.evidence)
        ahead = max(0.0, 2 * (log_likelihood["uneven"] - log_likelihood["full"]))
        noise = ahead < OF_GAIN_FEW * gain if k < 4 else gain - OF_RIVAL * ahead > gate_full
    if noise and not paid:
        noise = gain_by_frequency(objective) > (GATE_FREQUENT if k >= 4 else GATE_FREQUENT_FEW)
    return "full" if noise else "constant" if paid else "none"
