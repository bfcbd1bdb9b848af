"""Optimizers: by name and settings, the user's own, and the flat one of multilayer perceptrons."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from graylearn.errors import SettingsError
from graylearn.options import check
from graylearn.torch_internals import fused_adam, fused_adamw, fused_sgd

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
    # one kernel for all tensors, if torch has it
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


class FlatOptimizer:
    """SGD, Adam or AdamW on one flat row of parameters per model: updates them in place from their gradients.

    The arithmetic is torch's own fused kernels, without the bookkeeping of torch.optim around them, which
    costs a small network more than the arithmetic.
    """

    def __init__(self, settings: OptimizerSettings, parameters: Tensor, gradients: Tensor) -> None:
        self.settings = settings
        self.parameters, self.gradients = parameters, gradients
        self.first = torch.zeros_like(parameters)
        """Momentum, or the first moment."""
        self.second = torch.zeros_like(parameters) if settings.name != "sgd" else parameters.new_zeros(0)
        # Steps taken, which the kernels read from a tensor: on the CPU one that numpy can write to, since
        # adding to a tensor takes as long as a small matrix product.
        self.counter = np.zeros((), dtype=np.float32) if parameters.device.type == "cpu" else None
        self.count = (
            torch.zeros((), dtype=torch.float32, device=parameters.device)
            if self.counter is None
            else torch.from_numpy(self.counter)
        )
        self.taken = 0
        self.rates: Sequence[float] = [settings.learning_rate] * len(parameters)

    def step(self) -> None:
        """One update, at the rates set."""
        self.taken += 1
        if self.counter is None:
            self.count += 1
        else:
            self.counter[()] = self.taken
        rates = self.rates
        if len(rates) == 1 or all(rate == rates[0] for rate in rates):
            self._update(rates[0], self.parameters, self.gradients, self.first, self.second)
            return
        for model, rate in enumerate(rates):
            second = self.second[model] if len(self.second) else self.second
            self._update(rate, self.parameters[model], self.gradients[model], self.first[model], second)

    def _update(
        self, rate: float, parameter: Tensor, gradient: Tensor, first: Tensor, second: Tensor
    ) -> None:
        settings = self.settings
        if settings.name == "sgd":
            fused_sgd(
                [parameter],
                [gradient],
                [first] if settings.momentum else [],
                weight_decay=settings.weight_decay,
                momentum=settings.momentum,
                lr=rate,
                dampening=0.0,
                nesterov=settings.nesterov,
                maximize=False,
                is_first_step=self.taken == 1,
            )
            return
        fused = fused_adam if settings.name == "adam" else fused_adamw
        fused(
            [parameter],
            [gradient],
            [first],
            [second],
            [],
            [self.count],
            lr=rate,
            beta1=settings.betas[0],
            beta2=settings.betas[1],
            weight_decay=settings.weight_decay,
            eps=settings.eps,
            amsgrad=False,
            maximize=False,
        )

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"first": self.first, "second": self.second, "taken": self.taken}

    def load_state(self, saved: dict[str, Any]) -> None:
        """Take what `state` gave."""
        self.first.copy_(saved["first"])
        self.second.copy_(saved["second"])
        self.taken = int(saved["taken"])
        self.count.fill_(float(self.taken))
