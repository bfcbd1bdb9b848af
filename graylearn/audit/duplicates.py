"""Duplicates: samples that are the same, or nearly, within a set and between two sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from graylearn.array_types import Ints
from graylearn.audit.near_copies import Kind, near_copies, plain_text
from graylearn.data.inputs import as_dense, as_plain, as_rows, kind_of
from graylearn.data.samples import Samples
from graylearn.data.splits import row_numbers
from graylearn.errors import DataError, are, counted, first_few
from graylearn.options import IdLike


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Groups of samples that are copies of one another."""

    groups: tuple[Ints, ...]
    """The samples of each group, by index; those of a second set follow the first."""
    exact: NDArray[np.bool_]
    """(groups,) whether all of one are the same: to the last bit, texts but for case, blanks and signs."""
    contradicting: NDArray[np.bool_]
    """(groups,) whether they bear different labels."""
    threshold: float
    """The closeness from which on samples are copies."""
    count: int
    """Samples of the first set."""
    total: int
    """Samples of both sets."""

    @property
    def group(self) -> Ints:
        """(total,) the number of each sample's group; -1 where it is alone."""
        found = np.full(self.total, -1, dtype=np.int64)
        for number, members in enumerate(self.groups):
            found[members] = number
        return found

    @property
    def keep(self) -> NDArray[np.bool_]:
        """(count,) the first of each group, whatever the labels of the others, and all that are alone."""
        kept = np.ones(self.total, dtype=bool)
        for members in self.groups:
            kept[members[1:]] = False
        return kept[: self.count]

    @property
    def leaked(self) -> Ints:
        """Index in the second set of samples that stand in the first as well."""
        found = [m[m >= self.count] - self.count for m in self.groups if m[0] < self.count]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found]))

    @property
    def table(self) -> pd.DataFrame:
        """One row per sample that has a copy: index, group, kind (exact or near), contradicting."""
        rows = [
            (int(member), number, "exact" if self.exact[number] else "near", bool(self.contradicting[number]))
            for number, members in enumerate(self.groups)
            for member in members
        ]
        return pd.DataFrame(rows, columns=["index", "group", "kind", "contradicting"])

    def summary(self) -> str:
        """A line for a person."""
        members = sum(map(len, self.groups))
        told = f"{members:,} of {self.total:,} samples are in {counted(len(self.groups), 'group')} of copies"
        if self.contradicting.any():
            told += f", {counted(int(self.contradicting.sum()), 'group')} with different labels"
        if self.total > self.count:
            tested, leaked = self.total - self.count, len(self.leaked)
            told += f"; {leaked:,} of {tested:,} test samples {are(leaked)} in the training set, or nearly so"
        return told


def find_duplicates(
    data: Any, labels: Any = None, *, test: Any = None, near: bool = True, id_like: IdLike = "drop"
) -> Duplicates:
    """Find copies among samples.

    Args:
        data: Samples; uint8 images (N, H, W, C); a list of texts; or rows, numbers (N, D) or a frame.
            Embeddings are rows.
        labels: (N,), of Samples their own; with `test` those of the first set alone.
        test: a second set of the same kind, whose samples should not stand in the first.
        near: whether to look for copies that are not the same to the last bit.
        id_like: columns of a frame that seem to name the rows have no part in what is near, unless it is
            "keep".
    """
    if isinstance(data, Samples) and labels is None and data.classes:
        labels = data.y
    kind, values = _values(data)
    count = len(values)
    # -1 where a sample bears none
    given = np.full(count, -1) if labels is None else pd.factorize(np.asarray(as_plain(labels)))[0]
    if len(given) != count:
        raise DataError(f"there are {len(given)} labels for {count} samples: give one each")
    if test is not None:
        other_kind, others = _values(test)
        if other_kind != kind:
            raise DataError(f"test holds {other_kind} samples but data {kind} samples: give both alike")
        if kind == "image" and others.shape[1:] != values.shape[1:]:
            raise DataError(
                f"test holds images of {others.shape[1:]}, data of {values.shape[1:]}: read alike"
            )
        values = _together(values, others)
    digests = _digests(kind, values)
    _, unique = np.unique(digests, return_index=True)
    if not near or len(unique) <= 2:
        return grouped(digests, given)
    return grouped(digests, given, *near_copies(kind, values, np.sort(unique), id_like))


def grouped(
    digests: NDArray[Any], label: Ints, pairs: Ints | None = None, limit: float = float("inf")
) -> Duplicates:
    """The groups of samples whose digests (total,) are equal, or that pairs (P, 2) of near copies join.

    label: (count,) of the first set, -1 where a sample bears none. limit: the closeness of near copies.
    """
    count, total = len(label), len(digests)
    _, at, same_as, size = np.unique(digests, return_index=True, return_inverse=True, return_counts=True)
    again = np.flatnonzero(size[same_as] > 1)
    same = np.stack([at[same_as[again]], again], axis=1)
    groups = joined_groups(same if pairs is None else np.concatenate([same, pairs]))
    return Duplicates(
        tuple(groups),
        np.array([len(set(same_as[part])) == 1 for part in groups], dtype=bool),
        np.array([len({*label[part[part < count]]} - {-1}) > 1 for part in groups], dtype=bool),
        limit,
        count,
        total,
    )


def joined_groups(pairs: Ints) -> list[Ints]:
    """The groups of two samples or more that pairs (P, 2) join, each in rising order."""
    members, at = np.unique(pairs, return_inverse=True)
    one, other = at.reshape(-1, 2).T
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(len(members),) * 2)
    component = connected_components(graph, directed=False)[1] if len(members) else members
    order = np.argsort(component, kind="stable")
    parts = np.split(members[order], np.flatnonzero(np.diff(component[order])) + 1)
    return sorted((part for part in parts if len(part) > 1), key=lambda part: int(part[0]))


def _values(data: Any) -> tuple[Kind, Any]:
    rows = as_dense(as_rows(data))
    kind = kind_of(rows)
    if kind == "image":
        return "image", rows if rows.ndim == 4 else rows[..., None]
    if kind == "text":
        return "text", np.array([str(each) for each in rows], dtype=object)
    if not isinstance(rows, pd.DataFrame):
        rows = pd.DataFrame(rows.reshape(len(rows), math.prod(rows.shape[1:])))
    return "rows", rows.reset_index(drop=True)


def _together(one: Any, other: Any) -> Any:
    if isinstance(one, pd.DataFrame):
        missing = [str(name) for name in one.columns if name not in other.columns]
        if missing:
            raise DataError(f"test lacks the columns {first_few(missing, 5)}: give both alike")
        nameless = [*one.columns] == [*range(one.shape[1])]
        if nameless and one.shape[1] != other.shape[1]:
            raise DataError(f"test has {other.shape[1]} columns, data {one.shape[1]}: give both alike")
        return pd.concat([one, other[one.columns]], ignore_index=True)
    return np.concatenate([one, other])


def _digests(kind: Kind, values: Any) -> NDArray[Any]:
    """(N,) equal where samples are the same; texts less their case, blanks and signs."""
    if kind == "image":
        return row_numbers(values)
    if kind == "text":
        return np.array([plain_text(text) for text in values], dtype=object)
    return np.asarray(pd.util.hash_pandas_object(values, index=False))
