"""Learning rates by a scheduler of torch's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from graylearn.errors import SettingsError
from graylearn.training.optimizers import set_rate


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
        """Go on by one step; `loss` is for those that look at it."""
        self.scale(1.0)
        step: Callable[..., None] = self.made.step
        step(*([loss] if self.by_loss else []))
        self.rates = self._rates()

    def describe(self) -> list[Any]:
        """What decides the rates, as far as it can be told: functions cannot."""
        plain = (bool, int, float, str, list, tuple, dict)
        state = {
            name: repr(value) for name, value in self.made.state_dict().items() if isinstance(value, plain)
        }
        return [type(self.made).__name__, self.every, state]

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"made": dict(self.made.state_dict()), "rates": self.rates}

    def load_state(self, saved: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.made.load_state_dict(saved["made"])
        self.rates = list(saved["rates"])
