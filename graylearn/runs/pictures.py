"""Pictures that show little, whatever their labels: of one colour, dark, blurred, tiny, or of an odd shape.

What holds for a fifth of a set or more is how the set looks, and not odd.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from graylearn.array_types import Floats
from graylearn.data.formats import Origin
from graylearn.data.samples import Samples
from graylearn.errors import counted

SOLID, DARK = 2.0, 40.0
"""Standard deviation of a picture of one colour, and the brightest hundredth of a dark one, of 255."""
BLURRED = 0.27
"""Sharpness of a blurred picture, in that of the set: detail between neighbouring pixels by contrast. 17 of
6,000 photos of CIFAR-100 are less sharp, of plains and the sea."""
TINY, LONG = 0.25, 3.0
"""The shorter side of a tiny picture, in that of the set; the longer side of an odd one, in its shorter."""
USUAL = 0.2
"""Share of a set from which on something is no longer odd."""
BLOCK, SIDE = 128, 64
Checks = Mapping[str, list[int]]


def looks_of(samples: Samples, origin: Origin) -> Floats | None:
    """(N, 5) of each picture its contrast, how bright its brightest hundredth is, its sharpness, and width
    and height, which are NaN where it is in no file of its own; None of what are no pictures to judge."""
    if samples.kind != "image" or not len(samples) or min(samples.x.shape[1:3]) < 3:
        return None
    return np.column_stack([*_looks(samples.x), _sizes(samples, origin)])


def odd_pictures(looks: Floats | None) -> Checks:
    """The indices of pictures that show little, by what is odd; each counts for the first alone."""
    if looks is None:
        return {}
    spread, bright, sharp, *_ = looks.T
    found = {"of one colour": spread < SOLID, "dark": bright < DARK}
    sizes = looks[:, 3:]
    if not np.isnan(sizes).all():
        sizes = np.where(np.isnan(sizes), np.nanmedian(sizes), sizes)
        least, most = sizes.min(axis=1), sizes.max(axis=1)
        found["tiny"] = least < TINY * np.median(least)
        found["of an odd shape"] = most > LONG * least
    plain = spread >= SOLID
    found["blurred"] = plain & (sharp < BLURRED * np.median(sharp[plain])) if plain.any() else ~plain
    seen = np.zeros(len(looks), dtype=bool)
    odd: dict[str, list[int]] = {}
    for words, which in found.items():
        if which.mean() < USUAL:
            odd[words] = np.flatnonzero(which & ~seen).tolist()
            seen |= which
    return {words: indices for words, indices in odd.items() if indices}


def told(checks: Checks) -> str:
    """One sentence for people."""
    total = sum(map(len, checks.values()))
    each = ", ".join(f"{len(indices):,} {words}" for words, indices in checks.items())
    return f"{counted(total, 'picture')} may show too little to be judged: {each}"


def column(checks: Checks) -> dict[int, str]:
    """What is odd about a picture, by its index."""
    return {index: words for words, indices in checks.items() for index in indices}


def _looks(x: NDArray[np.uint8]) -> tuple[Floats, Floats, Floats]:
    """Of each picture its contrast, how bright its brightest hundredth is, and its sharpness."""
    found = np.empty((3, len(x)))
    for start in range(0, len(x), BLOCK):
        block = np.asarray(x[start : start + BLOCK])
        block = block.reshape(*block.shape[:3], -1)
        spread = block.reshape(len(block), -1, block.shape[3])[:, ::3].std(axis=1, dtype=np.float32)
        bands = [block[..., k].astype(np.float32) for k in range(block.shape[3])]
        bright = _small(np.mean(bands, axis=0)).reshape(len(block), -1)
        # the band that tells most: colours of the same brightness have no contrast in grey
        told = _small(np.stack(bands)[spread.argmax(axis=1), np.arange(len(block))])
        inner = told[:, 1:-1, 1:-1]
        edges = 4 * inner - told[:, :-2, 1:-1] - told[:, 2:, 1:-1] - told[:, 1:-1, :-2] - told[:, 1:-1, 2:]
        at = slice(start, start + len(block))
        found[0, at] = spread.max(axis=1)
        found[1, at] = np.quantile(bright, 0.99, axis=1)
        found[2, at] = edges.std(axis=(1, 2)) / np.maximum(told.std(axis=(1, 2)), 1.0)
    return found[0], found[1], found[2]


def _small(band: NDArray[Any]) -> NDArray[Any]:
    """As wide as SIDE at most, about: what is blurred is so in pictures as small as these."""
    by = max(1, min(band.shape[1:]) // SIDE)
    height, width = band.shape[1] // by, band.shape[2] // by
    cut = band[:, : height * by, : width * by].reshape(len(band), height, by, width, by)
    return np.asarray(cut.mean(axis=(2, 4)))


def _sizes(samples: Samples, origin: Origin) -> Floats:
    """(N, 2) width and height of the files; NaN where the pictures are in no files of their own."""
    sizes = np.full((len(samples), 2), np.nan)
    for index, name in enumerate(samples.ids if origin.form == "folder" else ()):
        with suppress(Exception), Image.open(Path(origin.root) / str(name)) as picture:
            sizes[index] = picture.size  # one that is gone since it was read, others tell
    return sizes
