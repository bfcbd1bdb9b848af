"""The robust losses as modules, each thin over its function in robust.py."""

import torch
from torch import Tensor, nn

from graylearn.losses import robust


class _ClassLoss(nn.Module):
    """What all share: weight, ignore_index and reduction, as nn.CrossEntropyLoss has them."""

    weight: Tensor | None

    def __init__(self, weight: Tensor | None, ignore_index: int, reduction: str) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction

    def extra_repr(self) -> str:
        """The settings, without the weights."""
        plain = {k: v for k, v in vars(self).items() if not k.startswith("_") and k != "training"}
        return ", ".join(f"{name}={value!r}" for name, value in plain.items())


class MAELoss(_ClassLoss):
    """Module of `mae_loss`."""

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, ignore_index, reduction)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return robust.mae_loss(
            logits, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class BootstrapLoss(_ClassLoss):
    """Module of `bootstrap_loss`."""

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
        self.mode = mode
        self.beta = beta
        self.detach = detach

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return robust.bootstrap_loss(
            logits,
            target,
            mode=self.mode,
            beta=self.beta,
            detach=self.detach,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class SymmetricLoss(_ClassLoss):
    """Module of `symmetric_loss`."""

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
        self.alpha = alpha
        self.beta = beta
        self.log_zero = log_zero

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return robust.symmetric_loss(
            logits,
            target,
            alpha=self.alpha,
            beta=self.beta,
            log_zero=self.log_zero,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


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

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, ignore_index, reduction)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return robust.complementary_loss(
            logits, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class GeneralizedLoss(_ClassLoss):
    """Module of `generalized_loss`."""

    def __init__(
        self,
        q: float = 0.7,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, ignore_index, reduction)
        self.q = q

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return robust.generalized_loss(
            logits,
            target,
            q=self.q,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )
