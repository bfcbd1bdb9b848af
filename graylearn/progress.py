"""How far something is, for a person who watches: a bar on standard error, and how long it will take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

EVERY = 30.0
"""Seconds between two lines of how far something is."""


def duration(seconds: float) -> str:
    """So long, in the unit that a person would say."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


class Bar:
    """A bar that shows how far a stage is and when it will end, as long as it is entered."""

    def __init__(self, stage: str, total: int | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.stage, self.console = stage, Console(stderr=True)
        words = TextColumn("{task.description}", markup=False)
        columns = (words, BarColumn(bar_width=30), MofNCompleteColumn(), TimeRemainingColumn())
        self._bars = Progress(*columns, console=self.console, transient=True)
        self._task = self._bars.add_task(stage, total=total)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, stage: str, done: int, total: int, more: str = "") -> None:
        """So much of the stage is done; of another stage than before, the time is counted anew."""
        if stage != self.stage:
            self.stage = stage
            self._bars.reset(self._task, total=total)
        self._bars.update(self._task, completed=done, total=total, description=stage + more)


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[int], Any]]:
    """Give a function that moves a bar by a number of steps; shown on a terminal alone."""
    bar, done = Bar(title, total), 0

    def advance(steps: int) -> None:
        nonlocal done
        done += steps
        bar.show(title, done, total)

    if not bar.console.is_terminal:
        yield lambda _: None
        return
    with bar:
        yield advance
