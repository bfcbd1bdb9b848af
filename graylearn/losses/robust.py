"""The losses that Gray Learning is compared with, as functions and as modules.

Q = softmax(logits), q = Q_label. Every function takes (logits, target, *, its options, weight, ignore_index,
reduction) as torch.nn.functional.cross_entropy does; half types are computed in float32. A module takes the
options of its function, then weight, ignore_index and reduction.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from graylearn.losses.gray import gray_loss
from graylearn.losses.reference import excluded
from graylearn.losses.rows import (
    INTEGERS,
    can_look_at_values,
    check_batch,
    check_by_sample,
    check_labels,
    check_settings,
    check_tensors,
    per_row,
    widened,
)

_SHARED = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
    for name, default in (("weight", None), ("ignore_index", -100), ("reduction", "mean"))
]
"""What every loss takes beside its options."""


def _reduced(rows: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A loss with all conventions, of one from logits (N, K, ...) and class indices (N, ...) to (N, ...)."""

    @wraps(rows)
    def loss(
        logits: Tensor,
        target: Tensor,
        *,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        **options: Any,
    ) -> Tensor:
        return per_row(logits, target, weight, ignore_index, reduction, partial(rows, **options))

    own = list(inspect.signature(rows).parameters.values())
    loss.__signature__ = inspect.Signature([*own, *_SHARED])  # type: ignore[attr-defined]
    return loss


def _label_doubt(logits: Tensor, target: Tensor) -> Tensor:
    """1 - q, summed from the other classes: right also where q rounds to one."""
    return logits.softmax(1).scatter(1, target.unsqueeze(1), 0.0).sum(1)


@_reduced
def mae_loss(logits: Tensor, target: Tensor) -> Tensor:
    """Mean absolute error between Q and the one-hot label, ||e_y - Q||_1 = 2 (1 - q)."""
    return 2 * _label_doubt(logits, target)


@_reduced
def bootstrap_loss(
    logits: Tensor, target: Tensor, *, mode: str = "soft", beta: float | None = None, detach: bool = False
) -> Tensor:
    """Bootstrapping: cross entropy against beta * label + (1 - beta) * the network's own prediction t.

    Args:
        logits: (K,), (N, K) or (N, K, d1, ...).
        target: class indices.
        mode: "soft", t = Q; "hard", t = one-hot of the most probable class.
        beta: share of the label; None means .95 for soft and .8 for hard.
        detach: treat a soft t as a constant. The gradient of -sum t log Q vanishes at t = Q, so what is left
            is beta times the gradient of cross entropy (the code released with Gray Learning does this, with
            beta = .5); the default lets it flow, which adds an entropy term as its authors meant. A hard t
            has no gradient either way.
    """
    if mode not in ("soft", "hard"):
        raise ValueError(f"mode is {mode!r}; expected 'soft' or 'hard'")
    share = (0.95 if mode == "soft" else 0.8) if beta is None else beta
    if not 0 <= share <= 1:
        raise ValueError(f"beta is {share:g}; expected a value in [0, 1]")
    # The floor stands for a masked class: probability 0 times the log of it must be 0, not NaN.
    log_probs = logits.log_softmax(1)
    given = log_probs.gather(1, target.unsqueeze(1)).squeeze(1)
    if mode == "hard":
        own = log_probs.gather(1, log_probs.argmax(1, keepdim=True)).squeeze(1)
    else:
        probs = log_probs.detach().exp() if detach else log_probs.exp()
        own = (probs * log_probs.clamp_min(torch.finfo(logits.dtype).min)).sum(1)
    return -(share * given + (1 - share) * own)


@_reduced
def symmetric_loss(
    logits: Tensor, target: Tensor, *, alpha: float = 0.1, beta: float = 1.0, log_zero: float = -4.0
) -> Tensor:
    """Symmetric cross entropy: alpha * cross entropy + beta * reverse cross entropy.

    The reverse term is -sum_k Q_k log(label_k) = -log_zero * (1 - q), with log 0 set to `log_zero`: -4 in the
    paper that introduced it, log(1e-4) in its code. Its authors take (alpha, beta) = (.1, 1) for 10 classes,
    the default here, and (6, .1) for 100.
    """
    for name, value in (("alpha", alpha), ("beta", beta), ("-log_zero", -log_zero)):
        if value < 0:
            raise ValueError(f"{name} is {value:g}; expected a value of at least 0")
    given = -logits.log_softmax(1).gather(1, target.unsqueeze(1)).squeeze(1)
    return alpha * given - beta * log_zero * _label_doubt(logits, target)


@_reduced
def generalized_loss(logits: Tensor, target: Tensor, *, q: float = 0.7) -> Tensor:
    """Generalized cross entropy (1 - p^q) / q, p the label's probability.

    As q goes to 0 it becomes cross entropy; at q = 1 it is half of MAE.
    """
    if not 0 < q <= 1:
        raise ValueError(f"q is {q:g}; expected a value in (0, 1]")
    given = logits.log_softmax(1).gather(1, target.unsqueeze(1)).squeeze(1)
    return -torch.expm1(q * given) / q


