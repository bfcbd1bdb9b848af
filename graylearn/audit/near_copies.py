"""Copies that are not the same to the last bit: which samples come closer than chance brings about.

Pictures are compared as thumbnails, each also mirrored and cropped, and those in doubt laid over one another,
so that copies that were resized, recompressed, cropped or mirrored are found; texts by the pieces of words
they share; rows by their distance.
How alike two samples must be is found in the set itself: the nearest of most samples is no copy, and how near
it comes says what chance alone brings about.
A crop that lies between two thumbnails is no more like its source than strangers are: there the window itself
is moved and scaled until nothing fits better. A bright sky over dark ground fits many photos: the edges of
copies agree too, once they lie over one another.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.stats import norm
from torch import Tensor
from torch.nn.functional import grid_sample, interpolate

from graylearn.array_types import Floats, Ints
from graylearn.audit.inputs import as_features
from graylearn.audit.scaling import row_blocks
from graylearn.options import IdLike

Kind = Literal["image", "text", "rows"]

SIDE = 12
"""Pixels a side of the thumbnails that are compared."""
CROPS = ((0.9, (0.0, 0.5, 1.0)), (0.8, (0.0, 0.5, 1.0)))
"""How much of a picture a crop keeps a side, and where it may lie."""
LEAST = {"image": 2.3, "text": 1.6, "rows": 4.6}
"""The least closeness of copies, -log of their distance, whatever the set says: a correlation of .9, .8 of
the pieces of words, a hundredth of the spread of the columns."""
SAFETY = 2.0
"""Times as far beyond what chance brings about as one sample in the whole set would come."""
CHANCE, FINEST = 0.1, 12.0
"""Of rows: how many samples of a set may be taken for copies by chance, and the closeness beyond which single
precision tells nothing."""
NEAREST, BLOCK = 6, 1 << 24
DOUBTED = 0.6
"""Of the limit, from which on the part of a picture is looked for that the other one shows."""
EDGES = 0.83
"""The least correlation of the edges of copies: the thumbnails of two photos of bridges may be alike too."""


def near_copies(kind: Kind, values: Any, rows: Ints, id_like: IdLike) -> tuple[Ints, float]:
    """(pairs (P, 2) of samples among `rows` that are copies, the closeness from which on they are)."""
    if kind == "image":
        small = thumbnails(small_ones(values, rows))
        found, alike = _nearest(list(small.views), small.views[0])
        closeness = _closeness(alike)
        limit = _limit(kind, closeness)
        return rows[_confirmed(small, found, closeness, limit)], limit
    if kind == "text":
        from sklearn.feature_extraction.text import HashingVectorizer

        plain = [plain_text(text) for text in values[rows]]
        base = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=1 << 18).transform(plain)
        found, alike = _nearest([base], base)
    else:
        features = as_features(values.iloc[rows], len(rows), id_like).astype(np.float32)
        features /= max(float(np.sqrt((features**2).sum(axis=1).mean())), 1e-9)
        found, alike = _nearest([features], features, squares=True)
    closeness = _closeness(alike)
    limit = _limit(kind, closeness)
    return rows[found[closeness >= limit]], limit


def plain_text(text: str) -> str:
    """A text less its case, blanks and signs; of signs alone, such as `:)`, these."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = "".join(each if each.isalnum() or _is_mark(each) else " " for each in folded).split()
    return " ".join([each for each in words if any(map(str.isalnum, each))] or folded.split())


def _is_mark(sign: str) -> bool:
    """Whether it is part of a letter, as the vowels of Hindi and Thai are."""
    return unicodedata.category(sign).startswith("M")


def _confirmed(pictures: Thumbnails, pairs: Ints, closeness: Floats, limit: float) -> Ints:
    """The pairs that are copies, once one lies over the other: as close as the limit, of the same edges.

    Those that thumbnails find close enough need not be so again, but their edges are compared too.
    """
    asked = closeness >= DOUBTED * limit
    once, where = np.unique(np.sort(pairs[asked], axis=1), axis=0, return_inverse=True)
    near = np.zeros(len(once))
    np.maximum.at(near, where.reshape(-1), closeness[asked])
    alike, edges = overlaid(pictures, once)
    return once[(np.maximum(near, _closeness(alike)) >= limit) & (edges >= EDGES)]


