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
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor

from graylearn.losses import kernels
from graylearn.losses.reference import gray_gradient
from graylearn.losses.rows import Inputs, check_labels, make_rows, reduce_rows, result_dtype
from graylearn.torch_internals import is_batched, transforms_active

INTERPRETED = not isinstance(kernels.small_rows, triton.JITFunction)
"""Whether the kernels run in Triton's interpreter, on the CPU (TRITON_INTERPRET=1 at import)."""

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
COUNT_FROM = 1 << 25  # values; below, an extra pass where rows are ignored costs less than counting always
LARGE = 512  # classes; above, one row per program
IN_REGISTERS = 8192  # classes that a program holds: beyond, several rows in flight beat one exponential less
STRIDED = 256  # classes, where they do not lie side by side: a tile must hold many neighbours


@dataclass(frozen=True)
class Plan:
    """How a kernel is cut into programs and blocks."""

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
        # Few values per thread: tiles four times as large took twice the time on an H200.
        return Plan(rows=max(2, 512 // block), block=block, warps=4 if block <= 32 else 2)
    block = min(block, IN_REGISTERS)
    warps = max(2, min(8, block // 512))
    return Plan(rows=1, block=block, warps=warps, chunk=warps * 32 * 4)


class Layout(NamedTuple):
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
    """Whether the kernels take these logits well; where not, the fused form is taken."""
    if logits.dtype not in DTYPES or logits.ndim == 0 or logits.numel() == 0:
        return False
    return logits.ndim <= 2 or logits.shape[1] <= STRIDED or logits.movedim(1, -1).is_contiguous()


class Call(NamedTuple):
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
        total: Tensor | None = None,
        mean: bool = False,
    ) -> None:
        """Fill `loss` with the rows' losses, or `total` with their sum by way of `loss`; and `grad`."""
        view, cut = self.view, self.plan
        pointers = (
            view.logits, self.target, self.confidence, weight, norm, row_grad, loss, grad, total,
        )  # fmt: skip
        flags = (
            self.mode, weight is not None, norm is not None, row_grad is not None, loss is not None,
            grad is not None, total is not None, mean,
        )  # fmt: skip
        if cut.rows > 1:
            numbers: tuple[Any, ...] = (view.num_rows, view.inner, self.ignore_index, scale)
            fixed: tuple[Any, ...] = (view.num_classes, cut.block, cut.rows, *flags, view.inner > 1)
            kernel = kernels.small_rows
        else:
            numbers = (view.num_rows, self.ignore_index, scale)
            terms = 6 if view.logits.dtype == torch.float32 else 4
            fixed = (view.num_classes, cut.block, cut.chunk, *flags, cut.joint, terms)
            kernel = kernels.large_row
        start(kernel, self.programs, pointers, (*numbers, *fixed), fixed, cut.warps)


_compiled: dict[Any, Any] = {}


def start(
    kernel: Any,
    programs: int,
    pointers: tuple[Tensor | None, ...],
    others: tuple[Any, ...],
    fixed: Any,
    warps: int,
) -> None:
    """Launch; from the second time on past Triton's own look at each argument, most of what a launch costs.

    A kernel that was compiled takes addresses, and none for what it does not read. It depends on the dtypes
    of its pointers, on the device and the alignment of the first, on its warps and on `fixed`, its constants;
    the kernels are told to specialise on nothing else.
    """
    first: Any = pointers[0]
    at = [0 if tensor is None else tensor.data_ptr() for tensor in pointers]
    dtypes = tuple([None if tensor is None else tensor.dtype for tensor in pointers])
    key = (kernel, dtypes, fixed, warps, first.device, at[0] % 16)
    compiled = _compiled.get(key)
    if compiled is None:
        # the first tensor stands in for what the kernel does not read
        given = [first if tensor is None else tensor for tensor in pointers]
        made = kernel[(programs,)](*given, *others, num_warps=warps)
        if not INTERPRETED:
            _compiled[key] = made
    else:
        compiled[(programs, 1, 1)](*at, *others)


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
    start(kernels.count_valid, 1, (call.target, norm), (view.num_rows, call.ignore_index, 4096), None, 8)
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
        # Losses and counts a program, the correction backward applies, and how many programs are done.
        partial = torch.zeros(2 * call.programs + 2, dtype=torch.float32, device=logits.device)
        loss = torch.empty((), dtype=result_dtype(logits), device=logits.device)
        scale = 1.0 / view.num_rows if mean and norm is None else 1.0
        call.launch(loss=partial, grad=grad, weight=weight, norm=norm, scale=scale, total=loss, mean=mean)
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
        rule = RULES[mode] if confidence is None else confidence
        inputs = Inputs(logits, target, rule, weight, ignore_index, reduction)
        if torch.is_grad_enabled() or is_batched(grads[0]):  # a kernel takes plain tensors only
            return gray_gradient(grads[0], inputs), *(None,) * 6
        if ctx.spent:
            factor = (grads[0].float() * inputs.rows().scale(reduction)).reshape(target.shape)
            again = gradient_of_rows(factor, logits, target, confidence, mode, ignore_index)
            return again, *(None,) * 6
        ctx.spent = True  # scaled in place, so a second backward must start afresh
        size = grad.numel()
        numbers = (partial.numel() - 2, size, 4096)
        programs = min(-(-size // 4096), 1024)
        start(kernels.scale_in_place, programs, (grad, grads[0], partial), numbers, size < 1 << 31, 8)
        return grad if grad.shape == logits.shape else grad.view_as(logits), *(None,) * 6


RULES = ("max", "label")


class Unreduced(torch.autograd.Function):
    """One loss per row in float32; the gradient is made in backward, with each row's own factor."""

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
        if torch.is_grad_enabled() or is_batched(grads[0]):
            rule = RULES[mode] if confidence is None else confidence
            inputs = Inputs(logits, target, rule, None, ignore_index, "none")
            return gray_gradient(grads[0], inputs), *(None,) * 4
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


def gray_triton(inputs: Inputs) -> Tensor:
    """The Gray loss of at least one row by the Triton kernels; gray_loss has checked the other arguments."""
    logits, target, confidence, weight, ignore_index, reduction = inputs
    check_labels(target, logits.shape[1 if logits.ndim > 1 else 0], ignore_index)
    if logits.dtype not in DTYPES:
        raise TypeError(
            f"impl='triton' takes float32, bfloat16 or float16, not {logits.dtype}; use impl='fused'"
        )
    if not logits.is_cuda and not INTERPRETED:
        raise RuntimeError(
            f"impl='triton' needs logits on a CUDA device, not {logits.device}; use impl='fused'"
        )
    if transforms_active():
        raise RuntimeError("impl='triton' does not run under torch.func transforms; use impl='auto'")
    given = confidence if isinstance(confidence, Tensor) else None
    mode = 2 if given is not None else RULES.index(str(confidence))
    compiling = torch.compiler.is_compiling()
    if reduction != "none" and not compiling:
        return _reduced(logits, target, given, mode, weight, ignore_index, reduction)
    rows = inputs.rows()
    if not rows.batched:
        target = target.unsqueeze(0)
        given = None if given is None else given.unsqueeze(0)
    row_losses = _losses_op if compiling else _unreduced
    return reduce_rows(row_losses(rows.logits, target, given, mode, ignore_index), rows, reduction)
