"""How weights move: optimizers, learning rates, and the mean or the best of the weights on the way."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from graylearn.errors import SettingsError
from graylearn.methods.base import Factor, check_options
from graylearn.options import check
from graylearn.torch_internals import fused_adam, fused_adamw, fused_sgd, lerp_each


@dataclass(frozen=True)
class OptimizerSettings:
    """Which optimizer, and its constants."""

    name: Literal["sgd", "adam", "adamw"] = "adam"
    """`sgd`, `adam` or `adamw`, each as in torch.optim."""
    learning_rate: float = 1e-3
    """The base rate, which the schedule scales."""
    weight_decay: Factor = 0.0
    """Decay of the weights: an L2 penalty, decoupled from the gradient for `adamw`."""
    momentum: Factor = 0.0
    """Of `sgd`."""
    nesterov: bool = False
    """Of `sgd`: look ahead along the momentum."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Of `adam` and `adamw`: decay of the two moments."""
    eps: Factor = 1e-8
    """Of `adam` and `adamw`: keeps the division finite."""

    def __post_init__(self) -> None:
        check_options("optimizer", self)  # torch's own kernels do not look
        check(vars(self), needed=("learning_rate",))
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise SettingsError.wrong("betas", self.betas, "two shares from 0 to below 1, as (0.9, 0.999)")
        if self.nesterov and self.momentum <= 0:
            raise SettingsError("nesterov needs momentum: set momentum=0.9, or nesterov=False")


OptimizerLike: TypeAlias = (
    OptimizerSettings | Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | torch.optim.Optimizer
)
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


