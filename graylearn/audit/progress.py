"""How far an audit is, for whoever watches: the stages tell, `watched` says whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
