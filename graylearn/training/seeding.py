"""Seeding: every random number of a run comes from its seed by a name.

Streams are derived by hashing (seed, words), so that the order of an epoch or the start of a method
needs no state: a resumed run asks for the same words and gets the same numbers.
"""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


def global_state(device: torch.device) -> dict[str, Any]:
    """The state of the global generators, as arrays and numbers that JSON and npz can hold."""
    name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002
    version, words, gauss_next = random.getstate()
    state: dict[str, Any] = {
        "torch": torch.get_rng_state(),
        "numpy": [name, np.asarray(keys), int(position), int(has_gauss), float(gauss)],
        "python": [version, np.asarray(words, dtype=np.uint32), gauss_next],
    }
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def set_global_state(state: dict[str, Any], device: torch.device) -> None:
    """Put the global generators back to what `global_state` gave."""
    torch.set_rng_state(state["torch"])
    np.random.set_state(tuple(state["numpy"]))  # noqa: NPY002
    version, words, gauss_next = state["python"]
    random.setstate((version, tuple(int(word) for word in words), gauss_next))
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)


# -- the global generators belong to one run at a time ------------------------------------------------------

TURN = 0.05
"""Seconds after which a run lets another thread's have the global generators for a while; handing them over
takes about one thousandth of one."""


class _Turns(threading.local):
    """What this thread holds: how deep it is in `seeded`, and the caller's state to give back."""

    depth = 0
    before: dict[str, Any]
    device: torch.device
    since = 0.0


_mine = _Turns()
_turn = threading.Condition()
_line: list[int] = []
"""The threads that have the global generators (the first) or wait for them, in the order they came."""


def _take() -> None:
    me = threading.get_ident()
    with _turn:
        _line.append(me)
        try:
            _turn.wait_for(lambda: _line[0] == me)
        except BaseException:  # an interrupt: a thread that left must not block the line
            _leave()
            raise
    _mine.since = time.perf_counter()


def _leave() -> None:
    with _turn:
        if (me := threading.get_ident()) in _line:
            _line.remove(me)
        _turn.notify_all()


def _has_turn() -> bool:
    return _line[:1] == [threading.get_ident()]


def _forget() -> None:
    """A forked process has none of the other threads."""
    global _turn
    _turn = threading.Condition()
    _line[:] = [threading.get_ident()] if _mine.depth else []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Run with global generators seeded for this run, and leave the caller's as they were.

    Runs in several threads take turns, so that each draws what it would draw alone; see `give_way`.
    """
    outermost = _mine.depth == 0
    if outermost:
        _take()
        _mine.device = device
    before = global_state(device)
    if outermost:
        _mine.before = before
    elif device.type == "cuda" and _mine.device.type != "cuda":
        _mine.device, _mine.before = device, _mine.before | {"cuda": before["cuda"]}
    _mine.depth += 1
    try:
        seed_global(seed, "global")
        yield
    finally:
        _mine.depth -= 1
        if _has_turn():  # not after an interrupt within `give_way`, which gave them back before
            set_global_state(_mine.before if outermost else before, device)
        if outermost:
            _leave()


def give_way() -> None:
    """Between two steps of a run: let the run of another thread continue, if one waits and this had its turn.

    Runs go by turns, not side by side: small networks spend their time in Python, of which there is one at a
    time, and four that contend for it took many times as long as one after the other.
    """
    if len(_line) < 2 or _mine.depth == 0 or time.perf_counter() - _mine.since < TURN:
        return
    device, own = _mine.device, global_state(_mine.device)
    set_global_state(_mine.before, device)
    _leave()
    _take()
    _mine.before = global_state(device)
    set_global_state(own, device)
