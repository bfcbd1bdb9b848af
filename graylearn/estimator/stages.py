"""What is done around the stages of a pipeline, such as keeping in a folder what each of them made."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from graylearn.training import Result, Settings

Stage = Literal["features", "first", "audit", "refined"]
Made = TypeVar("Made")
Run = Callable[..., "Result"]
"""(settings, *callbacks) -> the result of training one network."""


class Stages:
    """What is done around the stages of a pipeline; here nothing, so that all stays in memory.

    A subclass may keep what a stage made and give it back when the pipeline is run again, or tell of it.
    """

    def train(self, stage: Stage, settings: Settings, run: Run) -> Result:
        """Train one network with `run(settings, *callbacks)`, the settings perhaps with a checkpoint."""
        return run(settings)

    def keep(self, stage: Stage, make: Callable[[], Made]) -> Made:
        """What `make` makes: the training set and its encoder at the stage "features", an Audit at "audit", a
        PipelineResult at "refined"."""
        return make()
