"""The exact identity behind the Gray loss: cross entropy plus a remainder that is never positive."""

import torch
import torch.nn.functional as F
from torch import Tensor

from graylearn.losses import complementary_loss
from graylearn.losses.reference import confidence_and_doubt


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
