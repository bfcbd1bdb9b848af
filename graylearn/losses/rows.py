"""What every loss shares: what it refuses, from its arguments to rows, and from rows to the result.

The conventions are those of torch.nn.functional.cross_entropy: classes on dim 1 (or 0 without a batch),
ignored rows count neither in the sum nor in the mean, and the mean divides by the sum of the class weights.

Looking at values (labels, confidences) stalls a GPU and cannot be traced, so that is done on the CPU in
eager mode only; elsewhere a row with an impossible label or confidence turns NaN, loss and gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from graylearn.torch_internals import is_traced, transforms_active

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
RULES = ("max", "label", "relative")
"""The named confidences."""
Confidence = str | Tensor
"""How C is found: one of RULES, or one value per row."""


# -- what is refused --------------------------------------------------------------------------------------


def can_look_at_values(tensor: Tensor) -> bool:
    """Whether reading values of `tensor` costs nothing."""
    if tensor.device.type != "cpu":
        return False
    return not (torch.compiler.is_compiling() or transforms_active() or is_traced())


def check_tensors(**given: object) -> None:
    """Refuse arrays, lists and numbers."""
    for name, value in given.items():
        if not isinstance(value, Tensor):
            raise TypeError(
                f"expected a tensor for {name}, got a {type(value).__name__}; use torch.as_tensor"
            )


def check_settings(
    *,
    confidence: object = "max",
    weight: Tensor | None = None,
    reduction: str = "mean",
    label_smoothing: object = 0.0,
) -> None:
    """Refuse settings that suit no batch."""
    if isinstance(confidence, str) and confidence not in RULES:
        raise ValueError(f"confidence is {confidence!r}; the known names are 'max', 'label' and 'relative'")
    if weight is not None:
        check_tensors(weight=weight)
        if not weight.is_floating_point():
            raise TypeError(f"weight is {weight.dtype}; expected a floating point tensor")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction is {reduction!r}; expected 'none', 'mean' or 'sum'")
    # a tuple: torch.compile before 2.9 does not know int | float
    if not (isinstance(label_smoothing, (int, float)) and 0 <= label_smoothing <= 1):
        raise ValueError(f"label_smoothing is {label_smoothing!r}; expected a number from 0 to 1")


def widened(target: Tensor) -> Tensor:
    """Labels in bytes as int64: to torch a uint8 of 156 equals an ignore_index of -100."""
    return target.long() if target.dtype in (torch.uint8, torch.int8) else target


def check_batch(logits: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Refuse what does not belong together by type, device or shape; looks at no values."""
    check_tensors(logits=logits, target=target)
    if logits.dtype not in FLOATS:
        raise TypeError(f"logits are {logits.dtype}; expected float32, float64, bfloat16 or float16")
    if target.dtype not in INTEGERS:
        raise TypeError(f"target is {target.dtype}; expected class indices as int64")
    if logits.ndim == 0:
        raise ValueError("logits have no dimensions; expected (K,), (N, K) or (N, K, d1, ...)")
    expected = logits.shape[:1] + logits.shape[2:] if logits.ndim > 1 else logits.shape[:0]
    if target.shape != expected:
        soft = "; probabilities are floats: target.float()" if target.shape == logits.shape else ""
        raise ValueError(
            f"target has shape {tuple(target.shape)} but logits {tuple(logits.shape)} need {tuple(expected)}"
            f"{soft}"
        )
    num_classes = logits.shape[1 if logits.ndim > 1 else 0]
    if num_classes < 2:
        raise ValueError(f"logits have {num_classes} class(es) on their class dimension; expected at least 2")
    if weight is not None and weight.shape != (num_classes,):
        raise ValueError(
            f"weight has shape {tuple(weight.shape)}; expected ({num_classes},), one value per class"
        )
    for name, given in (("target", target), ("weight", weight)):
        if given is not None and given.device != logits.device:
            raise RuntimeError(
                f"{name} is on {given.device} but logits are on {logits.device}; move one of them"
            )


def check_labels(target: Tensor, num_classes: int, ignore_index: int, name: str = "target") -> None:
    """Refuse labels that are no class, if reading them costs nothing."""
    if target.numel() == 0 or not can_look_at_values(target):
        return
    low, high = (int(bound) for bound in torch.aminmax(target))
    if low >= 0 and high < num_classes:
        return
    outside = target[((target < 0) | (target >= num_classes)) & (target != ignore_index)]
    if outside.numel():
        raise ValueError(
            f"{name} has label {int(outside[0])} but logits have {num_classes} classes (0..{num_classes - 1})"
        )


def check_by_sample(name: str, given: Tensor, target: Tensor) -> None:
    """Refuse a tensor that does not have one value per label, beside it."""
    if given.shape != target.shape:
        raise ValueError(
            f"{name} has shape {tuple(given.shape)} but target has {tuple(target.shape)}; "
            "expected one value per sample"
        )
    if given.device != target.device:
        raise RuntimeError(f"{name} is on {given.device} but target is on {target.device}; move one of them")


def check_confidence(confidence: Confidence, target: Tensor, ignore_index: int) -> None:
    """Refuse a confidence that is neither a rule nor one value in [0, 1] per sample that counts."""
    if isinstance(confidence, str):
        return
    check_tensors(confidence=confidence)
    if not confidence.is_floating_point():
        raise TypeError(f"confidence is {confidence.dtype}; expected a floating point tensor")
    check_by_sample("confidence", confidence, target)
    if can_look_at_values(confidence):
        inside = (confidence >= 0) & (confidence <= 1)
        if not inside.all() and not (inside | (target == ignore_index)).all():
            value = float(confidence[~inside & (target != ignore_index)][0])
            raise ValueError(f"confidence has the value {value}; expected values in [0, 1]")


# -- from arguments to rows -------------------------------------------------------------------------------


class Inputs(NamedTuple):
    """What a loss is given; see `gray_loss`."""

    logits: Tensor
    target: Tensor
    confidence: Confidence
    weight: Tensor | None
    ignore_index: int
    reduction: str

    def rows(self) -> Rows:
        """Brought to (N, K, ...)."""
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
        """A rule as it is; values as (N, ...), NaN where one is outside [0, 1], and 0 for ignored rows."""
        if isinstance(given, str):
            return given
        given = given if self.batched else given.unsqueeze(0)
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
    """Bring a batch that `check_batch` passed to (N, K, ...), once its labels are known to be classes."""
    target = target.long()
    check_labels(target, logits.shape[1 if logits.ndim > 1 else 0], ignore_index)
    batched = logits.ndim > 1
    if not batched:
        logits, target = logits.unsqueeze(0), target.unsqueeze(0)
    valid = target != ignore_index
    inside = (target >= 0) & (target < logits.shape[1])
    target = torch.where(valid & inside, target, 0)
    dtype = compute_dtype(logits.dtype)
    of_row = valid.to(dtype) if weight is None else torch.where(valid, weight.to(dtype)[target], 0.0)
    if not can_look_at_values(target):
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
    check_settings(weight=weight, reduction=reduction)
    check_batch(logits, target, weight)
    rows = make_rows(logits, target, weight, ignore_index)
    return reduce_rows(loss(rows.logits.to(compute_dtype(logits.dtype)), rows.target), rows, reduction)
