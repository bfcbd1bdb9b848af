"""Features that were computed before, sample by sample: of changed data only what is new is embedded.

What was embedded when a run was stopped is kept as well.
"""

from __future__ import annotations

import hashlib
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.data.atomic import replacing
from graylearn.data.embeddings.embed import OnBatch
from graylearn.data.samples import Samples

FORMAT, SECONDS, TIMES = 1, 20.0, 20.0
"""Of the file; after how long it is written while samples are embedded, should the run be killed: the first
number, or so many times what writing it took, since it grows."""
Embed = Callable[[Samples, OnBatch], NDArray[np.float32]]
Known = dict[bytes, NDArray[np.float32]]


def pooled(samples: Samples, model: str, folder: Path, embed: Embed) -> NDArray[np.float32]:
    """(N, D) what `embed` gives for the samples, those of an earlier call from a file in the folder."""
    shape = samples.x.shape[1:] if samples.kind == "image" else ()
    name = hashlib.sha256(repr((FORMAT, model, samples.kind, shape)).encode()).hexdigest()[:16]
    file = folder / f"features-{name}.npz"
    known = _read(file)
    digests = [hashlib.sha256(as_bytes(each)).digest()[:16] for each in samples.x]
    missing: dict[bytes, int] = {}
    for index, digest in enumerate(digests):
        if digest not in known:
            missing.setdefault(digest, index)
    if missing:
        known |= _embedded(samples, missing, known, file, embed)
    features = np.stack([known[digest] for digest in digests]).astype(np.float32, copy=False)
    if missing:
        _write(file, dict(zip(digests, features, strict=True)))
    return features


def _embedded(samples: Samples, missing: dict[bytes, int], known: Known, file: Path, embed: Embed) -> Known:
    """The features of the missing samples; those that are there when it is stopped are in the file."""
    codes, found, due = list(missing), known.copy(), time.monotonic() + SECONDS

    def keep(rows: Sequence[int], vectors: NDArray[np.float32]) -> None:
        nonlocal due
        found.update((codes[row], vector) for row, vector in zip(rows, vectors, strict=True))
        if (begun := time.monotonic()) >= due:
            _write(file, found)
            ended = time.monotonic()
            due = ended + max(SECONDS, TIMES * (ended - begun))

    try:
        some = samples.take(list(missing.values())) if len(missing) < len(samples) else samples
        return dict(zip(codes, embed(some, keep), strict=True))
    except BaseException:  # also Ctrl-C
        if len(found) > len(known):
            _write(file, found)
        raise


def _write(file: Path, known: Known) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    codes = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), -1)
    with replacing(file) as partial, partial.open("wb") as opened:
        np.savez(opened, digests=codes, features=np.stack(list(known.values())))


def as_bytes(sample: Any) -> bytes:
    """What a text or an image is known again by."""
    return (
        sample.tobytes() if isinstance(sample, np.ndarray) else str(sample).encode("utf-8", "surrogatepass")
    )


def _read(file: Path) -> Known:
    """The features by what they are of; none where there is no file, or it is damaged."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as saved:
            return dict(zip(map(bytes, saved["digests"]), saved["features"], strict=True))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return {}
