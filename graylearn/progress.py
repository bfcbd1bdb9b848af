"""Progress of long work: a bar on standard error, or a line every half minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

from graylearn.options import Log

EVERY = 30.0
"""Seconds between two lines of progress."""


def duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours, as a person would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def settled(log: Log) -> Log:
    """What `auto` stands for: a bar where standard error is a terminal, else lines."""
    if log != "auto":
        return log
    return "bar" if sys.stderr is not None and sys.stderr.isatty() else "lines"


class Bar:
    """Shows the progress of what happens inside it, as a bar or in lines, or through a bar around it."""

    def __init__(
        self,
        title: str,
        total: int | None = None,
        *,
        shows: bool | None = None,
        console: Any = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """A bar with a total ignores the stages inside it. say: is called with a line now and then."""
        self.title, self.total, self.say = title, total, say
        self.stage, self.done, self.before, self.began = "", 0, -1, 0.0
        self.told = time.perf_counter()
        self._outer, self._bars, self.console = _inner.get(), None, console
        if self._outer is not None or shows is False:
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self.console = console or Console(stderr=True)
        if shows or self.console.is_terminal:
            columns = (BarColumn(bar_width=30), TimeElapsedColumn(), TimeRemainingColumn())
            words = TextColumn("{task.description}", markup=False)
            self._bars = Progress(words, *columns, console=self.console, transient=True)
            self._task = self._bars.add_task(title, total=total)

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        self._token = _inner.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _inner.reset(self._token)
        if self._bars is not None:
            self._bars.stop()

    def advance(self, count: int) -> None:
        """`count` more of the total is done."""
        self.done += count
        self.show("", self.done, self.total or 0)

    def show(self, stage: str, done: int, total: int, more: str = "") -> None:
        """`done` of `total` of the stage is done; a new stage starts the clock again."""
        if self._outer is not None:
            if self._outer.total is None:
                self._outer.show(stage or self.title, done, total)
            return
        now = time.perf_counter()
        words = ", ".join(each for each in (self.title, stage) if each)
        if self.before < 0 or stage != self.stage:  # what an earlier run did took no time of this one
            self.stage, self.began, self.before = stage, now, done
            if self._bars is not None:
                self._bars.reset(self._task, total=total)
        if self._bars is not None:
            self._bars.update(self._task, completed=done, total=total, description=words + more)
        if self.say is not None and now - self.told >= EVERY and self.before < done < total:
            self.told = now
            left = duration((now - self.began) * (total - done) / (done - self.before))
            self.say(f"{words}: {done / total:.0%}, about {left} left")


_inner: ContextVar[Bar | None] = ContextVar("inner", default=None)
"""The innermost bar that is entered."""


def tell(stage: str, done: int, total: int) -> None:
    """Report how far a stage is to the innermost bar, unless that has a total of its own."""
    if (bar := _inner.get()) is not None and bar.total is None:
        bar.show(stage, done, total)


@contextmanager
def shown(title: str, log: Log) -> Iterator[None]:
    """Show the progress of what happens inside on standard error, unless a bar around it does."""
    log = settled(log)
    if log == "none":
        yield
        return
    with Bar(title, shows=log == "bar", say=_line if log == "lines" else None):
        yield


def _line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances a bar, which is shown only on a terminal."""
    with Bar(title, total) as bar:
        yield bar.advance
