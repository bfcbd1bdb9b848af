"""How groups of image runs were trained: how far from the paper's way, and which were trained alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reproduction import names
from reproduction.grids import PAPER_IMAGES
from reproduction.records import Group


def distance(group: Group) -> tuple[float, ...]:
    """How far a group's training is from the paper's, to sort by: the whole set first, then length, shape and
    batch size. Tables are trained as their protocol says, which is no distance."""
    if group.get("kind") != "image":
        return (0.0,)
    length = abs(math.log(float(group.get("epochs")) / PAPER_IMAGES.epochs))
    batch = abs(math.log(float(group.get("batch_size")) / PAPER_IMAGES.batch_size))
    part = 0.0 if group.get("train_size") is None else 1.0
    return (part, length, float(group.get("preset") != PAPER_IMAGES.preset), batch)


def trained_alike(found: Sequence[Group]) -> list[tuple[str, list[Group]]]:
    """(schedule, groups) of those trained the same way, networks aside; the nearest to the paper's first."""
    ways: dict[str, list[Group]] = {}
    for group in sorted(found, key=distance):
        ways.setdefault(f"{names.length(group.cell)}, batch {group.get('batch_size')}", []).append(group)
    return list(ways.items())