class Kept:
    """What a checkpoint keeps of an object: the attributes that `state` names."""

    state: ClassVar[tuple[str, ...]]

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {name: getattr(self, name) for name in self.state}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Take what `state_dict` gave; tensors, and lists of them, stay where they are in memory."""
        for name in self.state:
            mine, value = getattr(self, name), saved[name]
            if isinstance(mine, Tensor):
                mine.copy_(value)
            elif isinstance(mine, list):
                for own, other in zip(mine, value, strict=True):
                    own.copy_(other)
            else:
                setattr(self, name, value)


class FlatOptimizer(Kept):
    """SGD, Adam or AdamW on one flat row of parameters per model: updates them in place from their gradients.

    The arithmetic is torch's own fused kernels, without the bookkeeping of torch.optim around them, which
    costs a small network more than the arithmetic.
    """

    state = ("first", "second", "taken")

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
        self.rate = settings.learning_rate
        self.constants: dict[str, Any] = {"weight_decay": settings.weight_decay, "maximize": False}
        if settings.name == "sgd":
            self.constants |= {"momentum": settings.momentum, "nesterov": settings.nesterov, "dampening": 0.0}
        else:
            beta1, beta2 = settings.betas
            self.constants |= {"beta1": beta1, "beta2": beta2, "eps": settings.eps, "amsgrad": False}
            self.fused = fused_adam if settings.name == "adam" else fused_adamw

    def step(self) -> None:
        """One update, at the rate set."""
        self.taken += 1
        parameters, gradients = [self.parameters], [self.gradients]
        if self.settings.name == "sgd":
            momentum = [self.first] if self.settings.momentum else []
            first = self.taken == 1
            fused_sgd(parameters, gradients, momentum, lr=self.rate, is_first_step=first, **self.constants)
            return
        if self.counter is None:
            self.count.fill_(self.taken)
        else:
            self.counter[()] = self.taken
        self.fused(
            parameters, gradients, [self.first], [self.second], [], [self.count], lr=self.rate,
            **self.constants,
        )  # fmt: skip


MIN_STEPS = 160
"""Steps that small sets are trained for at least, by more epochs."""


@dataclass(frozen=True)
class ScheduleSettings:
    """How the learning rate changes during training."""

    name: Literal["constant", "step", "one-cycle", "cosine"] = "constant"
    """`constant`; `step` (times `gamma` at each milestone); `one-cycle` (a line up over
    `warmup`, a line down to `final`); `cosine` (half a cosine down to `final`). Each may begin with a
    `warmup`; by default none does."""
    milestones: tuple[float, ...] = (0.5, 0.75)
    """Of `step`: below 1 a fraction of all epochs, from 1 on a number of epochs."""
    gamma: Factor = 0.1
    """Of `step`: the factor at each milestone."""
    warmup: float = 0.0
    """The fraction of the run in which the rate rises to its peak, in a line."""
    initial: Factor = 0.1
    """With warmup: the factor at the first step."""
    final: Factor = 0.0
    """Of `one-cycle` and `cosine`: the factor after the last step."""

    def __post_init__(self) -> None:
        check_options("schedule", self)
        if any(milestone <= 0 for milestone in self.milestones):
            raise SettingsError(f"milestones must be positive, got {self.milestones}")
        if not 0 <= self.warmup < 1:
            raise SettingsError(f"warmup is a fraction of the run in [0, 1), got {self.warmup}")

    @property
    def per_step(self) -> bool:
        """Whether the rate changes within an epoch."""
        return self.warmup > 0 or self.name in ("one-cycle", "cosine")

    @property
    def planned(self) -> str:
        """What was laid out over the epochs that the run was to have; empty if nothing was."""
        shares = self.name == "step" and any(milestone < 1 for milestone in self.milestones)
        return (
            f"schedule {self.name}{' with warmup' if self.warmup else ''}" if self.per_step or shares else ""
        )


def schedule_factor(schedule: ScheduleSettings, epoch: int, step: int, steps: int, epochs: int) -> float:
    """The factor on the base learning rate at `step` of the `steps` of `epoch`, of `epochs` in all."""
    done = (epoch + step / steps) / epochs
    if done < schedule.warmup:
        return schedule.initial + (1 - schedule.initial) * done / schedule.warmup
    if schedule.name == "constant":
        return 1.0
    if schedule.name == "step":
        # rounded, as .29 * 100 is 28.999999999999996
        counted = [each if each >= 1 else round(each * epochs, 9) for each in schedule.milestones]
        passed = sum(epoch >= milestone for milestone in counted)
        return float(schedule.gamma**passed)
    fall = (done - schedule.warmup) / (1 - schedule.warmup)
    if schedule.name == "cosine":
        fall = (1 - math.cos(math.pi * fall)) / 2
    return 1 + (schedule.final - 1) * fall


def batch_size_for(num_samples: int) -> int:
    """Samples per step: from 16 to 128, so that an epoch has at least some ten steps."""
    power = round(math.log2(max(num_samples, 1) / 10))
    return 1 << min(max(power, 4), 7)


def epochs_for(num_samples: int, batch_size: int, least: int) -> int:
    """Passes over the training set: `least`, or more if a small set would take too few steps."""
    return max(least, math.ceil(MIN_STEPS / math.ceil(max(num_samples, 1) / batch_size)))


@dataclass(frozen=True)
class TorchSchedule:
    """A scheduler of `torch.optim.lr_scheduler`, or one like them, and when it steps."""

    make: Callable[[torch.optim.Optimizer], LRScheduler]
    """optimizer -> scheduler."""
    every: Literal["epoch", "step"] = "epoch"
    """It steps after each epoch, or after each step of the optimizer."""

    planned: ClassVar[str] = ""  # it counts its own steps

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise SettingsError(
                f"schedule is of type {type(self.make).__name__}, expected a function of the optimizer that"
                " makes a scheduler of torch, such as lambda optimizer: StepLR(optimizer, 5)"
            )
        check_options("schedule", self)

    @property
    def per_step(self) -> bool:
        """Whether the rate changes within an epoch."""
        return self.every == "step"

    def scheduler(self, optimizer: torch.optim.Optimizer) -> LRScheduler:
        """The scheduler of one run."""
        made = self.make(optimizer)
        if not isinstance(made, LRScheduler) or made.optimizer is not optimizer:
            raise SettingsError(
                f"the schedule function gave {type(made).__name__}, expected a scheduler of torch for the"
                " optimizer that it was given"
            )
        if isinstance(made, ReduceLROnPlateau) and self.per_step:
            raise SettingsError("ReduceLROnPlateau looks at the loss of an epoch: leave out every='step'")
        return made


class Average(Kept):
    """A running mean of weights and buffers, which `swap` exchanges with them.

    It is kept in `network` where one is asked meanwhile: its weights follow, its buffers are its own.
    """

    state = ("mean", "steps")

    def __init__(self, values: Sequence[Tensor], keep: float, network: nn.Module | None = None) -> None:
        self.values = list(values)
        self.mean = [value.clone() for value in values]
        followed = len(self.mean)
        if network is not None:
            weights = [value.detach() for value in network.parameters()]
            self.mean, followed = [*weights, *network.buffers()], len(weights)
        pairs = list(zip(self.mean, self.values, strict=True))[:followed]
        floats = [pair for pair in pairs if pair[0].is_floating_point()]
        self.moved = [mean for mean, _ in floats], [value for _, value in floats]
        # such as the batches that a batch norm has counted
        self.copied = [pair for pair in pairs if not pair[0].is_floating_point()]
        self.keep = keep
        self.steps = 0

    @torch.no_grad()
    def update(self) -> None:
        """Add the weights after a step; early ones decay faster, because the first are random."""
        keep = min(self.keep, (1 + self.steps) / (10 + self.steps))
        self.steps += 1
        means, values = self.moved
        lerp_each(means, values, 1 - keep)
        for mean, value in self.copied:
            mean.copy_(value)

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the mean and the weights."""
        for mean, value in zip(self.mean, self.values, strict=True):
            weights = value.clone()
            value.copy_(mean)
            mean.copy_(weights)


class Best(Kept):
    """The weights of the best epoch on a validation set, for early stopping.

    Best is the highest accuracy; among equals, the lowest loss.
    """

    state = ("reached", "epoch", "weights")

    def __init__(self, model: nn.Module, patience: int) -> None:
        self.model, self.patience = model, patience
        self.reached = (-math.inf, -math.inf)
        self.epoch = -1
        self.weights: dict[str, Any] = {}

    def look(self, epoch: int, validation: dict[str, float]) -> bool:
        """Compare one epoch with the best; True if the run should end."""
        reached = (validation["accuracy"], -validation["loss"])
        if self.epoch < 0 or reached > self.reached:
            self.reached, self.epoch = reached, epoch
            self.weights = {
                name: value.detach().clone() if isinstance(value, Tensor) else value
                for name, value in self.model.state_dict().items()
            }
        return epoch - self.epoch >= self.patience

    def restore(self) -> None:
        """Put the best weights into the model, if there are any."""
        if self.weights:
            self.model.load_state_dict(self.weights)
