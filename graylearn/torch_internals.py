"""Every name of torch that torch does not promise to keep, in one file.

tests/test_torch_internals.py fails where torch has moved one of them.

Each is here because the public way costs a small network more than its arithmetic, or because there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.modules.batchnorm import _BatchNorm

BatchNorm: type[nn.Module] = _BatchNorm
"""The base of all batch norms, also of those of other packages."""
lerp_each = torch._foreach_lerp_
"""mean.lerp_(value, weight) of each in two lists; on a GPU in a few kernels instead of one each."""
fused_sgd = torch._fused_sgd_
fused_adam = torch._fused_adam_
fused_adamw = torch._fused_adamw_
"""The kernels behind torch.optim's fused=True, without the bookkeeping around them."""

_engine = torch.autograd.Variable._execution_engine
_MODULE_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_TENSOR_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


def transforms_active() -> bool:
    """Whether a torch.func transform (vmap, grad, ...) runs around this call."""
    return bool(torch._C._are_functorch_transforms_active())


def forward_mode_active() -> bool:
    """Whether the call is within a `forward_ad.dual_level`, where inputs may carry tangents."""
    return forward_ad._current_level >= 0


def is_batched(tensor: Tensor) -> bool:
    """Whether `tensor` stands for several: under vmap, or where grad is asked with is_grads_batched."""
    functorch = torch._C._functorch
    return functorch.is_batchedtensor(tensor) or functorch.is_legacy_batchedtensor(tensor)


def is_traced() -> bool:
    """Whether torch.jit.trace, make_fx or a FakeTensorMode watches; not torch.compile."""
    if torch.compiler.is_compiling():
        return False
    return torch._C._is_tracing() or torch._C._len_torch_dispatch_stack() > 0


def backward(losses: Tensor, weight: Tensor, wanted: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    """What torch.autograd.grad gives, without its checks: they are a tenth of a small network's step."""
    found: tuple[Tensor | None, ...] = _engine.run_backward(
        (losses,), (weight,), False, False, tuple(wanted), allow_unreachable=True, accumulate_grad=False
    )
    return found


def has_hooks(model: nn.Module) -> bool:
    """Whether the user looks at a pass, or changes it on the way."""
    return any(getattr(module, kind) for module in model.modules() for kind in _MODULE_HOOKS) or any(
        getattr(value, kind) for value in model.parameters() for kind in _TENSOR_HOOKS
    )


def allow_recompiling(times: int) -> None:
    """One process may train many networks and batch sizes; past its limit torch quietly stops compiling."""
    import torch._dynamo  # late: it takes seconds

    limits: Any = torch._dynamo.config
    limits.recompile_limit = max(limits.recompile_limit, times)
