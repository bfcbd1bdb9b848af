"""The robust losses as modules, each thin over its function in robust.py."""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from graylearn.losses import checks, robust


class _ClassLoss(nn.Module):
    """What all share: weight, ignore_index and reduction, as nn.CrossEntropyLoss has them."""

    function: ClassVar[Callable[..., Tensor]]
    options: ClassVar[tuple[str, ...]] = ()
    """Arguments of the function that are attributes of the module too."""
    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__()
        checks.check_weight(weight)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        own = {name: getattr(self, name) for name in (*self.options, "ignore_index", "reduction")}
        return self.function(logits, target, weight=self.weight, **own)

    def extra_repr(self) -> str:
        """The settings, without the weights."""
        plain = {k: v for k, v in vars(self).items() if not k.startswith("_") and k != "training"}
        return ", ".join(f"{name}={value!r}" for name, value in plain.items())


class MAELoss(_ClassLoss):
    """Module of `mae_loss`."""

    function = staticmethod(robust.mae_loss)


class BootstrapLoss(_ClassLoss):
    """Module of `bootstrap_loss`."""

    function = staticmethod(robust.bootstrap_loss)
    options = ("mode", "beta", "detach")

    def __init__(
        self,
        mode: str = "soft",
        beta: float | None = None,
        detach: bool = False,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, ignore_index, reduction)
        self.mode, self.beta, self.detach = mode, beta, detach


class SymmetricLoss(_ClassLoss):
    """Module of `symmetric_loss`."""

    function = staticmethod(robust.symmetric_loss)
    options = ("alpha", "beta", "log_zero")

    def __init__(
        self,
        alpha: float = 0.1,
        beta: float = 1.0,
        log_zero: float = -4.0,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, ignore_index, reduction)
        self.alpha, self.beta, self.log_zero = alpha, beta, log_zero


class NegativeLoss(_ClassLoss):
    """Module of `negative_loss`; draws its complements from `generator`, or torch's own."""

    def __init__(
        self,
        generator: torch.Generator | None = None,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, ignore_index, reduction)
        self.generator = generator

    def forward(self, logits: Tensor, target: Tensor, complement: Tensor | None = None) -> Tensor:
        """The loss; `complement` goes before the draw."""
        return robust.negative_loss(
            logits,
            target,
            complement=complement,
            generator=self.generator if complement is None else None,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class ComplementaryLoss(_ClassLoss):
    """Module of `complementary_loss`."""

    function = staticmethod(robust.complementary_loss)


class GeneralizedLoss(_ClassLoss):
    """Module of `generalized_loss`."""

    function = staticmethod(robust.generalized_loss)
    options = ("q",)

    def __init__(
        self, q: float = 0.7, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, ignore_index, reduction)
        self.q = q
