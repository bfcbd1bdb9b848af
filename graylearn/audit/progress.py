"""How far an audit is, for whoever watches: the stages tell, `watched` says whom, `shown` tells a person."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from graylearn.options import Log, settled
from graylearn.progress import EVERY, Bar, duration

Watch = Callable[[str, int, int], None]
"""Is told a stage, how much of it is done, and of how much."""

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
        with Bar(title) as bar, watched(lambda stage, *far: bar.show(f"{title}: {stage}", *far)):
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
