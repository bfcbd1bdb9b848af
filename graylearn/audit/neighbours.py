"""Nearest neighbours of each sample: how far they are and which labels they bear.

Up to `EXACT` samples all pairs are compared. Beyond, samples are dealt to lists round centres, and those of
one list are compared with those of the lists nearest to it: N^1.5 instead of N^2, in dense products on any
device. Beyond `KNOWN` samples, neighbours are looked for among so many, drawn at random: linear in N.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graylearn.array_types import Floats, Ints
from graylearn.audit.blocks import precision_for
from graylearn.audit.progress import tell

_BLOCK = 1 << 24
"""Similarities held at once: 64 MB of float32."""
EXACT = 20_000
"""Samples up to which all pairs are compared."""
KNOWN = 100_000
"""Samples at most among which neighbours are looked for."""
LISTS = 2.0
"""Lists are so many times the root of N: 633 of 158 samples for 100,000."""
PROBES = 16
"""Lists that a list's samples are compared with, its own included."""
FEW_KNOWN, FEW_OF_CLASS, FEW_PROBES = 20_000, 500, 3
"""The same in large sets of which a part says all: known samples, and of each class, and lists."""
_ROUNDS = 4
_SAMPLE = 32
"""Samples a list that its centre is found from."""
_LONGEST = 4
"""Lists longer than so many times the mean are cut in pieces at random, so that a dense spot, or a row that
is repeated many times, does not make the search quadratic."""


