"""Seeding: every random number of a run comes from its seed by a name.

Streams are derived by hashing (seed, words), so that the order of an epoch or the start of a method
needs no state: a resumed run asks for the same words and gets the same numbers.
"""

from __future__ import annotations

import hashlib
import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor


def derive(seed: int, *words: str | int) -> int:
    """A 62-bit seed for the stream that `words` name; other words, other numbers."""
    text = ":".join([str(int(seed)), *map(str, words)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 2


def generator(device: torch.device | str, seed: int, *words: str | int) -> torch.Generator:
    """A generator on `device` for the stream that `words` name."""
    return torch.Generator(device=device).manual_seed(derive(seed, *words))


def own_generator(device: torch.device) -> torch.Generator | None:
    """A generator in the state of torch's global one, for draws that no other thread can disturb.

    None on other devices than the CPU, whose kernels for dropout take no generator.
    """
    if device.type != "cpu":
        return None
    own = torch.Generator()
    own.set_state(torch.get_rng_state())
    return own


def epoch_order(num_samples: int, seed: int, epoch: int) -> Tensor:
    """The order of the samples in `epoch`, on the CPU so that every device trains in the same order."""
    return torch.randperm(num_samples, generator=generator("cpu", seed, "order", epoch))


def seed_global(seed: int, *words: str | int) -> None:
    """Seed the global generators of torch (all devices), numpy and random; networks and datasets use them."""
    number = derive(seed, *words)
    torch.manual_seed(number)
    np.random.seed(number % 2**32)  # noqa: NPY002  datasets of others draw from the old global generator
    random.seed(number)


# -- the global generators belong to one run at a time ------------------------------------------------------

_running = threading.RLock()
"""Held by the thread that trains: small networks spend their time in Python, of which there is one at a time,
and four that contended for it took many times as long as one after the other."""


def _forget() -> None:
    """A forked process has none of the other threads, which would never let go."""
    global _running
    _running = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Run with global generators seeded for this run, and leave the caller's as they were.

    Runs in several threads follow one another, so that each draws what it would draw alone.
    """
    with _running:
        before = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
        on_device = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
        try:
            seed_global(seed, "global")
            yield
        finally:
            torch.set_rng_state(before[0])
            np.random.set_state(before[1])  # noqa: NPY002
            random.setstate(before[2])
            if on_device is not None:
                torch.cuda.set_rng_state(on_device, device)
