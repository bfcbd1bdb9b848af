"""The Gray loss in plain torch: slow, short, and differentiable as often as one likes.

For logits z with classes on dim 1, Q = softmax(z), label y and confidence C:

    L_G = -log Q_y        L_C = -sum_{k != y} log(1 - Q_k)        L_M = C * L_G + (1 - C) * L_C

At most one class has Q > 1/2, so log1p(-Q) is safe for all but the most probable class ("top"), whose
1 - Q is summed from the others. Losses come back one per row, unreduced, with dim 1 gone.

If the label is drawn from a target t over the classes, the expected loss is

    sum_k t_k (C_k l_k + (1 - C_k) sum_{j != k} e_j),        l_k = -log Q_k,        e_k = -log(1 - Q_k)

Class by class that costs K losses; with the sums exchanged it costs one:

    sum_k t_k C_k l_k + sum_j (D - d_j) e_j,        d_k = t_k (1 - C_k),        D = sum_k d_k

C_k is the confidence where the label is k: one number per row, but for "label", where it is Q_k.
"""

import torch
from torch import Tensor

from graylearn.losses.rows import Confidence, Inputs, check_batch, check_confidence, compute_dtype


def log_one_minus(logits: Tensor, index: Tensor) -> Tensor:
    """log(1 - Q_index) of the named class, from the others: right also where Q_index rounds to one.

    The others are shifted by the largest among them: by that of all, those far below it would round to one
    another. The floor keeps the gradient finite where every other class is masked with -inf.
    """
    floor = torch.finfo(logits.dtype).min
    others = logits.clamp_min(floor).scatter(1, index, float("-inf"))
    first = logits.detach().amax(1, keepdim=True)
    second = others.detach().amax(1, keepdim=True).clamp_min(floor)
    lead = (first - second).clamp_max(-floor)
    return (others - second).logsumexp(1, keepdim=True) - (logits - first).logsumexp(1, keepdim=True) - lead


def mix(confidence: Tensor, doubt: Tensor, given: Tensor, rejected: Tensor) -> Tensor:
    """confidence * given + doubt * rejected, where a weight of zero beats an infinite loss."""
    zero = given.new_zeros(())
    return torch.where(confidence == 0, zero, confidence * given) + torch.where(
        doubt == 0, zero, doubt * rejected
    )


def top_and_doubt(log_probs: Tensor, top: Tensor) -> tuple[Tensor, Tensor]:
    """Q of the most probable class and 1 - Q, (N, 1, ...), each with all its digits, also in its slope.

    A Q near one has the slope of -doubt: its own, Q (1 - Q), would be the difference of two numbers that are
    nearly equal and, multiplied by what hangs on Q, as large as the loss.
    """
    doubt = log_one_minus(log_probs, top).exp()
    certain = log_probs.gather(1, top).exp()
    return torch.where(certain > 0.5, certain.detach() - (doubt - doubt.detach()), certain), doubt


def relative_confidence(logits: Tensor, valid: Tensor | None = None, detach: bool = True) -> Tensor:
    """max_k Q_k of each row over its median among all rows that are `valid`, at most 1; (N, ...).

    How sure the network is of each next to the others of its batch: 1 from the median on. Of an even number
    of rows the lower middle one is the median. Rows that are NaN have no part in it; those not valid get 1.
    """
    if detach:
        top = logits.detach().softmax(1).amax(1)
    else:
        top = top_and_doubt(logits.log_softmax(1), logits.detach().argmax(1, keepdim=True))[0].squeeze(1)
    if valid is None:
        return (top / top.nanmedian()).clamp(max=1.0)
    middle = torch.where(valid, top, float("nan")).nanmedian()
    middle = torch.where(middle.isnan(), 1.0, middle)  # of no rows: divided by NaN, their slope would be too
    return torch.where(valid, (top / middle).clamp(max=1.0), 1.0)


def confidence_and_doubt(
    log_probs: Tensor, index: Tensor | None, confidence: Confidence
) -> tuple[Tensor, Tensor]:
    """C and 1 - C of each row, (N, 1, ...); the second never by subtracting from one what is near one.

    Without the `index` of the label, "label" has one of each class, (N, K, ...).
    """
    if isinstance(confidence, str) and confidence == "relative":
        confidence = relative_confidence(log_probs)
    if isinstance(confidence, Tensor):
        given = confidence.to(log_probs.dtype).unsqueeze(1)
        return given, 1 - given
    top = log_probs.detach().argmax(1, keepdim=True)
    certain, doubt = top_and_doubt(log_probs, top)
    if confidence == "max":
        return certain, doubt
    each = log_probs.exp()
    certain, doubt = each.scatter(1, top, certain), (1 - each).scatter(1, top, doubt)
    return (certain, doubt) if index is None else (certain.gather(1, index), doubt.gather(1, index))


