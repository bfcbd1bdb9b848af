"""What every loss shares: from (logits, target, weight, ignore_index) to rows, and from rows to the result.

The conventions are those of torch.nn.functional.cross_entropy: classes on dim 1 (or 0 without a batch),
ignored rows count neither in the sum nor in the mean, and the mean divides by the sum of the class weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from graylearn.losses import checks

Confidence = str | Tensor
"""How C is found: "max", "label", "relative", or one value per row."""


class Inputs(NamedTuple):
    """What a loss is given; see `gray_loss`."""

    logits: Tensor
    target: Tensor
    confidence: Confidence
    weight: Tensor | None
    ignore_index: int
    reduction: str

    def rows(self) -> Rows:
        """Checked and brought to (N, K, ...)."""
        return make_rows(self.logits, self.target, self.weight, self.ignore_index)


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype losses are computed in: float32 for the half types, otherwise their own."""
    return torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype


def result_dtype(logits: Tensor) -> torch.dtype:
    """The dtype of the loss: that of the logits, but float32 under autocast, as cross_entropy has it."""
    if logits.dtype in (torch.bfloat16, torch.float16) and torch.is_autocast_enabled(logits.device.type):
        return torch.float32
    return logits.dtype


@dataclass(frozen=True)
class Rows:
    """A checked batch whose every target is a class."""

    logits: Tensor
    """(N, K, ...) as given."""
    target: Tensor
    """(N, ...) int64, ignored rows pointing at class 0."""
    valid: Tensor
    """(N, ...) which rows count."""
    weight: Tensor
    """(N, ...) weight of each row in the computing dtype: 0 if ignored, NaN if its label is no class."""
    batched: bool
    """False where the logits came as (K,)."""

    def confidence(self, given: Confidence) -> Confidence:
        """A rule as it is; values as (N, ...), NaN where one outside [0, 1] could not be looked at before."""
        if isinstance(given, str):
            return given
        given = given if self.batched else given.unsqueeze(0)
        if checks.can_look_at_values(given):
            return given
        given = torch.where((given >= 0) & (given <= 1), given, float("nan"))
        return torch.where(self.valid, given, 0.0)

    def scale(self, reduction: str) -> Tensor:
        """What each row's loss is multiplied by before all are summed (or not, for "none")."""
        if reduction != "mean":
            return self.weight
        return torch.where(self.valid, self.weight / self.weight.sum(), 0.0)

    def result(self, values: Tensor, reduction: str) -> Tensor:
        """Scaled rows or their sum in the shape and dtype the caller expects; the mean of no rows is NaN."""
        values = values.to(result_dtype(self.logits))
        if reduction == "mean":
            return torch.where(self.valid.any(), values, float("nan"))
        return values if self.batched or values.ndim == 0 else values.squeeze(0)


def make_rows(logits: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> Rows:
    """Check a batch and bring it to (N, K, ...)."""
    checks.check_shapes(logits, target, weight)
    target = target.long()
    checks.check_labels(target, logits.shape[1 if logits.ndim > 1 else 0], ignore_index)
    batched = logits.ndim > 1
    if not batched:
        logits, target = logits.unsqueeze(0), target.unsqueeze(0)
    valid = target != ignore_index
    inside = (target >= 0) & (target < logits.shape[1])
    target = torch.where(valid & inside, target, 0)
    dtype = compute_dtype(logits.dtype)
    of_row = valid.to(dtype) if weight is None else torch.where(valid, weight.to(dtype)[target], 0.0)
    if not checks.can_look_at_values(target):
        of_row = torch.where(valid & ~inside, float("nan"), of_row)
    return Rows(logits, target, valid, of_row, batched)


def reduce_rows(losses: Tensor, rows: Rows, reduction: str) -> Tensor:
    """Weight the rows' losses and reduce them; an ignored row counts nothing, whatever its loss."""
    losses = torch.where(rows.valid, losses * rows.scale(reduction), 0.0)
    return rows.result(losses if reduction == "none" else losses.sum(), reduction)


def per_row(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    loss: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """A whole loss from `loss(logits (N, K, ...) in the computing dtype, target (N, ...)) -> (N, ...)`."""
    checks.check_reduction(reduction)
    rows = make_rows(logits, target, weight, ignore_index)
    return reduce_rows(loss(rows.logits.to(compute_dtype(logits.dtype)), rows.target), rows, reduction)
