"""How many threads a long computation on the CPU runs best with, found while it goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_AGAIN = 32
"""Batches after which the other number of threads is tried again: a machine may become busy, or free."""


class Pace:
    """All threads, or one where other programs keep the cores busy.

    Threads that share one batch wait for the last of them. Where cores are taken by others, one thread alone
    is then quicker than two. The numbers that come out are the same.
    """

    def __init__(self, device: torch.device) -> None:
        self.many, self.on_cpu = torch.get_num_threads(), device.type == "cpu"
        self.seconds: dict[int, float] = {}
        """Of one sample, by the number of threads."""
        self.batches = 0

    @contextmanager
    def batch(self, samples: int) -> Iterator[None]:
        """Times the work on a batch of `samples` samples."""
        threads = self._threads()
        torch.set_num_threads(threads)
        began = time.perf_counter()
        try:
            yield
        finally:
            if self.batches:  # the first is slow for other reasons
                self.seconds[threads] = (time.perf_counter() - began) / max(samples, 1)
            self.batches += 1
            torch.set_num_threads(self.many)

    def _threads(self) -> int:
        if self.many == 1 or self.batches == 0 or not self.on_cpu:
            return self.many
        for threads in (self.many, 1):
            if threads not in self.seconds:
                return threads
        best = min(self.seconds, key=lambda threads: self.seconds[threads])
        return (1 if best == self.many else self.many) if self.batches % _AGAIN == 0 else best