def complementary_loss(
    logits: Tensor,
    target: Tensor,
    *,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Reject every other label, -sum_{k != y} log(1 - Q_k): the Gray loss at confidence 0."""
    check_tensors(logits=logits, target=target)
    nothing = torch.zeros(target.shape, device=logits.device)
    return gray_loss(
        logits, target, confidence=nothing, weight=weight, ignore_index=ignore_index, reduction=reduction
    )


def draw_complements(
    target: Tensor, num_classes: int, ignore_index: int, generator: torch.Generator | None
) -> Tensor:
    """A label other than the given one for each sample, uniform over the K - 1; ignored ones stay ignored."""
    step = torch.randint(1, num_classes, target.shape, generator=generator, device=target.device)
    return torch.where(target == ignore_index, target, (target + step) % num_classes)


def _check_complement(complement: Tensor, target: Tensor, num_classes: int, ignore_index: int) -> None:
    """Refuse complementary labels that are no class, or that are the given label."""
    check_tensors(complement=complement)
    if complement.dtype not in INTEGERS:
        raise TypeError(f"complement is {complement.dtype}; expected class indices as int64")
    check_by_sample("complement", complement, target)
    counted = target != ignore_index
    if can_look_at_values(target):
        check_labels(complement[counted], num_classes, ignore_index, "complement")
        same = complement[counted & (complement == target)]
        if same.numel():
            raise ValueError(
                f"complement has label {int(same[0])} where target has it too; expected another label"
            )


def negative_loss(
    logits: Tensor,
    target: Tensor,
    *,
    complement: Tensor | None = None,
    generator: torch.Generator | None = None,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Negative learning: -log(1 - Q_complement), "the sample is not of that class".

    Args:
        logits: (K,), (N, K) or (N, K, d1, ...).
        target: class indices; `weight` and `ignore_index` go by them.
        complement: of target's shape, a label each sample does not have; None draws one uniformly.
        generator: where that draw takes its random numbers from, on the device of the logits.
        weight: (K,) one weight per class.
        ignore_index: targets of this value count nothing.
        reduction: "none", "mean" or "sum".
    """
    check_settings(weight=weight, reduction=reduction)
    check_batch(logits, target, weight)
    target = widened(target)
    num_classes = logits.shape[1 if logits.ndim > 1 else 0]
    if complement is None:
        complement = draw_complements(target, num_classes, ignore_index, generator)
    elif generator is not None:
        raise ValueError(
            "complement and generator are both given; a generator is only for drawing complements"
        )
    else:
        _check_complement(complement, target, num_classes, ignore_index)
    # An ignored sample's complement is read too, though it counts nothing.
    index = torch.where(target == ignore_index, 0, complement).long().clamp(0, num_classes - 1)
    if logits.ndim == 1:
        index = index.unsqueeze(0)

    def loss(logits: Tensor, _: Tensor) -> Tensor:
        return excluded(logits).gather(1, index.unsqueeze(1)).squeeze(1)

    return per_row(logits, target, weight, ignore_index, reduction, loss)


class _LossModule(nn.Module):
    """A loss whose settings are attributes, as nn.CrossEntropyLoss has them."""

    function: ClassVar[Callable[..., Tensor]]
    _settings: ClassVar[inspect.Signature]
    weight: Tensor | None

    def __init_subclass__(cls, *, of: Callable[..., Tensor]) -> None:
        cls.function = staticmethod(of)
        known = inspect.signature(of).parameters.values()
        options = [each for each in known if each.default is not each.empty]
        cls._settings = inspect.Signature(
            [each.replace(kind=each.POSITIONAL_OR_KEYWORD) for each in options if each.name != "complement"]
        )

    def __init__(self, *settings: Any, **named: Any) -> None:
        super().__init__()
        given = self._settings.bind(*settings, **named)
        given.apply_defaults()
        check_settings(weight=given.arguments["weight"])
        self.register_buffer("weight", given.arguments.pop("weight"))
        vars(self).update(given.arguments)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return self.function(logits, target, **self._given())

    def _given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._settings.parameters}

    def extra_repr(self) -> str:
        """The settings, without the weights."""
        plain = {k: v for k, v in vars(self).items() if not k.startswith("_") and k != "training"}
        return ", ".join(f"{name}={value!r}" for name, value in plain.items())


class MAELoss(_LossModule, of=mae_loss):
    """Module of `mae_loss`."""


class BootstrapLoss(_LossModule, of=bootstrap_loss):
    """Module of `bootstrap_loss`."""


class SymmetricLoss(_LossModule, of=symmetric_loss):
    """Module of `symmetric_loss`."""


class GeneralizedLoss(_LossModule, of=generalized_loss):
    """Module of `generalized_loss`."""


class ComplementaryLoss(_LossModule, of=complementary_loss):
    """Module of `complementary_loss`."""


class NegativeLoss(_LossModule, of=negative_loss):
    """Module of `negative_loss`; draws its complements from `generator`, or torch's own."""

    def forward(self, logits: Tensor, target: Tensor, complement: Tensor | None = None) -> Tensor:
        """The loss; `complement` goes before the draw."""
        instead = {} if complement is None else {"complement": complement, "generator": None}
        return self.function(logits, target, **self._given() | instead)
