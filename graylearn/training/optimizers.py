"""Optimizers by name and settings, or the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from graylearn.errors import SettingsError
from graylearn.options import check

OptimizerFactory = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
"""A user's own: parameters -> torch optimizer."""


@dataclass(frozen=True)
class OptimizerSettings:
    """Which optimizer, and its constants."""

    name: Literal["sgd", "adam", "adamw"] = "adam"
    """`sgd`, `adam` or `adamw`, each as in torch.optim."""
    learning_rate: float = 1e-3
    """The base rate, which the schedule and the method scale."""
    weight_decay: float = 0.0
    """Decay of the weights: an L2 penalty, decoupled from the gradient for `adamw`."""
    momentum: float = 0.0
    """Of `sgd`."""
    nesterov: bool = False
    """Of `sgd`: look ahead along the momentum."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Of `adam` and `adamw`: decay of the two moments."""
    eps: float = 1e-8
    """Of `adam` and `adamw`: keeps the division finite."""

    def __post_init__(self) -> None:
        if self.name not in ("sgd", "adam", "adamw"):
            raise SettingsError(
                f"optimizer {self.name!r} is not known: use sgd, adam, adamw or a function that makes one"
            )
        check({"learning_rate": self.learning_rate})
        if self.learning_rate is None:
            raise SettingsError.wrong("learning_rate", None, "a positive number")
        if self.nesterov and self.momentum <= 0:
            raise SettingsError("nesterov needs momentum: set momentum=0.9, or nesterov=False")


def make_optimizer(
    optimizer: OptimizerSettings | OptimizerFactory, model: nn.Module, device: torch.device
) -> torch.optim.Optimizer:
    """The torch optimizer for the parameters of `model` that learn."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not parameters:
        raise SettingsError("the model has no parameter that requires a gradient: nothing can be trained")
    if not isinstance(optimizer, OptimizerSettings):
        made = optimizer(parameters)
        if not isinstance(made, torch.optim.Optimizer):
            raise SettingsError(f"the optimizer function gave {type(made).__name__}, not a torch optimizer")
        closure = inspect.signature(made.step).parameters.get("closure")
        if closure is not None and closure.default is closure.empty:
            raise SettingsError(
                f"{type(made).__name__} takes several passes a step, which training does not make:"
                " use sgd, adam, adamw or another optimizer that steps without a closure"
            )
        return made
    # one kernel for all tensors, where torch has it
    options: dict[str, Any] = {"fused": True} if device.type in ("cpu", "cuda") else {}
    options |= {"lr": optimizer.learning_rate, "weight_decay": optimizer.weight_decay}
    if optimizer.name == "sgd":
        return torch.optim.SGD(
            parameters, momentum=optimizer.momentum, nesterov=optimizer.nesterov, **options
        )
    kind = torch.optim.Adam if optimizer.name == "adam" else torch.optim.AdamW
    return kind(parameters, betas=optimizer.betas, eps=optimizer.eps, **options)
