"""Features in a file, kept per sample: only what is new is embedded, also after a kill."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.data.atomic import replacing
from graylearn.data.npz import read_arrays

SECONDS = 20.0
"""After how long features are written while samples are embedded, should the run be killed; at least twenty
times what writing them took, since the file grows."""
Keep = Callable[[Sequence[int], NDArray[np.float32]], None]
"""Called with each batch as soon as it is embedded: which rows (n,) it holds, and their vectors (n, D)."""
_Features = dict[bytes, NDArray[np.float32]]


def pooled(
    x: Any, settings: object, folder: str | Path, embed: Callable[[Any, Keep], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """(N, D) what `embed` gives for the samples x, those of an earlier call from a file in the folder.

    settings: all else that the features depend on.
    """
    file = Path(folder) / f"features-{hashlib.sha256(repr(settings).encode()).hexdigest()[:16]}.npz"
    known, due = _read(file), time.monotonic() + SECONDS
    digests = [hashlib.sha256(as_bytes(each)).digest()[:16] for each in x]
    missing: dict[bytes, int] = {}
    for index, digest in enumerate(digests):
        if digest not in known:
            missing.setdefault(digest, index)
    codes = list(missing)

    def keep(rows: Sequence[int], vectors: NDArray[np.float32]) -> None:
        nonlocal due
        known.update((codes[row], vector) for row, vector in zip(rows, vectors, strict=True))
        if (begun := time.monotonic()) >= due:
            _write(file, known)
            due = time.monotonic() + max(SECONDS, 20 * (time.monotonic() - begun))

    if missing:
        try:
            some = x if len(missing) == len(x) else x[list(missing.values())]
            known.update(zip(codes, embed(some, keep), strict=True))
        finally:  # also of Ctrl-C
            _write(file, known)
    return np.stack([known[digest] for digest in digests]).astype(np.float32, copy=False)


def as_bytes(sample: Any) -> bytes:
    """What a text or an image is known again by."""
    is_array = isinstance(sample, np.ndarray)
    return sample.tobytes() if is_array else str(sample).encode("utf-8", "surrogatepass")


def _read(file: Path) -> _Features:
    """The features by what they are of; none where there is no file, or it is damaged."""
    with suppress(OSError, ValueError):
        saved = read_arrays(file, ("digests", "features"))
        return dict(zip(map(bytes, saved["digests"]), saved["features"], strict=True))
    return {}


def _write(file: Path, known: _Features) -> None:
    if known:
        codes = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), -1)
        with replacing(file) as partial, partial.open("wb") as opened:
            np.savez(opened, digests=codes, features=np.stack(list(known.values())))
