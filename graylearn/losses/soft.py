"""The Gray loss that is to be expected where the label is drawn from a target t over the classes.

    sum_k t_k (C_k l_k + (1 - C_k) sum_{j != k} e_j),        l_k = -log Q_k,        e_k = -log(1 - Q_k)

Taken class by class this is the cost of K losses; with the sums in the other order it is that of one:

    sum_k t_k C_k l_k + sum_j (D - d_j) e_j,        d_k = t_k (1 - C_k),        D = sum_k d_k

C_k is the confidence where the label is k: one number a row, but for "label", where it is Q_k.
"""

import torch
from torch import Tensor

from graylearn.losses.reference import Confidence, log_one_minus, relative_confidence


def soft_gray_rows(logits: Tensor, share: Tensor, confidence: Confidence) -> Tensor:
    """(N,) the loss of each row, C constant in the gradient; logits and share, which adds up to 1, (N, K)."""
    log_probs = logits.log_softmax(1)
    top = log_probs.detach().argmax(1, keepdim=True)
    others = log_probs.scatter(1, top, float("-inf")).exp()  # at most 1/2 each
    excluded = -torch.log1p(-others).scatter(1, top, log_one_minus(logits, top))
    certain, doubt = _confidence_and_doubt(log_probs.detach(), excluded.detach(), top, confidence)
    doubted = share * doubt
    left = (doubted.sum(1, keepdim=True) - doubted).clamp_min(0.0)
    return (_counted(share * certain, -log_probs) + _counted(left, excluded)).sum(1)


def _confidence_and_doubt(
    log_probs: Tensor, excluded: Tensor, top: Tensor, confidence: Confidence
) -> tuple[Tensor, Tensor]:
    """C and 1 - C for each class that may be the label, or (N, 1) where it is the same for all."""
    if isinstance(confidence, str) and confidence != "relative":
        certain, doubt = log_probs.exp(), (-excluded).exp()
        return (certain, doubt) if confidence == "label" else (certain.gather(1, top), doubt.gather(1, top))
    known = confidence if isinstance(confidence, Tensor) else relative_confidence(log_probs)
    certain = known.to(log_probs.dtype).unsqueeze(1)
    return certain, 1 - certain


def _counted(weight: Tensor, loss: Tensor) -> Tensor:
    """weight * loss, where a weight of zero beats an infinite loss."""
    return torch.where(weight == 0, 0.0, weight * loss)
