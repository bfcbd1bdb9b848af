"""isomax: isotropy maximisation, logits that are distances to prototypes (Macêdo et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Method, Step, register
from graylearn.methods.checks import Range


@register("isomax")
@dataclass
class Isotropic(Method):
    """-log softmax(s z)_y with z_k = -|f - p_k|, the distances of features to learned prototypes.

    The network gives z: `graylearn.nets.PrototypeNet` around any other. The factor s is left out when it is
    asked, so that probabilities are spread out and their entropy tells what belongs to no class. Logits of
    another kind are multiplied by s, and this is their cross entropy.
    """

    scale: Annotated[float, Range(1e-6)] = 10.0
    """s, in training alone. Default: the authors'."""

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of the scaled logits of each sample."""
        return F.cross_entropy(self.scale * step.logits, step.target, reduction="none")
