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
SCALES, SHIFTS = (0.9, 0.8), (-1.0, 0.0, 1.0)
"""Windows that the search begins with: how much they keep a side, and where they lie."""
WHOLE = torch.tensor([1.0, 0.0, 0.0])
STEPS = (0.05, 0.025, 0.0125, 0.00625)
"""By which a window is moved and scaled, of the side of a picture."""
FINE, COARSE = 1.0, 2.0
"""Pixels of SIDE: a picture blurred by the first less the same blurred by the second are its edges."""
BLOCK = 512


def aligned(images: NDArray[np.uint8], pairs: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """(P,) the best correlation of each pair (P, 2) of pictures (N, H, W, C), either one cropped, mirrored
    or both; (P,) how the edges correlate, once the pictures lie so."""
    if not len(pairs):
        return np.zeros(0), np.zeros(0)
    used, where = np.unique(pairs, return_inverse=True)
    small = torch.cat([resized(pixels, SIDE) for _, pixels in in_blocks(images, used)])
    ends = torch.from_numpy(where.reshape(-1, 2))
    found = []
    for start in range(0, len(ends), BLOCK):
        one, other = small[ends[start : start + BLOCK, 0]], small[ends[start : start + BLOCK, 1]]
        found.append(
            _best(torch.stack([one, other, one.flip(3), other.flip(3)]), torch.stack([other, one] * 2))
        )
    alike, edges = torch.cat(found, dim=1).double().numpy()
    return alike, edges


def _best(sources: Tensor, wholes: Tensor) -> Tensor:
    """(2, P) how alike the best window of any of `sources` (W, P, C, S, S) and its `wholes` are; and how
    their edges.

    The window that the search begins with says which of the W ways is gone on with.
    """
    ways, count = sources.shape[:2]
    source, whole = sources.flatten(0, 1), wholes.flatten(0, 1)
    target = unit(_window(whole, WHOLE.expand(len(whole), 3)))
    starts = torch.tensor(
        [(scale, (1 - scale) * x, (1 - scale) * y) for scale in SCALES for x in SHIFTS for y in SHIFTS]
    )
    starts = torch.cat([WHOLE[None], starts])
    chosen, best = _of(source, target, starts.expand(len(source), -1, 3))
    way = best.view(ways, count).argmax(dim=0) * count + torch.arange(count)
    source, whole, target, chosen = source[way], whole[way], target[way], chosen[way]
    moves = torch.cartesian_prod(*[torch.tensor([-1.0, 0.0, 1.0])] * 3)
    for step in STEPS:
        tried = chosen[:, None] + step * moves
        scale = tried[..., :1].clamp(0.5, 1.0)
        tried = torch.cat([scale, tried[..., 1:].maximum(scale - 1).minimum(1 - scale)], dim=-1)
        chosen, best = _of(source, target, tried)
    edges = (unit(_edges(_window(source, chosen, SIDE))) * unit(_edges(whole))).sum(dim=1)
    return torch.stack([best, edges])


def _edges(pictures: Tensor) -> Tensor:
    return _blurred(pictures, FINE) - _blurred(pictures, COARSE)


def _blurred(pictures: Tensor, width: float) -> Tensor:
    reach = round(3 * width)
    weights = torch.exp(-0.5 * (torch.arange(-reach, reach + 1) / width) ** 2)
    weights = weights / weights.sum()
    part = pictures.flatten(0, 1)[:, None]
    part = torch.nn.functional.pad(part, (reach,) * 4, mode="replicate")
    part = torch.nn.functional.conv2d(part, weights.view(1, 1, 1, -1))
    return torch.nn.functional.conv2d(part, weights.view(1, 1, -1, 1))[:, 0].view_as(pictures)


def _of(source: Tensor, target: Tensor, windows: Tensor) -> tuple[Tensor, Tensor]:
    """(P, 3) the best of the windows (P, W, 3): share of a side, and where its middle lies; (P,) how good."""
    said = torch.stack(
        [(unit(_window(source, windows[:, w])) * target).sum(dim=1) for w in range(windows.shape[1])], dim=1
    )
    best, which = said.max(dim=1)
    return windows[torch.arange(len(which)), which], best


def _window(source: Tensor, windows: Tensor, side: int = COMPARED) -> Tensor:
    scale, x, y = windows.unbind(dim=1)
    zero = torch.zeros_like(scale)
    turn = torch.stack([torch.stack([scale, zero, x], 1), torch.stack([zero, scale, y], 1)], 1)
    grid = torch.nn.functional.affine_grid(turn, [len(source), 1, side, side], align_corners=False)
    return torch.nn.functional.grid_sample(source, grid, padding_mode="border", align_corners=False)


def in_blocks(images: NDArray[np.uint8], rows: Ints) -> Iterator[tuple[slice, Tensor]]:
    """(which of the rows, their pictures as floats (n, C, H, W)) of pictures (N, H, W, C), some at a time:
    10,000 photos are gigabytes."""
    for part in row_blocks(len(rows), math.prod(images.shape[1:])):
        pixels = torch.from_numpy(np.ascontiguousarray(images[rows[part]]))
        yield part, pixels.permute(0, 3, 1, 2).float()


def resized(pixels: Tensor, side: int) -> Tensor:
    """Pictures (N, C, H, W) of so many pixels a side."""
    return torch.nn.functional.interpolate(pixels, (side, side), mode="bilinear", antialias=True)


def unit(part: Tensor) -> Tensor:
    """(N, values) of pictures (N, C, height, width): each channel without its mean, all of length one."""
    centred = (part - part.mean(dim=(2, 3), keepdim=True)).flatten(1)
    length: Tensor = centred.norm(dim=1, keepdim=True)
    return centred / length.clamp_min(1e-6)
