"""What a run tells while it goes: bars on a terminal, plain lines elsewhere, and all of it in run.log."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from graylearn.data.encoding.column_kinds import DataWarning
from graylearn.errors import Worded
from graylearn.runs.folder import open_to_append
from graylearn.runs.settings import in_flags

_EVERY = 30.0  # seconds between two lines of how far something is
_WORTH_TELLING = 1.0  # seconds from which on a finished piece of work is told


class RunProgress:
    """Tells a person on standard error, and later readers in run.log."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
        self._log: Path | None = None
        self._noted: dict[str, None] = {}
        self._busy = False

    @property
    def engine_log(self) -> Literal["bar", "none"]:
        """Whether the engine should show a bar of its own: on a terminal where no other is shown."""
        shows = self.console.is_terminal and not self.console.quiet and not self._busy
        return "bar" if shows else "none"

    @property
    def notes(self) -> list[str]:
        """All that was noted so far."""
        return list(self._noted)

    def also_to(self, path: Path) -> None:
        """Keep all that follows in this file too."""
        self._log = path

    def say(self, text: str) -> None:
        """One line."""
        self.console.print(text, markup=False)
        self._keep(text)

    def _keep(self, text: str) -> None:
        if self._log is not None:
            with open_to_append(self._log) as file:
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")

    def note(self, text: str) -> None:
        """Something that the user should know, once."""
        if text not in self._noted:
            self._noted[text] = None
            self.say(f"note: {text}")

    @contextmanager
    def of_warnings(self) -> Iterator[None]:
        """Tell warnings as notes, in the words of settings."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)  # each is told once, whoever read before
            warnings.showwarning = lambda message, *_, **__: self.note(
                message.worded(in_flags) if isinstance(message, Worded) else str(message)
            )
            yield

    @contextmanager
    def working(self, title: str, *, bar: bool = True) -> Iterator[None]:
        """Show that something is being done; without `bar` where it shows a bar of its own."""
        began, was_busy = time.perf_counter(), self._busy
        shows = bar and not was_busy and self.console.is_terminal and not self.console.quiet
        bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not shows,
        )
        self._busy = was_busy or shows
        try:
            with bars:
                bars.add_task(title, total=None)
                yield
        finally:
            self._busy = was_busy
        seconds = time.perf_counter() - began
        tell = self.say if seconds >= _WORTH_TELLING else self._keep
        tell(f"{title} ({seconds:.1f} s)")

    @contextmanager
    def steps(self, title: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show how far something is and how long it will take; gives a function that counts what is done.

        Lines where nobody watches, and in run.log, every half minute.
        """
        began = told = time.perf_counter()
        shows = not self._busy and self.console.is_terminal and not self.console.quiet
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        bars = Progress(
            *columns, TimeRemainingColumn(), console=self.console, transient=True, disable=not shows
        )
        done, before = 0, None

        def advance(count: int) -> None:
            nonlocal done, before, told
            done += count
            before = done if before is None else before  # what an earlier run did took no time of this one
            bars.update(task, completed=done)
            now = time.perf_counter()
            if now - told >= _EVERY and before < done < total:
                told = now
                left = (now - began) * (total - done) / (done - before)
                tell = self._keep if shows else self.say
                tell(f"{title}: {done:,} of {total:,}, about {duration(left)} left")

        with bars:
            task = bars.add_task(title, total=total)
            yield advance
        seconds = time.perf_counter() - began
        tell = self.say if seconds >= _WORTH_TELLING else self._keep
        tell(f"{title}: {done:,} ({seconds:.1f} s)")

    @contextmanager
    def watching(self, title: str) -> Iterator[Callable[[str, int, int], None]]:
        """`working` on something that has stages; gives a function that is told how far each of them is."""
        began = told = stage_began = time.perf_counter()
        current = ""
        shows = not self._busy and self.console.is_terminal and not self.console.quiet
        columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=30))
        bars = Progress(
            *columns,
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not shows,
        )

        def watch(stage: str, done: int, total: int) -> None:
            nonlocal told, stage_began, current
            now = time.perf_counter()
            if stage != current:
                current, stage_began = stage, now
                bars.reset(task, description=f"{title}: {stage}", total=total)
            bars.update(task, completed=done, total=total)
            if now - told >= _EVERY and 0 < done < total:
                told = now
                left = duration((now - stage_began) * (total - done) / done)
                tell = self._keep if shows else self.say
                tell(f"{title}, {stage}: {done / total:.0%}, about {left} left")

        was_busy, self._busy = self._busy, self._busy or shows
        try:
            with bars:
                task = bars.add_task(title, total=None)
                yield watch
        finally:
            self._busy = was_busy
        seconds = time.perf_counter() - began
        tell = self.say if seconds >= _WORTH_TELLING else self._keep
        tell(f"{title} ({seconds:.1f} s)")

    @contextmanager
    def training(self, title: str) -> Iterator[Callable[[list[dict[str, Any]]], None]]:
        """Tell of a training, whose bar is the engine's; gives a function to hand its log to."""
        began = time.perf_counter()
        rows: list[dict[str, Any]] = []
        yield rows.extend
        if self._busy or not rows:
            return
        last = rows[-1]
        self.say(
            f"{title}: {len(rows)} epochs, loss {last['loss']:.4f}, accuracy {last['accuracy']:.3f} "
            f"({time.perf_counter() - began:.1f} s)"
        )


def duration(seconds: float) -> str:
    """For people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.0f} h"
