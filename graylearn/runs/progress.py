"""What a run tells while it goes: bars on a terminal, plain lines elsewhere, and all of it in run.log."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from graylearn.errors import DataWarning, Worded, counted
from graylearn.progress import EVERY, duration
from graylearn.runs.settings import in_flags

_WORTH_TELLING = 1.0  # seconds from which on a finished piece of work is told


@dataclass
class _Bar:
    """A bar, and lines for those who do not see it."""

    bars: Progress
    task: TaskID
    say: Callable[[str], None]
    outcome: str = ""
    """What is told at the end, beside how long it took."""
    told: float = field(default_factory=time.perf_counter)

    def tell(self, words: str, began: float, done: int, total: int, before: int = 0) -> None:
        """Every half minute how far it is, and how much is left at the pace since `before` were done."""
        now = time.perf_counter()
        if now - self.told >= EVERY and before < done < total:
            self.told = now
            left = (now - began) * (total - done) / (done - before)
            self.say(f"{words}, about {duration(left)} left")


class _Errors(Console):
    """Standard error, which may close: a run goes on, as its outcome is in its folder."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


def _title() -> TextColumn:
    return TextColumn("{task.description}", markup=False)


class RunProgress:
    """Tells a person on standard error, and later readers in run.log."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console: Console = _Errors(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
        self._log: Path | None = None
        self._noted: dict[str, str] = {}
        self._busy = False

    @property
    def engine_log(self) -> Literal["bar", "none"]:
        """Whether the engine should show a bar of its own: on a terminal where no other is shown."""
        shows = self.console.is_terminal and not self.console.quiet and not self._busy
        return "bar" if shows else "none"

    @property
    def notes(self) -> list[str]:
        """All that was noted so far."""
        return list(self._noted.values())

    def also_to(self, path: Path) -> None:
        """Keep all that follows in this file too."""
        self._log = path

    def say(self, text: str) -> None:
        """One line."""
        self.console.print(text, markup=False)
        self._keep(text)

    def _keep(self, text: str) -> None:
        if self._log is not None:
            with self._log.open("a", encoding="utf-8", errors="backslashreplace", buffering=1) as file:
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")

    def note(self, text: str, about: str | None = None) -> None:
        """Something that the user should know, once; once `about` it, whatever the numbers are."""
        if (about or text) not in self._noted:
            self._noted[about or text] = text
            self.say(f"note: {text}")

    @contextmanager
    def of_warnings(self) -> Iterator[None]:
        """Tell warnings as notes, in the words of settings."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)  # each is told once, whoever read before
            warnings.showwarning = lambda message, *_, **__: self.note(
                message.worded(in_flags) if isinstance(message, Worded) else str(message),
                getattr(message, "about", None),
            )
            yield

    @contextmanager
    def _bar(
        self, title: str, *columns: ProgressColumn, wanted: bool = True, total: int | None = None
    ) -> Iterator[_Bar]:
        """A bar on a terminal where no other is shown; at the end, how long it took."""
        began, was_busy = time.perf_counter(), self._busy
        shows = wanted and not was_busy and self.console.is_terminal and not self.console.quiet
        bars = Progress(*columns, console=self.console, transient=True, disable=not shows)
        self._busy = was_busy or shows
        try:
            with bars:
                bar = _Bar(bars, bars.add_task(title, total=total), self._keep if shows else self.say)
                yield bar
        finally:
            self._busy = was_busy
        seconds = time.perf_counter() - began
        tell = self.say if seconds >= _WORTH_TELLING else self._keep
        tell(f"{title}{bar.outcome} ({seconds:.1f} s)")

    @contextmanager
    def working(self, title: str, *, bar: bool = True) -> Iterator[None]:
        """Show that something is being done; without `bar` where it shows a bar of its own."""
        columns = (SpinnerColumn(), _title(), BarColumn(bar_width=30), TimeElapsedColumn())
        with self._bar(title, *columns, wanted=bar):
            yield

    @contextmanager
    def steps(self, title: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show how far something is and how long it will take; gives a function that counts what is done.

        Lines where nobody watches, and in run.log, every half minute.
        """
        began = time.perf_counter()
        done, before = 0, None

        def advance(count: int) -> None:
            nonlocal done, before
            done += count
            before = done if before is None else before  # what an earlier run did took no time of this one
            bar.bars.update(bar.task, completed=done)
            bar.tell(f"{title}: {done:,} of {total:,}", began, done, total, before)

        columns = (_title(), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with self._bar(title, *columns, total=total) as bar:
            yield advance
            bar.outcome = f": {done:,}"

    @contextmanager
    def watching(self, title: str) -> Iterator[Callable[[str, int, int], None]]:
        """`working` on something that has stages; gives a function that is told how far each of them is."""
        current, began = "", time.perf_counter()

        def watch(stage: str, done: int, total: int) -> None:
            nonlocal current, began
            if stage != current:
                current, began = stage, time.perf_counter()
                bar.bars.reset(bar.task, description=f"{title}: {stage}", total=total)
            bar.bars.update(bar.task, completed=done, total=total)
            if total:
                bar.tell(f"{title}, {stage}: {done / total:.0%}", began, done, total)

        columns = (_title(), BarColumn(bar_width=30), TimeElapsedColumn(), TimeRemainingColumn())
        with self._bar(title, *columns) as bar:
            yield watch

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
            f"{title}: {counted(len(rows), 'epoch')}, loss {last['loss']:.4f}, "
            f"accuracy {last['accuracy']:.3f} ({time.perf_counter() - began:.1f} s)"
        )
