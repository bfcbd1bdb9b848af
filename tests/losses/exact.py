"""The Gray loss with 60 digits, from its definition alone: what the tests hold every implementation to.

The gradient is written with leave-one-out softmaxes, another form than any implementation uses:
    d/dz_k of -log(1 - Q_j) = Q_k - [k != j] exp(z_k) / sum_{i != j} exp(z_i)
"""

from decimal import Decimal, localcontext
from itertools import accumulate

import torch
from torch import Tensor


def sums_without_each(values: list[Decimal]) -> list[Decimal]:
    """For each place the sum of all others, without subtracting."""
    zero = Decimal(0)
    before = [zero, *accumulate(values)]
    after = [zero, *accumulate(reversed(values))][::-1]
    return [left + right for left, right in zip(before[:-1], after[1:], strict=True)]


def probabilities(logits: Tensor) -> tuple[list[Decimal], list[Decimal]]:
    """Q_k and 1 - Q_k, in the precision of the decimal context."""
    z = [Decimal(value) for value in logits.tolist()]
    highest = max(z)
    e = [(value - highest).exp() for value in z]
    total = sum(e)
    return [value / total for value in e], [value / total for value in sums_without_each(e)]


def exact_row(logits: Tensor, label: int, confidence: str | float) -> tuple[float, list[float], list[float]]:
    """Loss, gradient, and the size |Q_k - [k = y]| by which an error of the gradient is judged."""
    with localcontext() as context:
        context.prec = 60
        prob, rest = probabilities(logits)
        classes = range(len(prob))
        if isinstance(confidence, str):
            at = prob.index(max(prob)) if confidence == "max" else label
            certain, doubt = prob[at], rest[at]
        else:
            certain = Decimal(confidence)
            doubt = 1 - certain
        rejected = sum(rest[j].ln() for j in classes if j != label)
        loss = -certain * prob[label].ln() - doubt * rejected
        given = [-rest[k] if k == label else prob[k] for k in classes]
        others = sums_without_each([1 / rest[j] if j != label else Decimal(0) for j in classes])
        gradient = [certain * given[k] + doubt * prob[k] * (len(prob) - 1 - others[k]) for k in classes]
        return float(loss), [float(g) for g in gradient], [float(abs(g)) for g in given]


def exact_rows(logits: Tensor, target: Tensor, confidence: str | Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`exact_row` over (N, K) as float64 tensors (N,), (N, K), (N, K)."""
    rules = [confidence] * len(logits) if isinstance(confidence, str) else confidence.tolist()
    rows = [exact_row(logits[i], int(target[i]), rule) for i, rule in enumerate(rules)]
    losses, gradients, sizes = zip(*rows, strict=True)
    return (
        torch.tensor(losses, dtype=torch.float64),
        torch.tensor(gradients, dtype=torch.float64),
        torch.tensor(sizes, dtype=torch.float64),
    )
