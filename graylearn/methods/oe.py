"""oe: outlier exposure, what does not belong is taught as all classes alike (Hendrycks et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Method, Step, register
from graylearn.methods.checks import Factor
from graylearn.methods.exposure import outside_inputs, uniform_loss


@register("oe")
@dataclass
class OutlierExposure(Method):
    """L_G + weight * (-1/K sum_k log Q_k(x_out)), x_out of no class: also cross entropy, to the uniform."""

    weight: Factor = 0.5
    """Of the second term. Default: the authors'."""
    outliers: Any = field(default=None, repr=False, compare=False)
    """(M, ...) samples known to belong to no class, as the network reads them. Default: the batch with its
    columns shuffled, each by itself, which is ours and much less than known samples are."""

    per_sample = False

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample, and what one input of no class adds to it."""
        outside = outside_inputs(self.outliers, step, self.task.generator, "oe")
        said = step.forward(outside).logits.to(step.logits.dtype)
        loss = F.cross_entropy(step.logits, step.target, reduction="none")
        return loss + self.weight * uniform_loss(said)