def overlaid(pictures: Thumbnails, pairs: Ints) -> tuple[Floats, Floats]:
    """(P,) the correlation of each pair (P, 2) of pictures, once one lies over the other or a part of it,
    mirrored or not; (P,) that of their edges."""
    # the search begins where the thumbnails are most alike, be it a part of the one or of the other
    views, base = pictures.views, pictures.views[0]
    said = np.stack(
        [np.einsum("vpd,pd->vp", views[:, one], base[other]) for one, other in (pairs.T, pairs.T[::-1])]
    ).reshape(2 * len(views), len(pairs))
    way, view = np.divmod(said.argmax(axis=0), len(views))
    source, whole = np.where(way, pairs[:, ::-1].T, pairs.T)
    found = [torch.zeros(2, 0)]
    for first in range(0, len(pairs), PAIRS):
        part = slice(first, first + PAIRS)
        pixels, turned = pictures.small[source[part]], torch.from_numpy(pictures.mirrored[view[part]])
        pixels = torch.where(turned[:, None, None, None], pixels.flip(3), pixels)
        window = torch.from_numpy(pictures.windows[view[part]])
        found.append(_best_window(pixels, pictures.small[whole[part]], window))
    alike, edges = torch.cat(found, dim=1).double().numpy()
    return alike, edges


def _closeness(alike: Floats) -> Floats:
    return np.asarray(-np.log(np.clip(1.0 - alike, 1e-7, None)))


@dataclass(frozen=True, eq=False)
class Thumbnails:
    """Small pictures, seen as they are, cropped, and all of these mirrored."""

    small: Tensor
    """(n, C, S, S) the pictures."""
    views: NDArray[np.float32]
    """(V, n, D) each of length 1; the first as they are."""
    windows: NDArray[np.float32]
    """(V, 3) what each view keeps of a side, and where its middle lies, down and across."""
    mirrored: NDArray[np.bool_]
    """(V,)"""


def thumbnails(small: Tensor) -> Thumbnails:
    """Views of small pictures."""
    side = small.shape[2]
    views, windows = [], []
    for share, places in ((1.0, (0.0,)), *CROPS):
        long = max(1, round(share * side))
        starts = sorted({round(each * (side - long)) for each in places})
        for top, left in product(starts, starts):
            seen = resized(small[..., top : top + long, left : left + long], SIDE)
            views += [unit(seen).numpy(), unit(seen.flip(3)).numpy()]
            y, x = ((2 * start + long) / side - 1 for start in (top, left))
            windows += [(long / side, y, x), (long / side, y, -x)]
    mirrored = np.arange(len(views)) % 2 == 1
    return Thumbnails(small, np.stack(views), np.array(windows, dtype=np.float32), mirrored)


