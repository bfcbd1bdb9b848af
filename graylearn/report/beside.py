"""What stands beside a sample so that a person can judge it: likely classes, nearest and typical samples, the
map of samples in the two dimensions that tell the classes apart best, and the columns in which a row of a
table lies farthest from the middle of its class.

Everything here is computed when the page is written: the page only looks up.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from graylearn.array_types import Floats, Ints
from graylearn.data.column_kinds import as_numbers, kind_of, split_kind
from graylearn.errors import DataError
from graylearn.report.data import ReportData, cell_text

COMPARED = 3
"""Likely classes, nearest samples and typical samples of a class that are shown."""
MAX_NEIGHBOURED = 5_000
"""Samples whose nearest samples are looked for, suspects first."""
MAX_LIKELY = 50_000
"""Samples whose likely classes are kept."""
DIRECTIONS = 16
"""Columns from which on features are compared by direction, as embeddings are; fewer by distance."""
_BLOCK = 1 << 24  # distances held at once: 64 MB


def beside(data: ReportData, wanted: Ints, label: Ints, suspected: NDArray[np.bool_]) -> dict[str, Any]:
    """The payload's part; `wanted` are the listed samples, suspects first, and `label` index in classes."""
    found: dict[str, Any] = {"compared": COMPARED, "likely": None, "nearest": None, "typical": None}
    if data.probabilities is not None:
        found["likely"] = _likely(data, wanted[:MAX_LIKELY])
    if data.features is not None and len(data) > COMPARED:
        rows = _rows(data)
        of = wanted[: min(int(suspected.sum()), MAX_NEIGHBOURED)]
        index = nearest(rows, of, COMPARED)
        found["nearest"] = {"of": of.tolist(), "index": index.reshape(-1).tolist()}
        found["typical"] = typical(rows, label, suspected, len(data.classes), COMPARED)
    return found


def needed(found: dict[str, Any], first: Ints) -> list[int]:
    """Samples that are shown beside those of `first`, and so need a preview too."""
    beside_them = [index for members in found["typical"] or () for index in members]
    if found["nearest"]:
        near = np.array(found["nearest"]["index"], dtype=np.int64).reshape(-1, COMPARED)
        beside_them += near[np.isin(found["nearest"]["of"], first)].reshape(-1).tolist()
    return list(dict.fromkeys(beside_them))