def excluded(logits: Tensor) -> Tensor:
    """-log(1 - Q_k) of every class, (N, K, ...): what it costs not to be of that class."""
    log_probs = logits.log_softmax(1)
    top = log_probs.detach().argmax(1, keepdim=True)
    others = log_probs.scatter(1, top, float("-inf")).exp()  # at most 1/2 each
    return -torch.log1p(-others).scatter(1, top, log_one_minus(logits, top))


def gray_rows(logits: Tensor, target: Tensor, confidence: Confidence, detach: bool) -> Tensor:
    """L_M of each row; logits (N, K, ...) in float32 or float64, target (N, ...) within 0..K-1."""
    index = target.unsqueeze(1)
    log_probs = logits.log_softmax(1)
    rejected = excluded(logits).scatter(1, index, 0.0).sum(1, keepdim=True)
    given = -log_probs.gather(1, index)
    certain, doubt = confidence_and_doubt(log_probs.detach() if detach else log_probs, index, confidence)
    if detach:
        certain, doubt = certain.detach(), doubt.detach()
    return mix(certain, doubt, given, rejected).squeeze(1)


def gray_gradient(received: Tensor, inputs: Inputs) -> Tensor:
    """The gradient of the reduced loss, C constant, times `received`; differentiable again."""
    rows = inputs.rows()
    given, scale = rows.confidence(inputs.confidence), rows.scale(inputs.reduction)

    def loss(scores: Tensor) -> Tensor:
        return gray_rows(scores, rows.target, given, True).sum()

    factor = (received.to(scale.dtype) * scale).unsqueeze(1)
    slope: Tensor = torch.func.grad(loss)(rows.logits.to(scale.dtype)) * factor
    return slope.view_as(inputs.logits).to(inputs.logits.dtype)


def soft_gray_loss(inputs: Inputs, smoothing: float) -> Tensor:
    """The loss of probabilities, or of class indices with label smoothing, reduced as cross_entropy does.

    There the weight of a class goes with its share of the target; the mean divides by the weights of the
    labels, or by the number of rows where the targets are probabilities.
    """
    target, weight, reduction = inputs.target, inputs.weight, inputs.reduction
    known = not target.is_floating_point()
    if not known:
        if target.shape != inputs.logits.shape or target.ndim == 0:
            raise ValueError(
                f"target is {target.dtype} of shape {tuple(target.shape)} for logits"
                f" {tuple(inputs.logits.shape)}; expected class indices as int64, or probabilities of the"
                " shape of the logits"
            )
        if inputs.ignore_index >= 0:
            raise ValueError(
                f"ignore_index is {inputs.ignore_index}, which is for class indices; target is probabilities"
            )
        one_class = target.select(1 if target.ndim > 1 else 0, 0)
        # any label: none is ignored
        inputs = inputs._replace(target=torch.zeros_like(one_class, dtype=torch.int64), ignore_index=-1)
    confidence = inputs.confidence
    check_batch(inputs.logits, inputs.target, weight)
    check_confidence(confidence, inputs.target, inputs.ignore_index)
    rows = inputs.rows()
    full = rows.logits.to(compute_dtype(rows.logits.dtype))
    counted = rows.weight if known else torch.ones_like(rows.weight)
    if known:
        share = torch.zeros_like(full).scatter(1, rows.target.unsqueeze(1), 1.0)
    else:
        share = (target if rows.batched else target.unsqueeze(0)).to(full.dtype)
    share = (1 - smoothing) * share + smoothing / full.shape[1]
    if weight is not None:
        share = share * weight.to(full.dtype).view(-1, *[1] * (full.ndim - 2))
    if isinstance(confidence, str) and confidence == "relative":
        confidence = relative_confidence(full, rows.valid)
    else:
        confidence = rows.confidence(confidence)
    losses = torch.where(rows.valid, soft_gray_rows(full, share, confidence), 0.0)
    losses = torch.where(counted.isnan(), counted, losses)
    if reduction == "mean":
        losses = losses.sum() / counted.sum()
    return rows.result(losses.sum() if reduction == "sum" else losses, reduction)


def soft_gray_rows(logits: Tensor, share: Tensor, confidence: Confidence) -> Tensor:
    """(N, ...) the loss of each row, C constant in the gradient; logits and share (N, K, ...).

    A share is what a row's target has of a class, or that times the weight of the class.
    """
    log_probs, rejected = logits.log_softmax(1), excluded(logits)
    certain, doubt = confidence_and_doubt(log_probs.detach(), None, confidence)
    doubted = share * doubt
    left = (doubted.sum(1, keepdim=True) - doubted).clamp_min(0.0)
    return (_counted(share * certain, -log_probs) + _counted(left, rejected)).sum(1)


def _counted(weight: Tensor, loss: Tensor) -> Tensor:
    """weight * loss, where a weight of zero beats an infinite loss."""
    return torch.where(weight == 0, 0.0, weight * loss)
