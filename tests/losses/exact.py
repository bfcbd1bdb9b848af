"""The Gray loss with 60 digits, from its definition alone: what the tests hold every implementation to.

The gradient comes from d/dz_k of -log(1 - Q_j) = Q_k where k = j, and -Q_k Q_j / (1 - Q_j) elsewhere, every
sum over "all but one" taken without subtracting: another form than any implementation uses.
"""

from decimal import Decimal, localcontext
from functools import cache
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor


def sums_without_each(values: list[Decimal]) -> list[Decimal]:
    """For each place the sum of all others, without subtracting."""
    zero = Decimal(0)
    before = [zero, *accumulate(values)]
    after = [zero, *accumulate(reversed(values))][::-1]
    return [left + right for left, right in zip(before[:-1], after[1:], strict=True)]


def log_of(prob: Decimal, rest: Decimal) -> Decimal:
    """ln(prob), also where 60 digits cannot tell prob = 1 - rest from one."""
    if rest < Decimal("1e-20"):
        return -(rest + rest**2 / 2 + rest**3 / 3)
    return prob.ln()


@cache
def probabilities(logits: tuple[float, ...]) -> tuple[list[Decimal], list[Decimal], list[Decimal]]:
    """Q_k, 1 - Q_k and ln(1 - Q_k), in the precision of the decimal context; all confidences read them."""
    z = [Decimal(value) for value in logits]
    highest = max(z)
    e = [(value - highest).exp() for value in z]
    total = sum(e)
    prob = [value / total for value in e]
    rest = [value / total for value in sums_without_each(e)]
    return prob, rest, [log_of(*pair) for pair in zip(rest, prob, strict=True)]


def exact_row(
    logits: tuple[float, ...], label: int, confidence: str | float
) -> tuple[float, list[float], list[float]]:
    """Loss, gradient, and the size |Q_k - [k = y]| by which an error of the gradient is judged."""
    with localcontext() as context:
        context.prec = 60
        prob, rest, log_rest = probabilities(logits)
        classes = range(len(prob))
        if isinstance(confidence, str):
            at = prob.index(max(prob)) if confidence == "max" else label
            certain, doubt = prob[at], rest[at]
        else:
            certain = Decimal(confidence)
            doubt = 1 - certain
        rejected = sum(log_rest[j] for j in classes if j != label)
        loss = -certain * log_of(prob[label], rest[label]) - doubt * rejected
        given = [-rest[k] if k == label else prob[k] for k in classes]
        odds = [Decimal(0) if j == label else prob[j] / rest[j] for j in classes]
        others = sums_without_each(odds)
        gradient = [certain * given[k] + doubt * prob[k] * ((k != label) - others[k]) for k in classes]
        return float(loss), [float(g) for g in gradient], [float(abs(g)) for g in given]


@cache
def _remembered(logits: tuple[float, ...], label: int, rule: str | float) -> tuple[Any, ...]:
    """All implementations meet the same rows."""
    return exact_row(logits, label, rule)


def exact_rows(logits: Tensor, target: Tensor, confidence: str | Tensor) -> tuple[Tensor, ...]:
    """`exact_row` over (N, K) as float64 tensors (N,), (N, K), (N, K)."""
    rules = [confidence] * len(logits) if isinstance(confidence, str) else confidence.tolist()
    rows = [
        _remembered(tuple(row), label, rule)
        for row, label, rule in zip(logits.tolist(), target.tolist(), rules, strict=True)
    ]
    return tuple(torch.tensor(part, dtype=torch.float64) for part in zip(*rows, strict=True))