def nearest(rows: torch.Tensor, of: Ints, count: int) -> Ints:
    """(len(of), count) the rows nearest to each of `of`, itself left out."""
    index = np.empty((len(of), count), dtype=np.int64)
    square = (rows * rows).sum(dim=1)
    size = max(1, _BLOCK // len(rows))
    for start in range(0, len(of), size):
        part = torch.from_numpy(of[start : start + size])
        apart = square[None, :] - 2.0 * (rows[part] @ rows.T)
        apart[torch.arange(len(part)), part] = torch.inf
        index[start : start + size] = apart.topk(count, dim=1, largest=False)[1].numpy()
    return index


def typical(
    rows: torch.Tensor, label: Ints, suspected: NDArray[np.bool_], num_classes: int, count: int
) -> list[list[int]]:
    """Of each class the `count` samples nearest to its middle, among those that are not suspected."""
    found = []
    for k in range(num_classes):
        members = np.flatnonzero((label == k) & ~suspected)
        own = rows[torch.from_numpy(members)]
        apart = ((own - own.mean(dim=0)) ** 2).sum(dim=1).numpy() if len(members) else np.zeros(0)
        found.append(members[np.argsort(apart, kind="stable")[:count]].tolist())
    return found


def _rows(data: ReportData) -> torch.Tensor:
    """(N, D) features as they are compared."""
    rows = np.asarray(data.features, dtype=np.float32).reshape(len(data), -1)
    if not np.isfinite(rows).all():
        raise DataError("features hold values that are not finite: fill or drop them")
    if rows.shape[1] >= DIRECTIONS:
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return torch.from_numpy(np.ascontiguousarray(rows))


def _likely(data: ReportData, of: Ints) -> dict[str, Any]:
    """The most probable classes of each sample with their probabilities in thousandths, best first."""
    chance = np.asarray(data.probabilities, dtype=np.float64)[of]
    count = min(COMPARED, chance.shape[1])
    best = np.argsort(-chance, axis=1, kind="stable")[:, :count]
    thousandths = np.rint(1000 * np.take_along_axis(chance, best, axis=1)).astype(np.int64)
    return {
        "of": of.tolist(),
        "count": count,
        "classes": best.reshape(-1).tolist(),
        "chance": thousandths.reshape(-1).tolist(),
    }


MAX_POINTS = 5_000
"""Samples on the map: half of them suspects where there are so many, the others drawn evenly."""
LEAST_POINTS = 20
"""Below this many samples a map tells less than the list."""
EXTENT = 1_000
"""Positions are whole numbers from 0 to this."""


def positions(
    data: ReportData, wanted: Ints, label: Ints, suspected: NDArray[np.bool_]
) -> dict[str, Any] | None:
    """Which samples are on the map and where; `wanted` are the listed samples, suspects first."""
    if data.features is None or len(wanted) < LEAST_POINTS:
        return None
    suspects = int(suspected[wanted].sum())
    first = wanted[: min(suspects, MAX_POINTS // 2)]
    others = wanted[suspects:]
    step = max(1, -(-len(others) // (MAX_POINTS - len(first))))
    index = np.concatenate([others[::step], first])  # suspects last: they are drawn over the others
    x = np.asarray(data.features, dtype=np.float64)[index].reshape(len(index), -1)
    x = x / np.maximum(np.abs(x).max(initial=0.0), 1e-12)  # squares of large values would overflow
    if np.ptp(x, axis=0).max(initial=0.0) <= 0:
        return None
    with config_context(transform_output="default"):  # arrays, whatever the user has set for pipelines
        found = _two_dimensions(x, label[index], ~suspected[index])
    low, high = np.quantile(found, (0.002, 0.998), axis=0)  # one sample far out would crowd all others
    placed = np.clip((found - low) / np.maximum(high - low, 1e-12), 0.0, 1.0) * EXTENT
    x_at, y_at = np.rint(placed).astype(np.int64).T
    return {"index": index.tolist(), "x": x_at.tolist(), "y": y_at.tolist(), "extent": EXTENT}


def _two_dimensions(x: Floats, label: Ints, trusted: NDArray[np.bool_]) -> Floats:
    """(N, 2): the directions that part the classes of trusted samples, else those of the largest spread."""
    if x.shape[1] > 50 and len(x) > 50:
        x = PCA(50, random_state=0).fit_transform(x)
    spread = PCA(min(2, *x.shape), random_state=0).fit_transform(x)
    parted = np.empty((len(x), 0))
    count = np.bincount(label[trusted], minlength=label.max() + 1)
    used = trusted & (count[label] > 1)  # one sample has no spread
    if (count > 1).sum() > 1:
        parting = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1)
        try:
            parted = parting.fit(x[used], label[used]).transform(x)[:, :2]
        except np.linalg.LinAlgError:  # columns that depend on each other to the last bit
            parted = np.empty((len(x), 0))
    both = np.concatenate([parted, spread, np.zeros((len(x), 2))], axis=1)
    return np.asarray(both[:, :2], dtype=np.float64)


ODDEST = 6
"""Columns that are shown first."""
MAX_COLUMNS = 500
"""Columns that are looked at."""
MAX_MIDDLES = 50_000
"""Middles, of a class in a column, up to which they are embedded."""
MIN_CLASS_ROWS = 5
"""Rows of a class below which nothing is usual in it, as of a misspelt label."""
USUAL_SHARE = 0.25
"""Share of a class from which on its commonest word is what is usual; names and free text stay below."""


@dataclass(frozen=True, eq=False)
class OddColumns:
    """How far each row lies from the middle of its class, column by column."""

    names: tuple[str, ...]
    """(C,) the columns."""
    middle: list[list[str]]
    """(K, C) median of the numbers, or commonest value, of each class; empty where nothing is usual."""
    oddness: Floats
    """(N, C) distance from the middle of the class in spreads of the class; 0 where nothing can be said."""

    values: list[Any]
    """(C,) the cells of each."""

    def of(self, index: int) -> list[list[Any]]:
        """[column, cell as text] of the oddest columns of a row, the oddest first."""
        row = self.oddness[index]
        order = np.argsort(-row, kind="stable")[:ODDEST]
        return [[int(at), cell_text(self.values[at][index])] for at in order if row[at] > 0]


def odd_columns(
    table: pd.DataFrame, label: Ints, suspected: NDArray[np.bool_], num_classes: int
) -> OddColumns | None:
    """The same for a whole table; middles are of the rows that are not suspected. None for a huge table."""
    table = table.iloc[:, :MAX_COLUMNS]
    if not table.shape[1] or num_classes * table.shape[1] > MAX_MIDDLES:
        return None
    trusted = ~suspected | ~np.isin(label, label[~suspected])  # of a class of suspects alone, all
    enough = np.bincount(label[trusted], minlength=num_classes) >= MIN_CLASS_ROWS
    middles, oddness = [], np.zeros(table.shape, dtype=np.float64)
    for column in range(table.shape[1]):
        values = table.iloc[:, column]
        x = _measured(values)
        found = _words(values, label, trusted) if x is None else _numbers(x, label, trusted)
        middles.append([found[0].get(k, "") if enough[k] else "" for k in range(num_classes)])
        oddness[:, column] = found[1] * enough[label]
    return OddColumns(
        tuple(map(str, table.columns)),
        [list(row) for row in zip(*middles, strict=True)],
        oddness,
        [table.iloc[:, column].array for column in range(table.shape[1])],
    )


def _measured(values: pd.Series[Any]) -> Floats | None:
    """(N,) the numbers that networks learn of a column, text such as `12,5 %` too; NaN of dates, for a day
    that is rare is not odd; None of any other."""
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        return None  # seconds, which would not stand beside what the rows show
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how text is read was told where it was learned
            kind, writing = split_kind(kind_of(values, str(values.name)))
            if kind == "date":
                return np.full(len(values), np.nan)
            return as_numbers(values, str(values.name), writing) if kind == "number" else None
    except (DataError, UnicodeError):
        return None  # lists, halves of characters and the like, of which nothing is learned


def _numbers(x: Floats, label: Ints, trusted: NDArray[np.bool_]) -> tuple[dict[Any, str], Floats]:
    """(median of each class as text, (N,) distance from it in spreads of the class)."""
    x = np.where(np.isfinite(x), np.clip(x, -1e150, 1e150), np.nan)
    own = pd.Series(x).where(trusted).groupby(label)
    apart = np.abs(x - own.transform("median"))
    spread = _spread(apart.where(trusted).groupby(label).transform("median"), own.transform("std", ddof=0))
    overall = _spread(np.nanmedian(np.abs(x - np.nanmedian(x))), np.nanstd(x)) if (x == x).any() else 0.0
    # A class of equal values has no spread of its own: a tenth of the column's keeps the scale sane.
    spread = np.maximum(spread, 0.1 * overall)
    oddness = np.nan_to_num(np.divide(apart, spread, out=np.zeros(len(x)), where=spread > 0))
    return {k: cell_text(centre) for k, centre in own.median().items()}, oddness


def _spread(distance: Any, deviation: Any) -> Any:
    """A median distance from the median as a standard deviation; that itself where the distance is zero."""
    return np.where(distance > 0, 1.4826 * distance, deviation)


def _words(values: pd.Series[Any], label: Ints, trusted: NDArray[np.bool_]) -> tuple[dict[Any, str], Floats]:
    """(commonest word of each class, (N,) by how many halvings the own word is rarer in the class)."""
    text = np.array([cell_text(value) for value in values], dtype=object)
    words, word = np.unique(
        text, return_inverse=True
    )  # by number, for pandas refuses text that is not Unicode
    known = pd.Series(word[trusted]).groupby(label[trusted])
    share = known.value_counts(normalize=True).sort_index()
    named = share[(words[share.index.get_level_values(1)] != "") & (share >= USUAL_SHARE)]
    middle = {k: str(words[commonest]) for k, commonest in named.groupby(level=0).idxmax()}
    most, least = share.groupby(level=0).max()[label].to_numpy(), 0.5 / known.size()[label].to_numpy()
    own = share.reindex(pd.MultiIndex.from_arrays([label, word])).fillna(0.0).to_numpy()
    return middle, np.where(most < USUAL_SHARE, 0.0, np.log2(most / np.maximum(own, least)))
