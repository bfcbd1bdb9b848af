"""What an audit has made so far, kept in a folder: one that was stopped need not ask its networks again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from graylearn.array_types import Floats
from graylearn.data.atomic import replacing

_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Let the audit that is made inside keep what takes long in this folder, which is of its data alone."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def kept(name: str, shape: tuple[int, ...], make: Callable[[], Floats]) -> Floats:
    """What `make` makes, of this shape; from its file where an audit that was stopped had made it."""
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
    with replacing(path) as partial, partial.open("wb") as file:
        np.save(file, made)
    return made
