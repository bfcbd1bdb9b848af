"""Optimizers by name and settings, or the user's own."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

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
        for name in ("weight_decay", "momentum", "eps"):  # torch's own kernels do not look
            if not (isinstance(getattr(self, name), Real) and 0 <= getattr(self, name) < math.inf):
                raise SettingsError.wrong(name, getattr(self, name), "a number of at least 0")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise SettingsError.wrong("betas", self.betas, "two shares from 0 to below 1, as (0.9, 0.999)")
        if self.nesterov and self.momentum <= 0:
            raise SettingsError("nesterov needs momentum: set momentum=0.9, or nesterov=False")


OptimizerLike: TypeAlias = OptimizerSettings | OptimizerFactory | torch.optim.Optimizer
"""Settings, a function that makes one, or one that is ready."""


def make_optimizer(optimizer: OptimizerLike, model: nn.Module, device: torch.device) -> torch.optim.Optimizer:
    """The torch optimizer for the parameters of `model` that learn."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not parameters:
        raise SettingsError("the model has no parameter that requires a gradient: nothing can be trained")
    if not isinstance(optimizer, OptimizerSettings):
        made = optimizer if isinstance(optimizer, torch.optim.Optimizer) else optimizer(parameters)
        if not isinstance(made, torch.optim.Optimizer):
            raise SettingsError(f"the optimizer function gave {type(made).__name__}, not a torch optimizer")
        if made is optimizer:
            _check_own(made, parameters)
        closure = inspect.signature(made.step).parameters.get("closure")
        if closure is not None and closure.default is closure.empty:
            raise SettingsError(
                f"{type(made).__name__} takes several passes per step, which training does not make:"
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


def _check_own(made: torch.optim.Optimizer, parameters: list[nn.Parameter]) -> None:
    """Refuse a ready optimizer of other parameters than these."""
    own = {id(parameter) for parameter in parameters}
    held = [value for group in made.param_groups for value in group["params"] if value.requires_grad]
    if any(id(value) not in own for value in held):
        raise SettingsError(
            f"the {type(made).__name__} is made for other parameters than those that are trained:"
            " make it from model.parameters(), or give a function of the parameters that makes it"
        )


def set_rate(group: dict[str, Any], rate: float) -> None:
    """The learning rate of a group of parameters."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate
