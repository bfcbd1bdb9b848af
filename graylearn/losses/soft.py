"""The Gray loss that is to be expected where the label is drawn from a target t over the classes.

    sum_k t_k (C_k l_k + (1 - C_k) sum_{j != k} e_j),        l_k = -log Q_k,        e_k = -log(1 - Q_k)

Taken class by class this is the cost of K losses; with the sums in the other order it is that of one:

    sum_k t_k C_k l_k + sum_j (D - d_j) e_j,        d_k = t_k (1 - C_k),        D = sum_k d_k

C_k is the confidence where the label is k: one number a row, but for "label", where it is Q_k.
"""

import torch
from torch import Tensor

from graylearn.losses import checks
from graylearn.losses.reference import Confidence, log_one_minus, relative_confidence
from graylearn.losses.rows import compute_dtype, make_rows


def soft_gray_loss(
    logits: Tensor,
    target: Tensor,
    confidence: Confidence,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    smoothing: float,
) -> Tensor:
    """The loss of probabilities, or of class indices with label smoothing, reduced as cross_entropy does.

    There the weight of a class goes with its share of the target; the mean divides by the weights of the
    labels, or by the number of rows where the targets are probabilities.
    """
    label, known = target, not target.is_floating_point()
    if not known:
        checks.check_soft(logits, target, ignore_index)
        one_class = target.select(1 if target.ndim > 1 else 0, 0)
        label, ignore_index = torch.zeros_like(one_class, dtype=torch.int64), -1  # any label: none is ignored
    confidence = checks.check_confidence(confidence, label, ignore_index)
    rows = make_rows(logits, label, weight, ignore_index)
    full = rows.logits.to(compute_dtype(logits.dtype))
    counted = rows.weight if known else torch.ones_like(rows.weight)
    if known:
        share = torch.zeros_like(full).scatter(1, rows.target.unsqueeze(1), 1.0)
    else:
        share = (target if rows.batched else target.unsqueeze(0)).to(full.dtype)
    share = (1 - smoothing) * share + smoothing / full.shape[1]
    if weight is not None:
        share = share * weight.to(full.dtype).view(-1, *[1] * (full.ndim - 2))
    if isinstance(confidence, Tensor):
        confidence = rows.confidence(confidence.detach())
    elif confidence == "relative":
        confidence = relative_confidence(full, rows.valid)
    losses = torch.where(rows.valid, soft_gray_rows(full, share, confidence), 0.0)
    losses = torch.where(counted.isnan(), counted, losses)
    if reduction == "mean":
        losses = losses.sum() / counted.sum()
    return rows.result(losses.sum() if reduction == "sum" else losses, reduction)


def soft_gray_rows(logits: Tensor, share: Tensor, confidence: Confidence) -> Tensor:
    """(N, ...) the loss of each row, C constant in the gradient; logits and share (N, K, ...).

    A share is what a row's target has of a class, or that times the weight of the class.
    """
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
