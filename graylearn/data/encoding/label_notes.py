"""Notes on labels: in another order, given away by a column, words for none, misspelt, measured."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from graylearn.array_types import Ints
from graylearn.data.misspelt import in_words, meant_by
from graylearn.data.samples import RANGES
from graylearn.data.tables import MISSING_WORDS
from graylearn.errors import DataWarning, counted, first_few, warn

_TOLD = 0.98  # share of the labels that a column must tell; petal widths of irises tell 96 %
_MOST_FREQUENT = 0.9  # beyond it one label is right so often that a column has little to add
_FEWEST_ROWS = 30  # fewer are not audited
_ROWS_A_VALUE = 5  # with fewer in the mean, a column names rows or groups of them
_VALUES = 50  # of a number, beyond which it is a measurement
_GLANCE = 256  # rows that show of most columns that they tell too little
_AT_A_GLANCE = 0.9  # what a column must tell of those
_MOST_COLUMNS = 5  # in one warning
_GROUPS = 30  # values from which on a column may say which rows belong together: fewer groups are not audited
_CLASSES, _ROWS_A_CLASS = 50, 10  # more numbers than these, with fewer rows each, look measured
_FRACTIONS = 20  # more than these, where some are no whole numbers, do so on any number of rows
_MOST_ALIKE = 5  # misspelt labels in one warning
_NO_LABEL = MISSING_WORDS | {"None", "none", "NONE", "Null", "Nan", "NAN", "<NA>"}


def note_order(labels: Any, *others: Any) -> None:
    """Warn where labels have the index of their samples in another order: rows go by where they stand."""
    for each in others:
        pair = [part.index for part in (labels, each) if isinstance(part, pd.Series | pd.DataFrame)]
        if len(pair) < 2 or len(pair[0]) != len(pair[1]) or pair[0].equals(pair[1]):
            continue
        if all(index.is_unique for index in pair) and pair[0].isin(pair[1]).all():
            told = (
                "the labels have the index of the samples in another order, and rows go by where they stand, "
                "not by index: give y.loc[X.index] if they belong together by index"
            )
            warn(told)
            return


def note_telling_columns(frame: pd.DataFrame, label: Ints) -> None:
    """Warn of columns whose value alone tells nearly every label (N,): they may have been made from it.

    A wrong label then agrees with its own copy, and no audit can find it.
    """
    n = len(frame)
    if n < _FEWEST_ROWS or np.bincount(label).max() >= _MOST_FREQUENT * n:
        return
    some = np.random.default_rng(0).choice(n, min(n, _GLANCE), replace=False)
    few, few_labels = frame.iloc[some], label[some]
    told = 0
    for index, (name, kind) in enumerate(frame.dtypes.items()):
        is_number = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        most = min(_VALUES if is_number else n, n // _ROWS_A_VALUE)
        if _share_told(few.iloc[:, index], few_labels, most) < _AT_A_GLANCE:
            continue
        share = _share_told(frame.iloc[:, index], label, most)
        if share < _TOLD:
            continue
        told += 1
        column = shlex.quote(str(name))
        groups = (
            ". If it says which rows belong together, as frames of a video do, they vouch for wrong labels "
            f"of one another: give it as their groups (on the command line with --group {column})"
        )
        warn(
            f"column {str(name)!r} alone tells the label of {share:.1%} of the rows; if it was made from the "
            "label, wrong labels agree with it and are not found: leave it out then (on the command line "
            f"with --without {column}){groups * (frame.iloc[:, index].nunique() >= _GROUPS)}"
        )
        if told == _MOST_COLUMNS:
            return


def note_labels(
    classes: Sequence[object] | np.ndarray,
    counts: Sequence[int] | Ints,
    meant: Ints | None = None,
    *,
    kept: bool = False,
) -> None:
    """Warn of labels that may not be the classes (K,) they are taken for; counts (K,): of each.

    meant: (K,) as `meant_by` found it; None goes by spelling alone. kept: misspelt ones stay classes.
    """
    for label, count in zip(classes, counts, strict=True):
        if count and isinstance(label, str) and label.strip() in _NO_LABEL:
            told = DataWarning(
                f"the label {str(label)!r}, given {counted(int(count), 'time')}, counts as a class; if it "
                "means that no label is known, leave those samples out: in a table empty these cells"
            )
            told.about = f"the label {str(label)!r}"
            warn(told)
    _note_misspelt(list(classes), counts, meant, kept)
    _note_measured(classes, int(np.sum(counts)))


def _note_misspelt(
    classes: Sequence[object], counts: Sequence[int] | Ints, meant: Ints | None, kept: bool
) -> None:
    """Warn of labels that mean another class."""
    meant = meant_by(classes, counts) if meant is None else meant
    if not (wrong := in_words(classes, counts, meant)):
        return
    outcome = (
        "they count as classes of their own"
        if kept
        else "an audit judges them as the class that they mean; a fit, and --keep-labels (keep_labels=True), "
        "as classes of their own"
    )
    warning = DataWarning(f"labels that seem misspelt: {first_few(wrong, _MOST_ALIKE)}; {outcome}")
    warning.about = f"labels that seem misspelt {np.flatnonzero(meant != np.arange(len(meant))).tolist()}"
    warn(warning)


def _note_measured(classes: Sequence[object] | np.ndarray, n: int) -> None:
    """Warn of n labels that are numbers of so many values that they look like a measured quantity."""
    values = np.asarray(classes)
    if not ((len(values) > _FRACTIONS and _are_fractions(values)) or _are_scattered(values, n)):
        return
    told = DataWarning(
        f"the labels look like a measurement: {len(values):,} different numbers on {n:,} rows, each taken as "
        f"a class of its own; if they measure something, make the label {RANGES}"
    )
    told.about = "labels that look measured"
    warn(told)


def _are_fractions(values: np.ndarray) -> bool:
    """Whether all are numbers, some of them no whole ones; large text files give such labels as text."""
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return bool((numbers != np.round(numbers)).any())


def _are_scattered(values: np.ndarray, n: int) -> bool:
    """Whether they are many numbers for n rows, and not those of classes: from 0 or 1 without a gap."""
    if values.dtype.kind not in "iuf" or len(values) <= _CLASSES or n >= _ROWS_A_CLASS * len(values):
        return False
    first = values.min()
    return first not in (0, 1) or not np.array_equal(np.sort(values), first + np.arange(len(values)))


def _share_told(values: pd.Series, label: Ints, most: int) -> float:
    """The share of rows whose label is the most frequent one of their value; 0 beyond `most` values."""
    codes, found = pd.factorize(values, use_na_sentinel=False)
    if not 2 <= len(found) <= most:
        return 0.0
    num_classes = int(label.max()) + 1
    pairs, counts = np.unique(codes * num_classes + label, return_counts=True)
    largest = np.zeros(len(found), dtype=np.int64)
    np.maximum.at(largest, pairs // num_classes, counts)
    return float(largest.sum() / len(label))
