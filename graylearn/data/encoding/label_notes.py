"""Notes on labels: in another order, given away by a column, words for none, alike, misspelt, measured."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from graylearn.array_types import Ints
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
_MOST_COLUMNS = 5  # that are told
_GROUPS = 30  # values from which on a column may say which rows belong together: fewer groups are not audited
_CLASSES, _ROWS_A_CLASS = 50, 10  # more numbers than these, with fewer rows each, look measured
_FRACTIONS = 20  # more than these, where some are no whole numbers, do so on any number of rows
_MOST_ALIKE = 5  # groups of labels that are told
_MISSPELT = 0.05  # how often at most, measured by the label that was meant
_LETTERS = 4  # shorter words are a letter apart by chance
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


def note_labels(classes: Sequence[object] | np.ndarray, counts: Sequence[int] | Ints) -> None:
    """Warn of labels that may not be the classes (K,) they are taken for; counts (K,): of each."""
    for label, count in zip(classes, counts, strict=True):
        if count and isinstance(label, str) and label.strip() in _NO_LABEL:
            told = DataWarning(
                f"the label {str(label)!r}, given {counted(int(count), 'time')}, counts as a class; if it "
                "means that no label is known, leave those samples out: in a table empty these cells and "
                "skip missing labels (on the command line with --missing-labels skip)"
            )
            told.about = f"the label {str(label)!r}"
            warn(told)
    _note_alike([label for label, count in zip(classes, counts, strict=True) if count])
    _note_misspelt({str(label): int(n) for label, n in zip(classes, counts, strict=True) if n})
    _note_measured(classes, int(np.sum(counts)))


def _note_alike(classes: Sequence[object]) -> None:
    """Warn of labels that a person would take for one."""
    groups: dict[str, list[str]] = {}
    for label in classes:
        if isinstance(label, str):
            seen = "".join(sign for sign in label if unicodedata.category(sign) != "Cf")
            folded = " ".join(unicodedata.normalize("NFKC", seen).casefold().split())
            groups.setdefault(folded, []).append(str(label))
    for alike in [group for group in groups.values() if len(group) > 1][:_MOST_ALIKE]:
        warn(
            f"the labels {' and '.join(map(repr, alike))} differ only in blanks, capitals, invisible signs "
            f"or how accents are encoded, and count as {len(alike)} classes; write them alike if they are "
            "one"
        )


def _note_misspelt(times: dict[str, int]) -> None:
    """Warn of rare labels in which one word is a letter away from a frequent label."""
    # two words are a letter apart where they are equal once each has lost one letter at most
    given: dict[tuple[str, ...], str] = {}
    told = []
    for label in sorted(times, key=lambda each: (-times[each], each)):
        ways = _without_a_letter(_words(label))
        near = {given[way] for way in ways & given.keys()}
        right = min(near, key=lambda each: (-times[each], each), default=label)
        if times[label] <= _MISSPELT * times[right] and _words(label) != _words(right):
            told.append(f"{label!r} ({times[label]:,}) for {right!r} ({times[right]:,})")
        else:
            for way in ways:
                given.setdefault(way, label)
    if told:
        warning = DataWarning(
            f"labels that may be misspelt count as classes of their own: {first_few(told, _MOST_ALIKE)}; "
            "write them alike if they are one"
        )
        warning.about = "labels that may be misspelt"
        warn(warning)


def _words(label: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+", label.casefold()))


def _without_a_letter(words: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The words as they are, and with each letter left out of each that is long enough."""
    ways = set()
    for index, word in enumerate(words):
        if word.isalpha() and len(word) >= _LETTERS:
            cuts = {word, *(word[:letter] + word[letter + 1 :] for letter in range(len(word)))}
            ways |= {(*words[:index], cut, *words[index + 1 :]) for cut in cuts}
    return ways


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
