"""What an audit has made so far, kept in a folder: one that was stopped need not ask its networks again."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Floats
from graylearn.data.atomic import replacing, write_array

EVERY = 20.0
"""Seconds of work that a stop may cost: what is on the way is kept as often."""
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Let the audit that is made inside keep what takes long in this folder, which is of its data alone."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


@overload
def kept(name: str, shape: tuple[int, ...], make: Callable[[], Floats]) -> Floats: ...


@overload
def kept(name: str, shape: tuple[int, ...], make: Callable[[], Floats | None]) -> Floats | None: ...


def kept(name: str, shape: tuple[int, ...], make: Callable[[], Floats | None]) -> Floats | None:
    """What `make` makes, of this shape or None; from its file where an audit that was stopped had made it."""
    folder = _folder.get()
    if folder is None:
        return make()
    path = folder / f"{name}.npy"
    try:
        found: Floats = np.load(path, allow_pickle=False)
        if found.shape == shape:
            return found
    except (OSError, ValueError, EOFError):
        pass  # not there, or damaged
    made = make()
    if made is None:
        return None
    write_array(path, made)
    return made


class OnTheWay:
    """Work that takes long, kept now and then as named arrays, so that one that was stopped is gone on with.

    facts: what decides the work; what was kept of another is not taken.
    """

    def __init__(self, name: str, facts: Sequence[int]) -> None:
        folder = _folder.get()
        self.path = None if folder is None else folder / f"{name}.npz"
        self.facts = np.array([str(fact) for fact in facts])  # a seed may be of any length
        self.last = time.monotonic()

    def found(self) -> dict[str, NDArray[np.generic]] | None:
        """What a work that was stopped had made; None where there was none."""
        if self.path is None:
            return None
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                made = dict(arrays)
            return made if np.array_equal(made.pop("facts"), self.facts) else None
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return None  # not there, or damaged

    def keep(self, arrays: Callable[[], dict[str, NDArray[np.generic]]]) -> None:
        """Keep how far it is, where the last time was some seconds ago."""
        if self.path is not None and time.monotonic() - self.last >= EVERY:
            with replacing(self.path) as partial, partial.open("wb") as file:
                np.savez(file, facts=self.facts, **arrays())  # type: ignore[arg-type]
            self.last = time.monotonic()

    def done(self) -> None:
        """Nothing is on the way any more."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
