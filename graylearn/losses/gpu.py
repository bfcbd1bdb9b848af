"""The Triton kernels behind autograd: which kernel, with which tiles, and what backward still has to do.

mean, sum  Forward writes the gradient together with the loss, divided by the number of rows. Backward may
           have to multiply it, by the gradient it receives and by rows / valid rows; both lie on the device,
           so a kernel looks at them there and leaves at once when their product is one, as after a plain
           `loss.backward()`. No synchronisation, no second pass, one buffer. Where that second pass would be
           dear (`COUNT_FROM` values and more) the valid rows are counted before.
none       Forward writes losses only; backward computes the gradient with each row's own factor.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
import triton
from torch import Tensor

from graylearn.losses import checks, kernels
from graylearn.losses.reference import gray_gradient
from graylearn.losses.rows import make_rows, reduce_rows, result_dtype

INTERPRETED = not isinstance(kernels.small_rows, triton.JITFunction)
"""Whether the kernels run in Triton's interpreter, on the CPU (TRITON_INTERPRET=1 at import)."""

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
COUNT_FROM = 1 << 25  # values; below, an extra pass where rows are ignored costs less than counting always
LARGE = 2048  # classes; above, one row a program
IN_REGISTERS = 32768  # classes a program can hold
STRIDED = 256  # classes, where they do not lie side by side: a tile must hold many neighbours


@dataclass(frozen=True)
class Plan:
    """How a kernel is cut: `benchmarks/loss.py --sweep` tries others."""

    rows: int
    """Rows a program; 1 means the kernel for large rows."""
    block: int
    """Classes a block; at least K where the row is held in registers."""
    warps: int
    chunk: int = 0
    """Classes a chunk in the exact way through a large row."""
    joint: bool = not INTERPRETED
    """One reduction for all power sums; the interpreter takes minutes for that."""


