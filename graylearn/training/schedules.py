"""Learning rate schedules: a factor on the base rate, as a pure function of how far the run is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from graylearn.errors import SettingsError

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
    """Passes over the training set: `least`, or more where a small set would take too few steps."""
    return max(least, math.ceil(MIN_STEPS / math.ceil(max(num_samples, 1) / batch_size)))
