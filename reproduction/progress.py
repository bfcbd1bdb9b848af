"""How far the cells of a sweep are, told while they train: lines in a file that all workers append to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from graylearn.progress import duration
from graylearn.training.loop import EpochEnd

EVERY = 20.0
"""Seconds of training from one line of a cell to the next."""
_LOOK = 0.5
"""Seconds from one look at the file to the next."""


class Progress:
    """A callback of `train` that appends a line to the file every so often: epoch, accuracy, speed, time."""

    def __init__(self, title: str, epochs: int, path: Path | None, every: float = EVERY) -> None:
        self.first: int | None = None
        """The first epoch that was trained now; None where none was. Earlier ones came from a checkpoint."""
        self._title, self._epochs, self._path, self._every = title, epochs, path, every
        self._seconds: list[float] = []
        self._told = time.monotonic()

    def __call__(self, end: EpochEnd) -> None:
        """Take note of an epoch."""
        if self.first is None:
            self.first = end.epoch
        self._seconds = [*self._seconds[-9:], float(end.row["seconds"])]
        now = time.monotonic()
        if self._path is None or now - self._told < self._every:
            return
        self._told = now
        left = (self._epochs - end.epoch - 1) * median(self._seconds)
        append_line(
            self._path,
            f"{self._title}: epoch {end.epoch + 1}/{self._epochs}, accuracy {end.row['accuracy']:.4f}, "
            f"{end.row['samples_per_second']:.0f} images/s, {duration(left)} left",
        )


def append_line(path: Path, text: str) -> None:
    """A line with the time before it; one write, so that lines of several processes do not mix."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{stamp} {text}\n")


@contextmanager
def followed(path: Path | None, tell: Callable[[str], None] | None) -> Iterator[None]:
    """While inside, hand every line that is appended to the file to `tell`, from a thread of its own."""
    if path is None or tell is None:
        yield
        return
    done = threading.Event()
    start = path.stat().st_size if path.exists() else 0
    thread = threading.Thread(target=_follow, args=(path, start, tell, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _follow(path: Path, position: int, tell: Callable[[str], None], done: threading.Event) -> None:
    rest = b""
    while True:
        last = done.wait(_LOOK)
        if path.exists():
            with path.open("rb") as file:
                file.seek(position)
                new = file.read()
            position += len(new)
            *lines, rest = (rest + new).split(b"\n")
            for line in lines:
                tell(line.decode("utf-8", "replace"))
        if last:
            return
