"""Learning rate schedules: a factor on the base rate by the progress of the run, or a scheduler of torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from graylearn.errors import SettingsError
from graylearn.training.optimizers import set_rate

MIN_STEPS = 160
"""Steps that small sets are trained for at least, by more epochs."""

ScheduleName = Literal["constant", "step", "one-cycle", "cosine"]


@dataclass(frozen=True)
class ScheduleSettings:
    """How the learning rate changes during training."""

    name: ScheduleName = "constant"
    """`constant`; `step` (times `gamma` at each milestone); `one-cycle` (a line up over
    `warmup`, a line down to `final`); `cosine` (half a cosine down to `final`). Each may begin with a
    `warmup`; by default none does."""
    milestones: tuple[float, ...] = (0.5, 0.75)
    """Of `step`: below 1 a fraction of all epochs, from 1 on a number of epochs."""
    gamma: float = 0.1
    """Of `step`: the factor at each milestone."""
    warmup: float = 0.0
    """The fraction of the run in which the rate rises to its peak, in a line."""
    initial: float = 0.1
    """With warmup: the factor at the first step."""
    final: float = 0.0
    """Of `one-cycle` and `cosine`: the factor after the last step."""

    def __post_init__(self) -> None:
        if self.name not in ("constant", "step", "one-cycle", "cosine"):
            raise SettingsError(
                f"schedule {self.name!r} is not known: use constant, step, one-cycle or cosine"
            )
        if any(milestone <= 0 for milestone in self.milestones):
            raise SettingsError(f"milestones must be positive, got {self.milestones}")
        for name in ("gamma", "initial", "final"):
            if not 0 <= getattr(self, name) < math.inf:
                raise SettingsError.wrong(name, getattr(self, name), "a factor of at least 0")
        if not 0 <= self.warmup < 1:
            raise SettingsError(f"warmup is a fraction of the run in [0, 1), got {self.warmup}")

    @property
    def per_step(self) -> bool:
        """Whether the rate changes within an epoch."""
        return self.warmup > 0 or self.name in ("one-cycle", "cosine")


def schedule_factor(schedule: ScheduleSettings, epoch: int, step: int, steps: int, epochs: int) -> float:
    """The factor on the base learning rate at `step` of the `steps` of `epoch`, of `epochs` in all."""
    done = (epoch + step / steps) / epochs
    if done < schedule.warmup:
        return schedule.initial + (1 - schedule.initial) * done / schedule.warmup
    if schedule.name == "constant":
        return 1.0
    if schedule.name == "step":
        passed = sum(epoch >= _milestone_epoch(milestone, epochs) for milestone in schedule.milestones)
        return float(schedule.gamma**passed)
    fall = (done - schedule.warmup) / (1 - schedule.warmup)
    if schedule.name == "cosine":
        fall = (1 - math.cos(math.pi * fall)) / 2
    return 1 + (schedule.final - 1) * fall


def _milestone_epoch(milestone: float, epochs: int) -> float:
    return round(milestone * epochs, 9) if milestone < 1 else milestone


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

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise SettingsError(
                f"schedule is of type {type(self.make).__name__}, expected a function of the optimizer that"
                " makes a scheduler of torch, such as lambda optimizer: StepLR(optimizer, 5)"
            )
        if self.every not in ("epoch", "step"):
            raise SettingsError.wrong("every", self.every, "epoch or step")

    @property
    def per_step(self) -> bool:
        """Whether the rate changes within an epoch."""
        return self.every == "step"


class Scheduler:
    """The scheduler of one run. A method may scale the rates; the scheduler sees them as it left them."""

    def __init__(self, schedule: TorchSchedule, optimizer: torch.optim.Optimizer) -> None:
        made = schedule.make(optimizer)
        if not isinstance(made, LRScheduler) or made.optimizer is not optimizer:
            raise SettingsError(
                f"the schedule function gave {type(made).__name__}, expected a scheduler of torch for the"
                " optimizer that it was given"
            )
        self.made, self.every, self.groups = made, schedule.every, optimizer.param_groups
        self.by_loss = isinstance(made, ReduceLROnPlateau)
        if self.by_loss and self.every == "step":
            raise SettingsError("ReduceLROnPlateau looks at the loss of an epoch: leave out every='step'")
        self.rates = self._rates()

    def _rates(self) -> list[float]:
        return [float(group["lr"]) for group in self.groups]

    def scale(self, factor: float) -> float:
        """Set the rates, times `factor`; gives the first."""
        for group, rate in zip(self.groups, self.rates, strict=True):
            set_rate(group, rate * factor)
        return self.rates[0] * factor

    def step(self, loss: float = 0.0) -> None:
        """Make one step; `loss` is for schedulers that read it."""
        self.scale(1.0)
        step: Callable[..., None] = self.made.step
        step(*([loss] if self.by_loss else []))
        self.rates = self._rates()

    def describe(self) -> list[Any]:
        """What decides the rates, but for functions, which cannot be compared."""
        plain = (bool, int, float, str, list, tuple, dict)
        state = {
            name: repr(value) for name, value in self.made.state_dict().items() if isinstance(value, plain)
        }
        return [type(self.made).__name__, self.every, state]

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"made": dict(self.made.state_dict()), "rates": self.rates}

    def load_state(self, saved: dict[str, Any]) -> None:
        """Take what `state` gave."""
        self.made.load_state_dict(saved["made"])
        self.rates = list(saved["rates"])
