"""What the measurements of large sets are made of: sets, stages of an audit, memory, other processes."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections import deque

import numpy as np
import torch

MADE = 1_000_000
"""Rows made at once: in double precision, several times over."""


def clouds(n: int, columns: int = 128, classes: int = 10, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Features, labels and which labels are drawn at random (a tenth): eight clouds a class, on a plane."""
    random = np.random.default_rng(seed)
    centres, plane = random.normal(size=(classes * 8, columns)), None
    x, y, bad = np.empty((n, columns), np.float32), np.empty(n, np.int64), np.empty(n, bool)
    for start in range(0, n, MADE):
        rows = slice(start, min(start + MADE, n))
        count = rows.stop - start
        own = random.integers(0, classes, count)
        along = random.normal(size=(count, 16))
        plane = random.normal(size=(16, columns)) / 4 if plane is None else plane
        at = centres[own * 8 + random.integers(0, 8, count)] + along @ plane
        x[rows] = at + 0.7 * random.normal(size=(count, columns))
        bad[rows] = random.random(count) < 0.1
        y[rows] = np.where(bad[rows], random.integers(0, classes, count), own)
    return x, y, bad


class Stages:
    """Seconds of the clock between what an audit tells, by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.stage, self.began = "reading", time.perf_counter()

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.perf_counter()
        self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + now - self.began
        self.stage, self.began = stage, now


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def gpu_mb(device: str) -> dict[str, float]:
    """The peak of a CUDA device's memory."""
    on_cuda = device.startswith("cuda")
    return {"gpu_mb": torch.cuda.max_memory_allocated(device) / 2**20} if on_cuda else {}


def told_error(command: list[str], environment: dict[str, str]) -> str:
    """How a process of its own failed, by signal or status, and what it said last; "" where it did not."""
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        last: deque[str] = deque(maxlen=4)
        for line in child.stderr:
            sys.stderr.write(line)
            last.append(line.strip())
    if child.returncode == 0:
        return ""
    status = signal.Signals(-child.returncode).name if child.returncode < 0 else str(child.returncode)
    return " | ".join([f"ended by {status}", *last])
