"""Copies in a set larger than memory: samples whose features are the same, in whatever parts they are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Ints
from graylearn.audit.parts import PartFiles, features_of, labels_of, rows_of
from graylearn.errors import counted

_ROWS = 10_000
"""Samples whose features are read at once."""


@dataclass(frozen=True, eq=False)
class PartedCopies:
    """Groups of samples that are the same."""

    rows: Ints
    """(n,) rows of the data that have a copy, in their order."""
    group: Ints
    """(n,) the number of the group of each, from 1 on, in the order of their first rows."""
    contradicting: int
    """Groups that bear different labels."""

    def of(self, rows: Ints) -> Ints:
        """(m,) the group of each of these rows; 0 where it has no copy."""
        if not len(self.rows):
            return np.zeros(len(rows), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[at] == rows, self.group[at], 0)

    def in_numbers(self) -> dict[str, int]:
        """For summary.json, as `copies_in_numbers` has it."""
        groups = int(self.group.max(initial=0))
        return {"groups": groups, "samples": len(self.rows), "contradicting": self.contradicting, "leaked": 0}

    def note(self, total: int) -> str | None:
        """What the reader should know, of so many samples; None where there is no copy."""
        if not len(self.rows):
            return None
        groups = counted(int(self.group.max()), "group")
        told = f"{len(self.rows):,} of {total:,} samples are in {groups} of exact copies"
        if self.contradicting:
            told += f", {counted(self.contradicting, 'group')} with different labels"
        few = ": where columns have few values, equal rows are no sign of copying"
        return told + few if 2 * len(self.rows) > total else told


def copies_in_parts(files: PartFiles) -> PartedCopies:
    """The copies among the samples of all parts, by what the files hold; 20 bytes a sample in memory."""
    folders = files.having("rows")
    rows = np.concatenate([rows_of(folder) for folder in folders])
    label = np.concatenate([labels_of(folder) for folder in folders])
    digest = np.concatenate([_digests(folder) for folder in folders])
    order = np.lexsort((rows, digest))
    first = np.flatnonzero(np.diff(digest[order], prepend=digest[order[:1]] + np.uint64(1)))
    size = np.diff(first, append=len(rows))
    many = size > 1
    rows, label = rows[order], label[order]
    differ = np.minimum.reduceat(label, first) != np.maximum.reduceat(label, first)
    number = np.zeros(len(first), dtype=np.int64)
    number[np.flatnonzero(many)[np.argsort(rows[first[many]])]] = np.arange(1, int(many.sum()) + 1)
    of_row = np.repeat(number, size)
    members = np.flatnonzero(of_row)
    members = members[np.argsort(rows[members])]
    return PartedCopies(rows[members], of_row[members], int((differ & many).sum()))


def _digests(folder: Path) -> NDArray[np.uint64]:
    """(n,) equal where the features of two samples are, and by chance in one of 3,000 sets of 10^8."""
    features = features_of(folder)
    found = bytearray()
    for start in range(0, len(features), _ROWS):
        for row in features[start : start + _ROWS] + np.float32(0.0):  # -0.0 is 0.0
            found += hashlib.blake2b(row.data, digest_size=8).digest()
    return np.frombuffer(bytes(found), dtype=np.uint64)
