"""Ctrl-C that a training turned into an early end, turned back into what it was.

The engine ends a training at the first Ctrl-C and returns what it has, which is right for a person at a
notebook; a run must not go on with a network that is half trained.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def raise_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end where Ctrl-C came meanwhile, whoever handled it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
        try:
            signals = os.read(reader, 4096)
        except BlockingIOError:
            signals = b""
        if signal.SIGINT in signals:
            raise KeyboardInterrupt
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