def _nearest(views: list[Any], base: Any, *, squares: bool = False) -> tuple[Ints, Floats]:
    """(pairs (n, k, 2), how alike (n, k)), each sample with those it is most alike in any view; 1: the same.

    squares: by squared distance instead of the cosine, of rows whose mean square is 1.
    """
    n = base.shape[0]
    block = max(1, min(n, BLOCK // max(n, 1)))
    length = (base**2).sum(axis=1) if squares else None
    pairs, alike = [], []
    for start in range(0, n, block):
        stop = min(start + block, n)
        best = None
        for view in views:
            said = view[start:stop] @ base.T
            said = said.toarray() if hasattr(said, "toarray") else said
            best = said if best is None else np.maximum(best, said)
        assert best is not None
        if length is not None:
            best = 1.0 - (length[start:stop, None] + length[None, :] - 2.0 * best)
        best[np.arange(stop - start), np.arange(start, stop)] = -np.inf
        k = min(NEAREST, n - 1)
        top = np.argpartition(-best, k - 1, axis=1)[:, :k]
        pairs.append(np.stack([np.broadcast_to(np.arange(start, stop)[:, None], top.shape), top], axis=2))
        alike.append(np.take_along_axis(best, top, axis=1))
    return np.concatenate(pairs).astype(np.int64), np.concatenate(alike).astype(np.float64)


def _limit(kind: Kind, closeness: Floats) -> float:
    """The closeness beyond what chance brings about: that of most samples to their third nearest, no copy.

    closeness: of the nearest of each sample. Only the lower half says how it spreads, for the upper may hold
    copies, should there be many of each.
    """
    third = np.sort(closeness, axis=1)[:, -min(3, closeness.shape[1])]
    low, middle = np.quantile(third, [0.16, 0.5])
    if kind == "rows":
        limit = float(middle + _beyond_of_rows(len(third)) * (middle - low))
        return max(LEAST[kind], limit) if limit < FINEST else float("inf")
    beyond = SAFETY * float(norm.isf(1.0 / (len(third) + 1)))
    return max(LEAST[kind], float(middle + beyond * (middle - low)))


def _beyond_of_rows(count: int) -> float:
    """Deviations by which the nearest of so many rows may come closer than the usual third nearest.

    Where rows lie at random, the volume around a row as far as its third nearest is gamma distributed (median
    2.67, deviation of its logarithm .63) and as far as the nearest exponentially: in few columns that comes
    close by far more often than a normal tail says.
    """
    return float(np.log(2.67 * count / CHANCE) / 0.63)


SMALL, COMPARED = 32, 16
"""Pixels a side of the pictures that windows are cut from, and of what is compared."""
STEPS = (0.05, 0.025, 0.0125, 0.00625)
"""By which a window is moved and scaled, of the side of a picture."""
FINE, COARSE = 1.0, 2.0
"""Pixels of SMALL: a picture blurred by the first less the same blurred by the second are its edges."""
PAIRS = 128


def _best_window(source: Tensor, whole: Tensor, window: Tensor) -> Tensor:
    """(2, P) the correlation of each picture `whole` with the best window of `source`, both (P, C, SMALL,
    SMALL); how their edges correlate, once the pictures lie so.

    window: (P, 3) where the search begins: the share of a side that it keeps, and where its middle lies.
    """
    target = unit(_seen(whole, torch.tensor([[1.0, 0.0, 0.0]]).expand(len(whole), 1, 3))[:, 0])[:, None]
    best = torch.zeros(len(whole))
    around = torch.cartesian_prod(*3 * [torch.tensor([-1.0, 0.0, 1.0])])
    for step in STEPS:
        tried = window[:, None] + step * around
        scale = tried[..., :1].clamp(0.5, 1.0)
        tried = torch.cat([scale, tried[..., 1:].maximum(scale - 1).minimum(1 - scale)], dim=2)
        seen = unit(_seen(source, tried).flatten(0, 1)).view(len(whole), len(around), -1)
        best, which = (seen * target).sum(dim=2).max(dim=1)
        window = tried[torch.arange(len(which)), which]
    edges = unit(_edges(_seen(source, window[:, None], SMALL)[:, 0])) * unit(_edges(whole))
    return torch.stack([best, edges.sum(dim=1)])


def _edges(pictures: Tensor) -> Tensor:
    fine, coarse = (
        gaussian_filter(pictures.numpy(), (0, 0, width, width), mode="nearest", truncate=3)
        for width in (FINE, COARSE)
    )
    return torch.from_numpy(fine - coarse)


def _seen(source: Tensor, windows: Tensor, side: int = COMPARED) -> Tensor:
    """(P, W, C, side, side) pictures (P, C, SMALL, SMALL) through windows (P, W, 3)."""
    line = (2 * torch.arange(side) + 1) / side - 1
    down, across = (windows[..., :1] * line + windows[..., at, None] for at in (1, 2))  # (P, W, side)
    ones = torch.ones(side)
    grid = torch.stack([across[:, :, None] * ones[:, None], down[..., None] * ones], dim=4)
    seen = grid_sample(source, grid.flatten(1, 2), padding_mode="border", align_corners=False)
    return torch.movedim(seen.reshape(len(source), -1, windows.shape[1], side, side), 2, 1)


def in_blocks(images: NDArray[np.uint8], rows: Ints) -> Iterator[tuple[slice, Tensor]]:
    """(which of the rows, their pictures as floats (n, C, H, W)) of pictures (N, H, W, C), some at a time:
    10,000 photos are gigabytes."""
    for part in row_blocks(len(rows), math.prod(images.shape[1:])):
        pixels = torch.from_numpy(np.ascontiguousarray(images[rows[part]]))
        yield part, pixels.permute(0, 3, 1, 2).float()


def small_ones(images: NDArray[np.uint8], rows: Ints) -> Tensor:
    """(n, C, SMALL, SMALL) the pictures at these rows, small: all that is compared of them."""
    return torch.cat([resized(pixels, SMALL) for _, pixels in in_blocks(images, rows)])


def resized(pixels: Tensor, side: int) -> Tensor:
    """Pictures (N, C, H, W) of `side` pixels a side."""
    return interpolate(pixels, (side, side), mode="bilinear", antialias=True)


def unit(part: Tensor) -> Tensor:
    """(N, values) of pictures (N, C, height, width): each channel without its mean, all of length one."""
    centred = (part - part.mean(dim=(2, 3), keepdim=True)).flatten(1)
    length: Tensor = centred.norm(dim=1, keepdim=True)
    return centred / length.clamp_min(1e-6)
