"""prior-network: logits as a Dirichlet, sharp on classes and flat elsewhere (Malinin and Gales, 2019)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Method, Step, register
from graylearn.methods.checks import Factor, Range
from graylearn.methods.exposure import outside_inputs

_LARGEST = 30.0
"""Of a logit: exp(30) samples of a class seen are as good as any number of them."""


@register("prior-network")
@dataclass
class PriorNetwork(Method):
    """[KL(Dir(a) | Dir(b)) + weight * KL(Dir(a(x_out)) | Dir(1))] / concentration, a = exp(z).

    b is 1 + concentration for the label and 1 for every other class. This is the reverse divergence, from the
    network to the target; for a_0 = sum a, b_0 = sum b, psi the digamma function,
    KL = ln G(a_0) - sum ln G(a_k) - ln G(b_0) + sum ln G(b_k) + sum (a_k - b_k)(psi(a_k) - psi(a_0)).
    Q = softmax(z) = a / a_0 is its mean. Divided, so that it is as large as cross entropy: that is ours.
    """

    concentration: Annotated[float, Range(1e-6)] = 100.0
    """What the label has more than the others. Default: the authors'."""
    weight: Factor = 1.0
    """Of the term of inputs of no class. Default: the authors'."""
    outliers: Any = field(default=None, repr=False, compare=False)
    """(M, ...) samples known to belong to no class, as the network reads them. Default: as in `oe`."""

    per_sample = False

    def loss(self, step: Step) -> Tensor:
        """The divergence of each sample, and that of one input of no class."""
        logits = step.logits
        target = 1.0 + self.concentration * F.one_hot(step.target, logits.shape[1])
        loss = dirichlet_divergence(logits, target)
        if self.weight:
            outside = outside_inputs(self.outliers, step, self.task.generator, "prior-network")
            said = step.forward(outside).logits
            loss = loss + self.weight * dirichlet_divergence(said, torch.ones_like(target))
        return (loss / self.concentration).to(logits.dtype)


def dirichlet_divergence(logits: Tensor, target: Tensor) -> Tensor:
    """(N,) KL(Dir(exp(logits)) | Dir(target)), in float64: its terms are large and nearly cancel."""
    own, other = logits.double().clamp(-_LARGEST, _LARGEST).exp(), target.double()
    own_sum, other_sum = own.sum(dim=1, keepdim=True), other.sum(dim=1, keepdim=True)
    constant = own_sum.lgamma() - other_sum.lgamma()
    terms = other.lgamma() - own.lgamma() + (own - other) * (own.digamma() - own_sum.digamma())
    return constant.squeeze(1) + terms.sum(dim=1)
