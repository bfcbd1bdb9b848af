"""How far an audit is, for whoever watches: the stages tell, `watched` says whom, `shown` tells a person."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from graylearn.options import Log, settled

Watch = Callable[[str, int, int], None]
"""Is told a stage, how much of it is done, and of how much."""

EVERY = 30.0
"""Seconds between two lines of how far something is."""

_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Let `watch` be told of every audit that is made inside."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def tell(stage: str, done: int, total: int) -> None:
    """Say how far a stage is; nobody hears it unless the audit is watched."""
    watch = _watch.get()
    if watch is not None:
        watch(stage, done, total)


@contextmanager
def shown(title: str, log: Log) -> Iterator[None]:
    """Tell a person on standard error how far audits made inside are, unless somebody watches them."""
    log = settled(log)
    if log == "none" or _watch.get() is not None:
        yield
    elif log == "lines":
        with watched(_lines(title)):
            yield
    else:
        with _bar(title) as watch, watched(watch):
            yield


def _lines(title: str) -> Watch:
    """A line now and then: how far the stage is, and how long it will take."""
    current, began = "", time.perf_counter()
    told = began

    def watch(stage: str, done: int, total: int) -> None:
        nonlocal current, began, told
        now = time.perf_counter()
        if stage != current:
            current, began = stage, now
        if now - told >= EVERY and 0 < done < total:
            told = now
            left = duration((now - began) * (total - done) / done)
            print(f"{title}, {stage}: {done / total:.0%}, about {left} left", file=sys.stderr, flush=True)

    return watch


@contextmanager
def _bar(title: str) -> Iterator[Watch]:
    """A bar that begins anew with every stage."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=30), TimeRemainingColumn())
    current = ""

    def watch(stage: str, done: int, total: int) -> None:
        nonlocal current
        if stage != current:
            current = stage
            bars.reset(task, description=f"{title}: {stage}", total=total)
        bars.update(task, completed=done, total=total)

    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)
        yield watch


def duration(seconds: float) -> str:
    """So long, in the unit that a person would say."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
