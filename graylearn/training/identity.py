"""Whether a run may go on from a checkpoint: it must be the same run, or the same for more epochs."""

from __future__ import annotations

import dataclasses
from typing import Any

from graylearn.errors import CheckpointError
from graylearn.methods import Method
from graylearn.methods.softened import Softened
from graylearn.training.schedules import ScheduleSettings
from graylearn.training.settings import Settings


def described(method: Method) -> str:
    """A method and its options."""
    known = dataclasses.is_dataclass(method) or isinstance(method, Softened)
    return f"{type(method).__name__} {repr(method) if known else ''}"


def check_identity(saved: dict[str, Any], mine: dict[str, Any], settings: Settings, method: Method) -> None:
    """Refuse a checkpoint of another run; `saved` and `mine` say what decides the result of each."""
    folder = settings.checkpoint
    for name in [*mine, *(name for name in saved if name not in mine)]:
        value = mine.get(name)
        if saved.get(name) != value and name != "epochs":
            told = name not in ("data", "weights", "sample_weight")
            old, new = (saved.get(name), value) if told else ("other", "this one")
            raise CheckpointError(
                f"the checkpoint in {folder} is of another run: its {name} is {old}, not {new};"
                " resume with the settings it was started with, or use another folder"
            )
    before, now = saved["epochs"], mine["epochs"]
    if before == now:
        return
    why = f"fewer epochs cannot be: it was started with {before}, not {now}"
    if now > before:
        why = _why_not_longer(settings.schedule, method, before)
    if why:
        raise CheckpointError(
            f"the checkpoint in {folder} cannot go on to epochs={now}: {why};"
            f" resume with epochs={before}, or train anew in another folder"
        )


def _why_not_longer(schedule: Any, method: Method, epochs: int) -> str:
    """Why the epochs so far would not be those of a longer run; empty where they are."""
    if method.plans_epochs:
        return f"{type(method).__name__} does what it does by how many epochs there are, and planned {epochs}"
    if not isinstance(schedule, ScheduleSettings):  # counts its own steps
        return ""
    if schedule.warmup or schedule.name in ("one-cycle", "cosine"):
        warm = " with warmup" if schedule.warmup else ""
        return f"its learning rates ({schedule.name}{warm}) were laid out over {epochs} epochs"
    if schedule.name == "step" and any(milestone < 1 for milestone in schedule.milestones):
        return f"its milestones {schedule.milestones} are shares of {epochs} epochs, not numbers of epochs"
    return ""
