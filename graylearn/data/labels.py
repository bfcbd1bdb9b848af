"""Labels that may not be the classes they are taken for: misspelt, words for none, measured, given away.

A misspelt label (`QS0`, `card_arival`, `STAR `) is no class of its own. An audit that took it for one would
look for its few samples everywhere: five rows labelled `QS0` took away all 254 wrong labels that were found
without them.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.array_types import Ints
from graylearn.data.samples import RANGES, Label
from graylearn.data.tables import MISSING_WORDS
from graylearn.errors import counted, first_few, warn

RARE = 0.05
"""How often at most, measured by the class that is meant, where spelling alone decides."""
_LETTERS = 4  # shorter words are a letter apart by chance
_NEIGHBOURS, _ASKED, _AMONG = 10, 500, 20_000
_APART = 0.5  # of their neighbours among both labels, what samples of a class of its own have of their own
_LOOKALIKES = str.maketrans("015|", "olsl")


Looks: TypeAlias = tuple[Ints, NDArray[Any]]
"""(N,) labels and (N, D) features: what the samples of each label look like."""


def meant_by(names: Sequence[object], counts: Sequence[int] | Ints, looks: Looks | None = None) -> Ints:
    """(K,) for each class, the class that it means: another if it is misspelt, else itself.

    Without looks, only a label that is rare beside the class that it resembles counts as misspelt; with them,
    also a frequent one whose samples lie among those of that class, a rare one that is two typing errors away
    from it (`payed`), and no label whose samples lie apart.
    """
    count = np.asarray(counts, dtype=np.int64)
    meant = np.arange(len(names))
    by_way: dict[tuple[str, ...], list[int]] = {}
    found: dict[int, list[int]] = {}
    order = sorted(range(len(names)), key=lambda k: (-count[k], str(names[k])))
    for k in order:
        if not isinstance(names[k], str) or not count[k]:
            continue
        ways = _ways(str(names[k]))
        found[k] = list(dict.fromkeys(other for way in sorted(ways) for other in by_way.get(way, ())))
        for way in ways:
            by_way.setdefault(way, []).append(k)
    for k, near in found.items():
        rare_beside = (other for other in order if looks is not None and count[k] <= RARE * count[other])
        far = (o for o in rare_beside if meant[o] == o and _two_errors(str(names[k]), names[o]))
        for other in chain(sorted(near, key=lambda each: -count[each]), islice(far, 1)):
            if meant[other] == other and _is_meant(k, other, other in near, names, count, looks):
                meant[k] = other
                break
    classes = len(set(meant[count > 0].tolist()))
    return meant if classes > 1 else np.arange(len(names))


def _is_meant(
    k: int, other: int, is_near: bool, names: Sequence[object], count: Ints, looks: Looks | None
) -> bool:
    """Whether label k is `other` misspelt; is_near: one typing error apart, and not two."""
    same = _plain(str(names[k])) == _plain(str(names[other]))
    likely = same or count[k] <= RARE * count[other]
    if looks is None:
        return likely
    own, others, share = _mixed(k, other, *looks)
    if likely and is_near:
        return count[k] < _NEIGHBOURS or own < _APART or own < 2 * share
    # as mixed as if their labels were shuffled, and nearer to `other` than to all other classes together
    error = np.sqrt(share * (1 - share) / min(int(count[k]), _ASKED))
    return bool(own <= share + 2 * error and others >= 0.5 + 0.5 * count[other] / (count.sum() - count[k]))


def _mixed(k: int, other: int, label: Ints, features: NDArray[Any]) -> tuple[float, float, float]:
    """Of the nearest samples of those labelled k: the share of k among both labels, that of `other` among all
    but k, and the share of k among both labels if they were shuffled."""
    random = np.random.default_rng(0)
    rows = np.flatnonzero(label == k)
    asked = rows if len(rows) <= _ASKED else random.choice(rows, _ASKED, replace=False)
    among = np.arange(len(label))
    if len(among) > _AMONG:
        among = np.union1d(asked, random.choice(among, _AMONG, replace=False))
    x = features[among].reshape(len(among), -1).astype(np.float32)
    x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)
    x = np.nan_to_num(x)
    at = np.searchsorted(among, asked)
    far = (x**2).sum(axis=1)[None] - 2 * x[at] @ x.T
    far[np.arange(len(at)), at] = np.inf
    given = label[among]

    def nearest(allowed: np.ndarray) -> np.ndarray:
        """(asked, neighbours) labels of the nearest of these."""
        columns = np.flatnonzero(allowed)
        few = min(_NEIGHBOURS, len(columns) - 1)
        return given[columns[np.argpartition(far[:, columns], few, axis=1)[:, :few]]]

    both = (given == k) | (given == other)
    own = float((nearest(both) == k).mean())
    others = float((nearest(given != k) == other).mean())
    return own, others, float((given == k).sum() / both.sum())


def are_near(name: str, other: str) -> bool:
    """Whether the two are one or two typing errors apart, or are spelt alike."""
    return not _ways(name).isdisjoint(_ways(other)) or _two_errors(name, other)


def _two_errors(name: str, other: object) -> bool:
    """Whether one word of the two labels differs, by one or two letters that were added, lost or mistaken."""
    words, theirs = _plain(name).split(), _plain(str(other)).split()
    if len(words) != len(theirs) or not isinstance(other, str):
        return False
    different = [pair for pair in zip(words, theirs, strict=True) if pair[0] != pair[1]]
    if len(different) != 1:
        return False
    a, b = different[0]
    if min(len(a), len(b)) < _LETTERS or not (a + b).isalpha() or a[0] != b[0] or abs(len(a) - len(b)) > 2:
        return False
    row = list(range(len(b) + 1))  # edits from the letters of a so far to each start of b
    for number, letter in enumerate(a, 1):
        last, row = row, [number]
        for place, wanted in enumerate(b):
            row.append(min(last[place] + (letter != wanted), last[place + 1] + 1, row[place] + 1))
    return row[-1] <= 2


def merged(label: Ints, names: Sequence[Label], meant: Ints) -> tuple[Ints, tuple[Label, ...]]:
    """(label (N,), names) without the misspelt ones, each label the class that it means."""
    left = np.unique(meant)
    return np.searchsorted(left, meant)[label], tuple(names[k] for k in left)


def in_words(names: Sequence[object], count: Sequence[int] | Ints, meant: Ints) -> list[str]:
    """The misspelt labels, each with what it means and how often both are given; the most frequent first."""
    wrong = sorted(np.flatnonzero(meant != np.arange(len(names))).tolist(), key=lambda k: -count[k])
    return [
        f"{str(names[k])!r} ({count[k]:,}) for {str(names[meant[k]])!r} ({count[meant[k]]:,})" for k in wrong
    ]


def _plain(label: str) -> str:
    """Without capitals, signs that nobody sees, blanks around, and with one blank for each gap."""
    seen = "".join(sign for sign in label if unicodedata.category(sign) != "Cf")
    text = " ".join(re.sub(r"(?<=\w)[-_](?=\w)|_", " ", unicodedata.normalize("NFKC", seen)).split())
    folded = text.casefold().strip(".,;:!?'\"")
    return folded if len(folded) > 2 else text  # a and A are letters that somebody drew


def _ways(label: str) -> set[tuple[str, ...]]:
    """Spellings that labels have in common which are one typing error apart.

    Two words are one apart if they are equal once each has lost one letter at most, or if a digit stands for
    the letter that it looks like. The first letter counts: `atypical` is not `typical` misspelt.
    """
    plain = _plain(label)
    words = tuple(plain.split())
    ways = {words}
    for index, word in enumerate(words):
        cuts = {word}
        if len(word) > 2 and not word.isdecimal():
            cuts.add(word.translate(_LOOKALIKES))
        if len(word) >= _LETTERS and word.isalpha():
            cuts |= {word[:letter] + word[letter + 1 :] for letter in range(1, len(word))}
        ways |= {(*words[:index], cut, *words[index + 1 :]) for cut in cuts}
    return ways


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
            ". If rows of one value belong together, such as frames of one video, they confirm each other's "
            f"wrong labels: name it as their group instead (on the command line with --group {column})"
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
            warn(
                f"the label {str(label)!r}, given {counted(int(count), 'time')}, counts as a class; if it "
                "means that no label is known, leave those samples out: in a table empty these cells",
                about=f"the label {str(label)!r}",
            )
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
        else "an audit judges them as the class they mean, unless told --keep-labels (keep_labels=True); "
        "for a fit they are classes of their own"
    )
    about = f"labels that seem misspelt {np.flatnonzero(meant != np.arange(len(meant))).tolist()}"
    warn(f"labels that seem misspelt: {first_few(wrong, _MOST_ALIKE)}; {outcome}", about=about)


def _note_measured(classes: Sequence[object] | np.ndarray, n: int) -> None:
    """Warn of n labels that are numbers of so many values that they look like a measured quantity."""
    values = np.asarray(classes)
    if not ((len(values) > _FRACTIONS and _are_fractions(values)) or _are_scattered(values, n)):
        return
    warn(
        f"the labels look like a measurement: {len(values):,} different numbers on {n:,} rows, each taken as "
        f"a class of its own; if they measure something, make the label {RANGES}",
        about="labels that look measured",
    )


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
