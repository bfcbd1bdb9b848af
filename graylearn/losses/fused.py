"""The Gray loss in closed form on any device: loss and gradient in one sweep over cache-sized chunks.

Where a gradient is wanted it is computed together with the loss, so autograd keeps the gradient and the
inputs and no other (N, K) tensor ever exists. Notation as in reference.py; per row the most probable class
("top") stands apart: e_k = exp(z_k - m2) over all others, m2 their maximum, and
x_k = Q_k = e_k * c <= 1/2, so neither 1 - x_k nor the top's own 1 - Q can cancel, and nothing overflows.
"""

import math
from typing import Any

import torch
from torch import Tensor

from graylearn.losses.reference import gray_gradient, mix
from graylearn.losses.rows import Confidence, Inputs, can_look_at_values, compute_dtype
from graylearn.torch_internals import is_batched

LIMIT = 1 << 13
"""Most elements of a batch that is small: see small.py."""
# Elements a chunk and thread: four float32 temporaries of it are 4 MiB, small beside any batch that is cut,
# and large enough that the sixty calls into torch per chunk cost little (2^16 took twice as long on a CPU).
CHUNK = 1 << 18


def sum_log1m(x: Tensor) -> Tensor:
    """sum_k log(1 - x_k) over dim 1, (N, 1, ...), for x <= 1/2 that sum to at most 1; spends its argument.

    1 - (1 - a)(1 - b) = a - ab + b joins two classes and keeps the relative precision of small x, and the
    whole product is at least 1/4. So the classes are folded together, and the logarithm, by far the dearest
    step on a CPU, is taken of a few columns instead of K.
    """
    width = x.shape[1]
    while width > 4:
        half = width // 2
        left, right = x[:, :half], x[:, width - half : width]
        left.addcmul_(right, left, value=-1).add_(right)
        width -= half
    return torch.log1p(-x[:, :width]).sum(1, keepdim=True)


def closed_form(
    logits: Tensor, target: Tensor, confidence: Confidence, scale: Tensor, gradient: Tensor | None
) -> Tensor:
    """Losses (N, ...) of the rows of logits (N, K, ...), each times its scale; fills `gradient` if given."""
    dtype = compute_dtype(logits.dtype)
    y = target.unsqueeze(1)
    top_logit, top = logits.max(1, keepdim=True)
    top_logit = top_logit.to(dtype)
    z_y = logits.gather(1, y).to(dtype)
    e = logits.to(dtype, copy=True).scatter_(1, top, -math.inf)
    second = e.amax(1, keepdim=True)
    e.sub_(second.masked_fill(second == -math.inf, 0.0)).exp_()
    T = e.sum(1, keepdim=True)
    gap = (second - top_logit) + (top_logit - top_logit)  # an infinite logit is a NaN, as in cross_entropy
    down = gap.exp()
    total = 1 + down * T
    lead, others = 1 / total, down * T / total  # the top's Q and 1 - Q
    c = down / total
    y_is_top = top == y
    e_y = e.gather(1, y)
    x_y = e_y * c

    x = e * c
    work = e / (1 - x) if gradient is not None else None
    log_total = torch.log1p(down * T)
    of_top = torch.where(y_is_top, 0.0, gap + T.log() - log_total)
    rejected = torch.log1p(-x_y) - sum_log1m(x) - of_top

    if isinstance(confidence, Tensor):
        certain = confidence.to(dtype).unsqueeze(1)
        doubt = 1 - certain
    elif confidence == "max":
        certain, doubt = lead, others
    else:
        certain = torch.where(y_is_top, lead, x_y)
        doubt = torch.where(y_is_top, others, 1 - x_y)
    loss = mix(certain, doubt, log_total + (top_logit - z_y), rejected)

    if gradient is not None and work is not None:
        factor = scale.unsqueeze(1)
        odds = c * work.sum(1, keepdim=True) - x_y / (1 - x_y)
        # The rejected top takes doubt * lead * e / T off every other class.
        pull = torch.where(y_is_top | (T == 0), 0.0, doubt * lead / T)
        of_e = c * (certain - doubt * odds) - pull
        if isinstance(confidence, str) and confidence == "max":  # here pull = c * certain exactly
            of_e = torch.where(y_is_top, of_e, -c * doubt * odds)
        at_top = torch.where(
            y_is_top, -certain * others - doubt * lead * odds, lead * (certain + doubt * (1 - odds))
        )
        at_y = torch.where(y_is_top, at_top, certain * (x_y - 1) - doubt * x_y * odds - pull * e_y)
        work.mul_(doubt * c * factor).addcmul_(e, of_e * factor)
        work.scatter_(1, top, at_top * factor).scatter_(1, y, at_y * factor)
        gradient.copy_(work)
    return loss.squeeze(1) * scale


