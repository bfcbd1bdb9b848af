"""What the methods with two networks share."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Step


def peer_losses(step: Step) -> Tensor:
    """Cross entropy of each sample under each network, (networks, N)."""
    networks, size, classes = step.logits.shape
    target = step.target.expand(networks, size)
    loss = F.cross_entropy(step.logits.reshape(-1, classes), target.reshape(-1), reduction="none")
    return loss.view(networks, size)