def number_of_neighbours(num_samples: int) -> int:
    """k = 20, less in small sets (N / 20, at least 3), and never all of the other samples."""
    return max(1, min(20, max(3, num_samples // 20), num_samples - 1))


def unit_rows(features: NDArray[np.float32], device: torch.device | str = "cpu") -> Tensor:
    """Rows scaled to length one; a row of zeros stays zero and is at distance 1 from everything."""
    rows = torch.as_tensor(np.ascontiguousarray(features, dtype=np.float32), device=device)
    length: Tensor = rows.norm(dim=1, keepdim=True)
    return rows / length.clamp_min(1e-12)


def squared_distance(a: Tensor, b: Tensor) -> Tensor:
    """(n, m) between rows (n, D) and rows (m, D)."""
    square: Tensor = (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * (a @ b.T)
    return square.clamp_min_(0.0)


Within = tuple[int, int]
"""Samples at most that may be one's neighbours, and lists that a list's samples are compared with."""


def within_few(num_classes: int) -> Within:
    """Of large sets of which a part says all."""
    return max(FEW_KNOWN, FEW_OF_CLASS * num_classes), FEW_PROBES


def neighbours(
    features: NDArray[np.float32],
    k: int | None = None,
    device: torch.device | str = "cpu",
    within: Within | None = None,
) -> tuple[Ints, Floats]:
    """The k samples nearest to each by cosine, itself left out: index and distances, both (N, k).

    Nearly all of them beyond `EXACT` samples: see `benchmarks/scale.py`; beyond `KNOWN`, the nearest of so
    many. The similarities are made in blocks, so memory grows with N and not with its square.
    """
    unit = unit_rows(features, device)
    n = len(unit)
    k = number_of_neighbours(n) if k is None else min(k, n - 1)
    if n < 2:
        return np.zeros((n, 0), dtype=np.int64), np.zeros((n, 0))
    found, near = _among_all(unit, k) if n <= EXACT else _among_lists(unit, k, within or (KNOWN, PROBES))
    return found.cpu().numpy(), 1.0 - near.double().clamp(-1.0, 1.0).cpu().numpy()


def _among_all(unit: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Index and cosine (N, k) of the nearest of all others."""
    n = len(unit)
    index = torch.empty((n, k), dtype=torch.int64, device=unit.device)
    cosine = torch.empty((n, k), device=unit.device)
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        block = unit[start : start + step] @ unit.T
        own = torch.arange(len(block), device=unit.device)
        block[own, own + start] = -2.0
        cosine[start : start + step], index[start : start + step] = block.topk(k, dim=1)
        tell("comparing neighbours", start, n)
    return index, cosine


def _among_lists(unit: Tensor, k: int, within: Within) -> tuple[Tensor, Tensor]:
    """Index and cosine (N, k) of the nearest among the known samples of the nearest lists."""
    n, (most, probes) = len(unit), within
    draw = torch.randperm(n, generator=torch.Generator().manual_seed(1))[:most].to(unit.device)
    is_known = torch.zeros(n, dtype=torch.bool, device=unit.device).index_fill_(0, draw, True)
    centres, home = _lists(unit, most)
    order = (2 * home + ~is_known).argsort(stable=True)  # by list, in each those that are known first
    size = torch.bincount(home, minlength=len(centres)).tolist()
    known = torch.bincount(home[is_known], minlength=len(centres)).tolist()
    everyone = order.split(size)  # type: ignore[no-untyped-call]
    members = [own[:count] for own, count in zip(everyone, known, strict=True)]
    probes = min(probes, len(centres))
    nearest = (centres @ centres.T).fill_diagonal_(2.0).topk(probes, dim=1).indices.tolist()
    index = torch.empty((n, k), dtype=torch.int64, device=unit.device)
    cosine = torch.empty((n, k), device=unit.device)
    for number, (own, listed) in enumerate(zip(everyone, nearest, strict=True)):
        tell("comparing neighbours", number, len(everyone))
        if not len(own):
            continue
        asked = torch.cat([members[each] for each in listed])  # its own list comes first
        if len(asked) <= k:
            asked = torch.cat([asked, draw[~torch.isin(draw, asked)][: k + 1]])  # too few: some from anywhere
        rows = unit.index_select(0, asked)
        step = max(1, _BLOCK // len(asked))
        for start in range(0, len(own), step):
            some = own[start : start + step]
            block = unit.index_select(0, some) @ rows.T
            end = max(start, min(start + step, known[number]))
            itself = torch.arange(start, end, device=unit.device)
            block[itself - start, itself] = -2.0
            near, found = block.topk(k, dim=1)
            index[some], cosine[some] = asked[found], near
    return index, cosine


def _lists(unit: Tensor, known: int) -> tuple[Tensor, Tensor]:
    """Centres (L, D), and the list of each row (N,): spherical means of a part, none far above mean size."""
    n = len(unit)
    count = math.ceil(LISTS * math.sqrt(min(n, known)))
    generator = torch.Generator().manual_seed(0)
    part = unit[torch.randperm(n, generator=generator)[: _SAMPLE * count].to(unit.device)]
    centres = part[:count].clone()
    for _ in range(_ROUNDS):
        total = torch.zeros_like(centres).index_add_(0, _nearest(part, centres), part)
        length = total.norm(dim=1, keepdim=True)
        centres = torch.where(length > 0, total / length.clamp_min(1e-12), centres)
    home = _nearest(unit, centres)
    pieces = (torch.bincount(home, minlength=count) / (_LONGEST * n / count)).ceil().long().clamp_min(1)
    if int(pieces.max()) > 1:
        draw = torch.rand(n, generator=generator).to(unit.device)
        first = pieces.cumsum(0) - pieces
        home = first[home] + (draw * pieces[home]).long().clamp_max(pieces[home] - 1)
        centres = centres.repeat_interleave(pieces, dim=0)
    return centres, home


def _nearest(rows: Tensor, centres: Tensor) -> Tensor:
    """(N,) the centre of largest cosine."""
    found = torch.empty(len(rows), dtype=torch.int64, device=rows.device)
    step = max(1, _BLOCK // len(centres))
    for start in range(0, len(rows), step):
        cosine = rows[start : start + step] @ centres.T
        if cosine.device.type == "cpu":  # numpy's takes a ninth of the time
            found[start : start + step] = torch.from_numpy(cosine.numpy().argmax(axis=1))
        else:
            found[start : start + step] = cosine.argmax(dim=1)
    return found


def vote(index: Ints, label: Ints, num_classes: int) -> Floats:
    """Share of the neighbours of each sample that bear each label, (N, K); even shares without any."""
    n, k = index.shape
    share = np.zeros((n, num_classes), dtype=precision_for(n * num_classes))
    if k == 0:
        return np.asarray(share + 1.0 / num_classes)
    rows = np.arange(n)
    for column in index.T:  # one neighbour of each sample at a time: no cell twice
        share[rows, label[column]] += 1.0
    share /= k
    return share


def smooth_vote(share: Floats) -> Floats:
    """Votes, which are overwritten, drawn towards even shares by half a vote: no class is ever ruled out.

    Without it one sample among twenty of other classes has probability zero, and the mixture reads every rare
    but honest label as drawn at random.
    """
    share += 0.5 / share.shape[1]
    share /= 1.5
    return share
