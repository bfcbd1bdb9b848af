"""What a loss refuses, and the message that says so.

Looking at values (labels, confidences) stalls a GPU and cannot be traced, so that is done on the CPU in
eager mode only; elsewhere a row with an impossible label or confidence turns NaN, loss and gradient.
"""

import numpy as np
import torch
from torch import Tensor

from graylearn.torch_internals import is_traced, transforms_active

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
RULES = ("max", "label", "relative")
"""The named confidences."""


def can_look_at_values(tensor: Tensor) -> bool:
    """Whether reading values of `tensor` costs nothing."""
    if tensor.device.type != "cpu":
        return False
    return not (torch.compiler.is_compiling() or transforms_active() or is_traced())


def check_reduction(reduction: str) -> None:
    """Refuse an unknown reduction."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction is {reduction!r}; expected 'none', 'mean' or 'sum'")


def check_ignored(ignore_index: object) -> None:
    """Refuse an ignore_index that no label could be."""
    if not isinstance(ignore_index, int):
        raise TypeError(f"ignore_index is {ignore_index!r}; expected a whole number")


def check_tensor(name: str, value: object) -> None:
    """Refuse arrays, lists and numbers."""
    if not isinstance(value, Tensor):
        raise TypeError(f"expected a tensor for {name}, got a {type(value).__name__}; use torch.as_tensor")


def check_tensors(logits: object, target: object) -> None:
    """Refuse a batch that is not tensors."""
    if not (isinstance(logits, Tensor) and isinstance(target, Tensor)):
        check_tensor("logits", logits)
        check_tensor("target", target)


def check_weight(weight: Tensor | None) -> None:
    """Refuse class weights that are not floating point."""
    if weight is None:
        return
    check_tensor("weight", weight)
    if not weight.is_floating_point():
        raise TypeError(f"weight is {weight.dtype}; expected a floating point tensor")


def widened(target: Tensor) -> Tensor:
    """Labels in bytes as int64: to torch a uint8 of 156 equals an ignore_index of -100."""
    return target.long() if target.dtype in (torch.uint8, torch.int8) else target


def check_shapes(logits: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Refuse dtypes, devices and shapes that do not belong together; looks at no values."""
    check_tensors(logits, target)
    if logits.dtype not in FLOATS:
        raise TypeError(f"logits are {logits.dtype}; expected float32, float64, bfloat16 or float16")
    if target.dtype not in INTEGERS:
        raise TypeError(f"target is {target.dtype}; expected class indices as int64")
    _check_device("target", target, logits)
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
    check_weight(weight)
    if weight is not None:
        if weight.shape != (num_classes,):
            raise ValueError(
                f"weight has shape {tuple(weight.shape)}; expected ({num_classes},), one value per class"
            )
        _check_device("weight", weight, logits)


def check_soft(logits: Tensor, target: Tensor, ignore_index: int) -> None:
    """Refuse probabilities that are not one per class and sample."""
    if target.shape != logits.shape or target.ndim == 0:
        raise ValueError(
            f"target is {target.dtype} of shape {tuple(target.shape)} for logits {tuple(logits.shape)}; "
            "expected class indices as int64, or probabilities of the shape of the logits"
        )
    if ignore_index >= 0:
        raise ValueError(
            f"ignore_index is {ignore_index}, which is for class indices; target is probabilities"
        )


def check_smoothing(label_smoothing: object) -> None:
    """Refuse a label_smoothing outside [0, 1]."""
    # a tuple: torch.compile before 2.9 does not know int | float
    if not (isinstance(label_smoothing, (int, float)) and 0 <= label_smoothing <= 1):
        raise ValueError(f"label_smoothing is {label_smoothing!r}; expected a number from 0 to 1")


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


def _check_device(name: str, given: Tensor, logits: Tensor) -> None:
    """Refuse a tensor that lies elsewhere than the logits, or than a target that was found beside them."""
    if given.device != logits.device:
        raise RuntimeError(f"{name} is on {given.device} but logits are on {logits.device}; move one of them")


def _check_by_sample(name: str, given: Tensor, target: Tensor) -> None:
    """Refuse a tensor that does not have one value per label."""
    if given.shape != target.shape:
        raise ValueError(
            f"{name} has shape {tuple(given.shape)} but target has {tuple(target.shape)}; "
            "expected one value per sample"
        )
    _check_device(name, given, target)


def check_rule(confidence: str) -> None:
    """Refuse an unknown name of a confidence."""
    if confidence not in RULES:
        raise ValueError(f"confidence is {confidence!r}; the known names are 'max', 'label' and 'relative'")


def check_confidence(confidence: str | Tensor, target: Tensor, ignore_index: int) -> str | Tensor:
    """Refuse a confidence that is neither a known rule nor one value in [0, 1] per sample.

    Gives it back, with 0 for what ignored samples have outside [0, 1].
    """
    if isinstance(confidence, str):
        check_rule(confidence)
        return confidence
    if not isinstance(confidence, Tensor):
        raise TypeError(
            f"confidence is a {type(confidence).__name__}; "
            "expected 'max', 'label', 'relative' or a tensor of values"
        )
    if not confidence.is_floating_point():
        raise TypeError(f"confidence is {confidence.dtype}; expected a floating point tensor")
    _check_by_sample("confidence", confidence, target)
    if confidence.numel() and can_look_at_values(confidence):
        inside = (confidence >= 0) & (confidence <= 1)
        if not inside.all():
            outside = confidence[~inside & (target != ignore_index)]
            if outside.numel():
                number = outside[0].item()
                shown = number if outside.dtype == torch.float64 else np.float32(number)  # no digit too many
                raise ValueError(f"confidence has the value {shown!s}; expected values in [0, 1]")
            return torch.where(inside, confidence, 0.0)
    return confidence


def check_complement(complement: Tensor, target: Tensor, num_classes: int, ignore_index: int) -> None:
    """Refuse complementary labels that are no class, or that are the given label."""
    check_tensor("complement", complement)
    if complement.dtype not in INTEGERS:
        raise TypeError(f"complement is {complement.dtype}; expected class indices as int64")
    _check_by_sample("complement", complement, target)
    counted = target != ignore_index
    if can_look_at_values(target):
        check_labels(complement[counted], num_classes, ignore_index, "complement")
        same = complement[counted & (complement == target)]
        if same.numel():
            raise ValueError(
                f"complement has label {int(same[0])} where target has it too; expected another label"
            )
