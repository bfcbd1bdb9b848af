"""How far an image cell is, told on standard error while it trains; workers share that of the sweep."""

from __future__ import annotations

import sys
import time
from statistics import median

from graylearn.progress import duration
from graylearn.training.loop import EpochEnd

EVERY = 20.0
"""Seconds of training from one line of a cell to the next."""


class Progress:
    """A callback of `train` that prints a line every so often: epoch, accuracy, speed, time left."""

    def __init__(self, title: str, epochs: int) -> None:
        self.first: int | None = None
        """The first epoch that was trained now; None where none was. Earlier ones came from a checkpoint."""
        self._title, self._epochs = title, epochs
        self._seconds: list[float] = []
        self._told = time.monotonic()

    def __call__(self, end: EpochEnd) -> None:
        """Take note of an epoch."""
        if self.first is None:
            self.first = end.epoch
        self._seconds = [*self._seconds[-9:], float(end.row["seconds"])]
        now = time.monotonic()
        if now - self._told < EVERY:
            return
        self._told = now
        left = (self._epochs - end.epoch - 1) * median(self._seconds)
        line = (
            f"{self._title}: epoch {end.epoch + 1}/{self._epochs}, accuracy {end.row['accuracy']:.4f}, "
            f"{end.row['samples_per_second']:.0f} images/s, {duration(left)} left\n"
        )
        sys.stderr.write(line)  # one write, so that lines of several workers do not mix
        sys.stderr.flush()
