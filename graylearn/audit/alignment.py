"""How alike two pictures are where one may be a part of the other: the part is looked for step by step.

Thumbnails of a few crops find which pictures may be copies, but a crop that lies between two of them is no
more like its source than strangers are. Here the window itself is moved and scaled until nothing fits better.
A bright sky over dark ground fits many photos: the edges of copies agree too, once they lie over one another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graylearn.array_types import Floats, Ints
from graylearn.audit.blocks import row_blocks

SIDE, COMPARED = 32, 16
"""Pixels a side of the pictures that windows are cut from, and of what is compared."""
STEPS = (0.05, 0.025, 0.0125, 0.00625)
"""By which a window is moved and scaled, of the side of a picture."""
FINE, COARSE = 1.0, 2.0
"""Pixels of SIDE: a picture blurred by the first less the same blurred by the second are its edges."""
BLOCK = 128


def aligned(
    small: Tensor, source: Ints, whole: Ints, mirrored: NDArray[np.bool_], start: NDArray[np.float32]
) -> tuple[Floats, Floats]:
    """(P,) the correlation of each picture `whole` with the best window of `source`, both (P,) places in the
    pictures (N, C, SIDE, SIDE); (P,) how the edges correlate, once the pictures lie so.

    mirrored: (P,) whether the source is. start: (P, 3) the window that the search begins with, as in `_of`.
    """
    found = [torch.zeros(2, 0)]
    for first in range(0, len(source), BLOCK):
        part = slice(first, first + BLOCK)
        pixels = small[source[part]]
        pixels = torch.where(torch.from_numpy(mirrored[part])[:, None, None, None], pixels.flip(3), pixels)
        found.append(_best(pixels, small[whole[part]], torch.from_numpy(start[part])))
    alike, edges = torch.cat(found, dim=1).double().numpy()
    return alike, edges


def _best(source: Tensor, whole: Tensor, chosen: Tensor) -> Tensor:
    """(2, P) how alike the best window of `source` and `whole` are; and how their edges."""
    every = torch.ones(len(whole), 1)
    view = _view(every, 0 * every)
    target = unit(_seen(whole, view, view, [(0, 0)])[:, 0])
    best = torch.zeros(len(whole))
    moves = torch.tensor([-1.0, 0.0, 1.0])
    around = [(3 * each + y, 3 * each + x) for each in range(3) for y in range(3) for x in range(3)]
    for step in STEPS:
        scale = (chosen[:, :1] + step * moves.repeat_interleave(3)).clamp(0.5, 1.0)
        y, x = (
            (chosen[:, at : at + 1] + step * moves.repeat(3)).maximum(scale - 1).minimum(1 - scale)
            for at in (1, 2)
        )
        chosen, best = _of(source, target, scale, y, x, around)
    down, across = (_view(chosen[:, :1], chosen[:, at : at + 1], SIDE) for at in (1, 2))
    edges = (unit(_edges(_seen(source, down, across, [(0, 0)])[:, 0])) * unit(_edges(whole))).sum(dim=1)
    return torch.stack([best, edges])


def _edges(pictures: Tensor) -> Tensor:
    return _blurred(pictures, FINE) - _blurred(pictures, COARSE)


def _blurred(pictures: Tensor, width: float) -> Tensor:
    """Pictures (P, C, SIDE, SIDE) blurred, as if their outermost pixels went on beyond them."""
    reach = round(3 * width)
    weights = torch.exp(-0.5 * (torch.arange(-reach, reach + 1) / width) ** 2)
    at = torch.arange(SIDE)
    blur = torch.zeros(SIDE, SIDE)
    for offset, weight in zip(range(-reach, reach + 1), weights / weights.sum(), strict=True):
        blur[at, (at + offset).clamp(0, SIDE - 1)] += weight
    return blur @ pictures @ blur.T


def _of(
    source: Tensor, target: Tensor, scale: Tensor, y: Tensor, x: Tensor, windows: list[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    """(P, 3) the best of the windows: share of a side, and where its middle lies; (P,) how good.

    scale, y, x: (P, V) how windows may lie in one direction; windows: which of y goes with which of x.
    """
    seen = _seen(source, _view(scale, y), _view(scale, x), windows)
    said = (unit(seen.flatten(0, 1)).view(*seen.shape[:2], -1) * target[:, None]).sum(dim=2)
    best, which = said.max(dim=1)
    down, across = torch.tensor(windows).T[:, which]
    at = torch.arange(len(which))
    return torch.stack([scale[at, down], y[at, down], x[at, across]], dim=1), best


def _view(scale: Tensor, middle: Tensor, side: int = COMPARED) -> Tensor:
    """(P, V, side, SIDE) what of a line of pixels stands in each pixel of a window, which keeps a share
    `scale` (P, V) of it, around `middle` between -1 and 1."""
    where = scale[..., None] * ((2 * torch.arange(side) + 1) / side - 1) + middle[..., None]
    pixel = (((where + 1) * SIDE - 1) / 2).clamp(0, SIDE - 1)
    return (1 - (pixel[..., None] - torch.arange(SIDE)).abs()).clamp_min(0)


def _seen(source: Tensor, down: Tensor, across: Tensor, windows: list[tuple[int, int]]) -> Tensor:
    """(P, W, C, side, side) pictures (P, C, SIDE, SIDE) through windows, each a view down and one across."""
    rows = down[:, :, None] @ source[:, None]
    first, second = (list(each) for each in zip(*windows, strict=True))
    return rows[:, first] @ across[:, second, None].transpose(-1, -2)


def in_blocks(images: NDArray[np.uint8], rows: Ints) -> Iterator[tuple[slice, Tensor]]:
    """(which of the rows, their pictures as floats (n, C, H, W)) of pictures (N, H, W, C), some at a time:
    10,000 photos are gigabytes."""
    for part in row_blocks(len(rows), math.prod(images.shape[1:])):
        pixels = torch.from_numpy(np.ascontiguousarray(images[rows[part]]))
        yield part, pixels.permute(0, 3, 1, 2).float()


def small_ones(images: NDArray[np.uint8], rows: Ints) -> Tensor:
    """(n, C, SIDE, SIDE) the pictures at these rows, small: all that is compared of them."""
    return torch.cat([resized(pixels, SIDE) for _, pixels in in_blocks(images, rows)])


def resized(pixels: Tensor, side: int) -> Tensor:
    """Pictures (N, C, H, W) of `side` pixels a side."""
    return torch.nn.functional.interpolate(pixels, (side, side), mode="bilinear", antialias=True)


def unit(part: Tensor) -> Tensor:
    """(N, values) of pictures (N, C, height, width): each channel without its mean, all of length one."""
    centred = (part - part.mean(dim=(2, 3), keepdim=True)).flatten(1)
    length: Tensor = centred.norm(dim=1, keepdim=True)
    return centred / length.clamp_min(1e-6)