@lru_cache(maxsize=1024)
def plan(num_classes: int, inner: int = 1) -> Plan:
    """The plan for rows of `num_classes`, each class `inner` values from the next."""
    block = max(2, triton.next_power_of_2(num_classes))
    if inner > 1:
        return Plan(rows=max(16, 4096 // block), block=block, warps=4 if block <= 64 else 8)
    if num_classes <= LARGE:
        return Plan(rows=min(128, max(2, 4096 // block)), block=block, warps=4)
    if num_classes <= IN_REGISTERS:
        warps = 8 if block <= 8192 else block // 1024
    else:
        block, warps = 16384, 32
    return Plan(rows=1, block=block, warps=warps, chunk=warps * 32 * 4)


@dataclass(frozen=True)
class Layout:
    """Logits as the kernels read them."""

    logits: Tensor
    """Contiguous as (rows, K), or as (N, K, inner) where inner > 1."""
    num_rows: int
    num_classes: int
    inner: int


def layout(logits: Tensor) -> Layout:
    """View logits as rows; copies them only where no view will do."""
    if logits.ndim == 1:
        logits = logits.unsqueeze(0)
    num_classes = logits.shape[1]
    num_rows = logits.numel() // num_classes
    if logits.ndim > 2 and not logits.movedim(1, -1).is_contiguous():
        return Layout(logits.contiguous(), num_rows, num_classes, num_rows // len(logits))
    return Layout(logits if logits.ndim > 2 else logits.contiguous(), num_rows, num_classes, 1)


def suits(logits: Tensor) -> bool:
    """Whether the kernels take these logits well; a door that says no leads to the fused form."""
    if logits.dtype not in DTYPES or logits.ndim == 0 or logits.numel() == 0:
        return False
    return logits.ndim <= 2 or logits.shape[1] <= STRIDED or logits.movedim(1, -1).is_contiguous()


@dataclass(frozen=True)
class Call:
    """What a launch of either kernel needs beside its outputs."""

    view: Layout
    target: Tensor
    mode: int
    confidence: Tensor | None
    ignore_index: int
    plan: Plan

    @property
    def programs(self) -> int:
        """How many programs the kernel runs as."""
        return -(-self.view.num_rows // self.plan.rows)

    def launch(
        self,
        *,
        loss: Tensor | None = None,
        grad: Tensor | None = None,
        weight: Tensor | None = None,
        norm: Tensor | None = None,
        row_grad: Tensor | None = None,
        scale: float = 1.0,
        partial: bool = False,
    ) -> None:
        """Fill `loss` (partial sums or rows) and `grad`, each where given."""
        view, cut = self.view, self.plan
        spare = view.logits  # stands in for what a kernel does not read
        pointers = (
            view.logits,
            self.target,
            spare if self.confidence is None else self.confidence,
            spare if weight is None else weight,
            spare if norm is None else norm,
            spare if row_grad is None else row_grad,
            spare if loss is None else loss,
            spare if grad is None else grad,
        )
        flags = {
            "MODE": self.mode,
            "WEIGHT": weight is not None,
            "NORM": norm is not None,
            "ROW_GRAD": row_grad is not None,
            "LOSS": loss is not None,
            "GRAD": grad is not None,
            "PARTIAL": partial,
            "num_warps": cut.warps,
        }
        if cut.rows > 1:
            kernels.small_rows[(self.programs,)](
                *pointers, view.num_rows, view.inner, self.ignore_index, scale,
                K=view.num_classes, BLOCK=cut.block, ROWS=cut.rows, INNER=view.inner > 1, **flags,
            )  # fmt: skip
        else:
            kernels.large_row[(self.programs,)](
                *pointers, view.num_rows, self.ignore_index, scale,
                K=view.num_classes, BLOCK=cut.block, CHUNK=cut.chunk, JOINT=cut.joint, **flags,
            )  # fmt: skip


def make_call(
    logits: Tensor, target: Tensor, confidence: Tensor | None, mode: int, ignore_index: int
) -> Call:
    """View the tensors as the kernels read them and look up the plan."""
    view = layout(logits)
    given = None if confidence is None else confidence.contiguous()
    return Call(view, target.contiguous(), mode, given, ignore_index, plan(view.num_classes, view.inner))


def _divisor(call: Call, weight: Tensor | None) -> Tensor | None:
    """1 / (sum of the rows' weights) for a mean, or None to divide by all rows and correct it later."""
    view = call.view
    if weight is not None:
        weights = make_rows(
            view.logits, call.target.view(_row_shape(view.logits)), weight, call.ignore_index
        ).weight
        return weights.sum().reciprocal()
    if view.num_rows * view.num_classes < COUNT_FROM:
        return None
    if view.num_rows > 1 << 15:
        return (call.target != call.ignore_index).sum().float().reciprocal()
    norm = torch.empty((), dtype=torch.float32, device=view.logits.device)
    kernels.count_valid[(1,)](call.target, norm, view.num_rows, call.ignore_index, BLOCK=4096, num_warps=8)
    return norm


def _row_shape(logits: Tensor) -> torch.Size:
    return logits.shape[:1] + logits.shape[2:]


class Reduced(torch.autograd.Function):
    """mean or sum; the gradient is made in forward."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, confidence: Tensor | None, mode: int, weight: Tensor | None,
        ignore_index: int, reduction: str,
    ) -> Tensor:  # fmt: skip
        """The loss; keeps the gradient, and the inputs for a second derivative or a second backward."""
        call = make_call(logits, target, confidence, mode, ignore_index)
        view, mean = call.view, reduction == "mean"
        norm = _divisor(call, weight) if mean else None
        grad = torch.empty_like(view.logits) if ctx.needs_input_grad[0] else None
        # Partial losses, partial counts of rows, and the correction backward applies.
        partial = torch.empty(2 * call.programs + 1, dtype=torch.float32, device=logits.device)
        loss = torch.empty((), dtype=result_dtype(logits), device=logits.device)
        scale = 1.0 / view.num_rows if mean and norm is None else 1.0
        call.launch(loss=partial, grad=grad, weight=weight, norm=norm, scale=scale, partial=True)
        kernels.finish[(1,)](
            partial, view.logits if norm is None else norm, loss, call.programs, view.num_rows,
            MEAN=mean, NORM=norm is not None, BLOCK=2048, num_warps=8,
        )  # fmt: skip
        if grad is not None:
            ctx.save_for_backward(logits, target, confidence, weight, grad, partial)
            ctx.settings = (mode, ignore_index, reduction)
            ctx.spent = False
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Hand out the gradient, multiplied on the device where it has to be."""
        logits, target, confidence, weight, grad, partial = ctx.saved_tensors
        mode, ignore_index, reduction = ctx.settings
        if torch.is_grad_enabled() or ctx.spent:
            rows = make_rows(logits, target, weight, ignore_index)
            given = RULES[mode] if confidence is None else confidence
            factor = (grads[0].float() * rows.scale(reduction)).unsqueeze(1)
            full = (gray_gradient(logits.float(), rows.target, given) * factor).to(logits.dtype)
            return full, *(None,) * 6
        ctx.spent = True  # scaled in place, so a second backward must start afresh
        size = grad.numel()
        kernels.scale_in_place[(min(triton.cdiv(size, 4096), 1024),)](
            grad, grads[0], partial[-1:], size, BLOCK=4096, num_warps=8
        )
        return grad.view_as(logits), *(None,) * 6


RULES = ("max", "label")


class Unreduced(torch.autograd.Function):
    """One loss a row in float32; the gradient is made in backward, with each row's own factor."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, confidence: Tensor | None, mode: int, ignore_index: int
    ) -> Tensor:
        """The losses."""
        ctx.save_for_backward(logits, target, confidence)
        ctx.settings = (mode, ignore_index)
        return losses_of_rows(logits, target, confidence, mode, ignore_index)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient, in torch where it must itself be differentiable."""
        logits, target, confidence = ctx.saved_tensors
        mode, ignore_index = ctx.settings
        if torch.is_grad_enabled():
            rows = make_rows(logits, target, None, ignore_index)
            given = RULES[mode] if confidence is None else confidence
            factor = (grads[0] * rows.weight).unsqueeze(1)
            full = (gray_gradient(logits.float(), rows.target, given) * factor).to(logits.dtype)
            return full, *(None,) * 4
        return gradient_of_rows(grads[0], logits, target, confidence, mode, ignore_index), *(None,) * 4


def losses_of_rows(
    logits: Tensor, target: Tensor, confidence: Tensor | None, mode: int, ignore_index: int
) -> Tensor:
    """Row losses, float32, zero where ignored."""
    losses = torch.empty(target.shape, dtype=torch.float32, device=logits.device)
    make_call(logits, target, confidence, mode, ignore_index).launch(loss=losses)
    return losses


def gradient_of_rows(
    factor: Tensor, logits: Tensor, target: Tensor, confidence: Tensor | None, mode: int, ignore_index: int
) -> Tensor:
    """Gradient of sum(factor * row losses)."""
    call = make_call(logits, target, confidence, mode, ignore_index)
    grad = torch.empty_like(call.view.logits)
    call.launch(grad=grad, row_grad=factor.contiguous())
    return grad.view_as(logits)


_reduced: Callable[..., Tensor] = Reduced.apply
_unreduced: Callable[..., Tensor] = Unreduced.apply

# The same two functions as operators that torch.compile keeps whole.
_losses_op = torch.library.custom_op(
    "graylearn::gray_rows",
    losses_of_rows,
    mutates_args=(),
    schema="(Tensor logits, Tensor target, Tensor? confidence, int mode, int ignore_index) -> Tensor",
)
_gradient_op = torch.library.custom_op(
    "graylearn::gray_rows_backward",
    gradient_of_rows,
    mutates_args=(),
    schema="(Tensor factor, Tensor logits, Tensor target, Tensor? confidence, int mode, int ignore_index)"
    " -> Tensor",
)


@_losses_op.register_fake
def _losses_fake(
    logits: Tensor, target: Tensor, confidence: Tensor | None, mode: int, ignore_index: int
) -> Tensor:
    return torch.empty_like(target, dtype=torch.float32, memory_format=torch.contiguous_format)


@_gradient_op.register_fake
def _gradient_fake(
    factor: Tensor, logits: Tensor, target: Tensor, confidence: Tensor | None, mode: int, ignore_index: int
) -> Tensor:
    return torch.empty_like(layout(logits).logits).view_as(logits)


def _op_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    logits, target, confidence, *ctx.settings = inputs
    ctx.save_for_backward(logits, target, confidence)


def _op_backward(ctx: Any, factor: Tensor) -> tuple[Tensor | None, ...]:
    return _gradient_op(factor, *ctx.saved_tensors, *ctx.settings), None, None, None, None


_losses_op.register_autograd(_op_backward, setup_context=_op_context)


def gray_triton(
    logits: Tensor,
    target: Tensor,
    confidence: str | Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
) -> Tensor:
    """The Gray loss by the Triton kernels; arguments as gray_loss, which has checked the rest."""
    checks.check_shapes(logits, target, weight)
    checks.check_labels(target, logits.shape[1 if logits.ndim > 1 else 0], ignore_index)
    if logits.dtype not in DTYPES:
        raise TypeError(
            f"impl='triton' takes float32, bfloat16 or float16, not {logits.dtype}; use impl='fused'"
        )
    if not logits.is_cuda and not INTERPRETED:
        raise RuntimeError(
            f"impl='triton' needs logits on a CUDA device, not {logits.device}; use impl='fused'"
        )
    if checks.transforms_active():
        raise RuntimeError("impl='triton' does not run under torch.func transforms; use impl='auto'")
    given = confidence if isinstance(confidence, Tensor) else None
    mode = 2 if given is not None else RULES.index(str(confidence))
    compiling = torch.compiler.is_compiling()
    if reduction != "none" and not compiling and logits.numel():
        return _reduced(logits, target, given, mode, weight, ignore_index, reduction)
    rows = make_rows(logits, target, weight, ignore_index)
    if not rows.batched:
        target = target.unsqueeze(0)
        given = None if given is None else given.unsqueeze(0)
    row_losses = _losses_op if compiling else _unreduced
    losses = row_losses(rows.logits, target, given, mode, ignore_index) if logits.numel() else rows.weight
    return reduce_rows(losses, rows, reduction)