def sweep(
    logits: Tensor, target: Tensor, confidence: Confidence, scale: Tensor, gradient: Tensor | None
) -> Tensor:
    """`closed_form` over pieces of the batch, so that its temporaries stay small whatever the batch."""
    if logits.numel() == 0:
        return logits.new_zeros(target.shape, dtype=scale.dtype)
    limit = CHUNK * (torch.get_num_threads() if logits.device.type == "cpu" else 256)
    num_classes = logits.shape[1]
    # (N, K, D): dim 2 is cut too where one sample alone is over the limit.
    shape = (len(logits), num_classes, -1) if logits.ndim > 2 else logits.shape
    rows = (len(logits), -1) if logits.ndim > 2 else target.shape
    logits, target, scale = logits.reshape(shape), target.reshape(rows), scale.reshape(rows)
    if isinstance(confidence, Tensor):
        confidence = confidence.reshape(rows)
    into = None if gradient is None else gradient.view(shape)
    inner = logits.shape[2] if logits.ndim > 2 else 1
    wide = max(1, min(inner, limit // num_classes))
    tall = max(1, limit // (num_classes * wide))
    losses = torch.empty(target.shape, dtype=scale.dtype, device=logits.device)
    for start in range(0, len(logits), tall):
        for left in range(0, inner, wide):
            piece: Any = slice(start, start + tall)
            if logits.ndim > 2:
                piece = (piece, ..., slice(left, left + wide))
            losses[piece] = closed_form(
                logits[piece],
                target[piece],
                confidence[piece] if isinstance(confidence, Tensor) else confidence,
                scale[piece],
                None if into is None else into[piece],
            )
    return losses


class Known(torch.autograd.Function):
    """Puts a loss whose gradient was made with it into the graph."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        target: Tensor,
        confidence: Confidence,
        weight: Tensor | None,
        ignore_index: int,
        reduction: str,
        made: tuple[Tensor, Tensor],
    ) -> Tensor:
        """Keep the gradient, and the inputs for a second derivative or a second backward."""
        value, gradient = made  # in a tuple, as autograd would make a view of an input that is returned
        rule, given = (confidence, None) if isinstance(confidence, str) else ("", confidence)
        ctx.save_for_backward(logits, target, given, weight, gradient)
        ctx.settings, ctx.spent = (rule, ignore_index, reduction), False
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Scale the stored gradient; write it out in torch where it must itself be differentiable."""
        logits, target, given, weight, gradient = ctx.saved_tensors
        rule, ignore_index, reduction = ctx.settings
        inputs = Inputs(logits, target, rule if given is None else given, weight, ignore_index, reduction)
        nothing, received = (None,) * 6, grads[0]
        by = received.unsqueeze(1) if reduction == "none" and logits.ndim > 1 else received
        if torch.is_grad_enabled():
            return gray_gradient(received, inputs), *nothing
        if ctx.spent:
            gradient = _computed(inputs, want=True)[1]
        if gradient.numel() <= LIMIT or is_batched(received):  # several at once do not fit where one is kept
            return (gradient * by).to(logits.dtype), *nothing
        ctx.spent = True  # scaled in place below, so a second backward must start afresh
        if not (reduction != "none" and can_look_at_values(received) and received.item() == 1):
            gradient.data.mul_(by)  # .data: autograd must not take this for a change of its saved tensor
        return gradient, *nothing


def known(inputs: Inputs, value: Tensor, gradient: Tensor | None) -> Tensor:
    """The loss `value`, with its `gradient` behind it if there is one."""
    if gradient is None:
        return value
    loss: Tensor = Known.apply(*inputs, (value, gradient))  # type: ignore[no-untyped-call]
    return loss


def _computed(inputs: Inputs, want: bool) -> tuple[Tensor, Tensor | None]:
    """The reduced loss and, if wanted, its gradient."""
    rows = inputs.rows()
    gradient = torch.empty_like(rows.logits, memory_format=torch.contiguous_format) if want else None
    losses = sweep(
        rows.logits, rows.target, rows.confidence(inputs.confidence), rows.scale(inputs.reduction), gradient
    )
    losses = torch.where(rows.valid, losses.view_as(rows.target), 0.0)
    value = rows.result(losses if inputs.reduction == "none" else losses.sum(), inputs.reduction)
    return value, None if gradient is None else gradient.view_as(inputs.logits)


def gray_fused(inputs: Inputs) -> Tensor:
    """The reduced loss with the closed-form gradient behind it."""
    want = torch.is_grad_enabled() and inputs.logits.requires_grad
    with torch.no_grad():
        value, gradient = _computed(inputs, want)
    return known(inputs, value, gradient)
