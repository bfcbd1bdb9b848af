"""The Gray loss of small batches on the CPU, where a call costs more than its arithmetic: numpy in float64.

A call of numpy costs a fraction of one of torch, and float64 leaves so many digits to spare that the plain
form is exact in float32 and the half types. Per row the most probable class ("top") stands apart: e_k =
exp(z_k - z_top) over all others, T their sum, so 1 - Q_top = T / (1 + T) cannot cancel. With r_k = Q_k /
(1 - Q_k) over the classes that are neither top nor label, R their sum and D = R + [top != y] / T:

    L_C  = sum_k log(1 + r_k) - [top != y] log(1 - Q_top)
    dL_C = r - Q D  for those classes and the label (where r = 0),  Q_top (1 - R)  for a top that is no label

Extreme rows (infinite, NaN or underflowing) are not computed here: the caller has a form for them.
"""

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from graylearn.array_types import Bools, Floats, Ints, Singles
from graylearn.losses.fused import LIMIT, known
from graylearn.losses.rows import Inputs, can_look_at_values, check_labels, result_dtype

SMALLEST_REST = 1e-290
"""Below it T has lost digits to underflow."""

_quiet = np.errstate(all="ignore")  # what overflows or is NaN is found by looking at the loss


def suits(logits: Tensor, target: Tensor) -> bool:
    """Whether a batch is small, on the CPU, plain and of a type that float64 computes to its last digit."""
    return (
        can_look_at_values(logits)
        and logits.ndim == 2
        and 0 < logits.numel() <= LIMIT
        and logits.dtype != torch.float64
        and type(logits) in (Tensor, nn.Parameter)
        and type(target) is Tensor
    )


@lru_cache(maxsize=64)
def _row_starts(num_rows: int, num_classes: int) -> Ints:
    """Where each row begins in the flat logits."""
    return np.arange(0, num_rows * num_classes, num_classes)


@_quiet
def small_rows(
    logits: Singles, label: Ints, confidence: str | Floats, scale: float | Floats | None, want: bool
) -> tuple[Floats, Floats | None] | None:
    """Losses (N,) and, if wanted, gradients (N, K), each times its scale; None where a row is extreme."""
    starts = _row_starts(*logits.shape)
    top = logits.argmax(1)
    at_top, at_label = starts + top, starts + label
    e = np.subtract(logits, logits.take(at_top)[:, None], dtype=np.float64, order="C")
    flat = e.reshape(-1)  # a view, as the order is C
    below = flat[at_label]  # by how much the label's logit is below the top's
    np.exp(e, out=e)
    e_label = flat[at_label]
    flat[at_top] = 0.0
    T = np.add.reduce(e, axis=1)
    if not np.minimum.reduce(T) > SMALLEST_REST:
        return None
    lead = 1 / (1 + T)
    others = T * lead
    Q_label = e_label * lead
    rest = (T + (1 - e_label)) * lead  # 1 - Q_label; 1 - e_label is exactly 0 where the label is the top
    other_top = (top != label).astype(np.float64)
    flat[at_label] = 0.0
    e *= lead[:, None]
    odds = e / (1 - e)

    if not isinstance(confidence, str):
        certain, doubt = confidence, 1 - confidence
    else:
        certain, doubt = (lead, others) if confidence == "max" else (Q_label, rest)
    if scale is not None:
        certain, doubt = certain * scale, doubt * scale
    rejected = np.add.reduce(np.log1p(odds), axis=1) - other_top * np.log(others)
    losses = certain * (np.log1p(T) - below) + doubt * rejected
    if not math.isfinite(np.add.reduce(losses)):
        return None
    if not want:
        return losses, None

    R = np.add.reduce(odds, axis=1)
    doubt_D = doubt * (R + other_top / T)
    odds *= doubt[:, None]
    e *= (certain - doubt_D)[:, None]
    e += odds
    flat[at_top] = lead * (certain + doubt * (1 - R))
    flat[at_label] = -(certain * rest + doubt_D * Q_label)
    return losses, e


def _scale(label: Ints, valid: Bools | None, weight: Tensor | None, mean: bool) -> float | Floats | None:
    """What each row's loss is multiplied by before all are summed; None where that is one."""
    if weight is None:
        if valid is None:
            return 1 / len(label) if mean else None
        scale = valid.astype(np.float64)
    else:
        scale = weight.detach().double().numpy()[label]
        if valid is not None:
            scale = np.where(valid, scale, 0.0)
    if not mean:
        return scale
    with np.errstate(all="ignore"):  # weights that sum to 0 make a NaN
        share: Floats = scale / scale.sum()
    return share


def gray_small(inputs: Inputs) -> Tensor | None:
    """The reduced loss of a batch that `suits`, with its gradient behind it; None where a row is extreme."""
    logits, target, confidence, weight, ignore_index, reduction = inputs
    num_classes = logits.shape[1]
    label = target.numpy().astype(np.int64, copy=False)
    valid = None
    highest = np.maximum.reduce(label.view(np.uint64))  # a negative label is a huge one
    if highest >= num_classes or 0 <= ignore_index < num_classes:
        check_labels(target, num_classes, ignore_index)
        valid = label != ignore_index
        label = np.where(valid, label, 0)
    want = logits.requires_grad and torch.is_grad_enabled()
    found = small_rows(
        logits.detach().float().numpy(),
        label,
        confidence if isinstance(confidence, str) else confidence.detach().double().numpy(),
        _scale(label, valid, weight, reduction == "mean"),
        want,
    )
    if found is None:
        return None
    losses, slopes = found
    reduced = losses if reduction == "none" else np.add.reduce(losses)
    value = torch.from_numpy(np.asarray(reduced, np.float32)).to(result_dtype(logits))
    gradient = None if slopes is None else torch.from_numpy(slopes.astype(np.float32))
    return known(inputs, value, gradient)
