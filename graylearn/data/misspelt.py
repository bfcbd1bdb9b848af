"""Labels that are another class misspelt: `QS0`, `card_arival`, `STAR `; one rule for audits, fits and runs.

A misspelt label is no class of its own. An audit that took it for one would look for its few samples
everywhere: five rows labelled `QS0` took away all 254 wrong labels that were found without them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Ints
from graylearn.data.samples import Label

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
    for k, others in found.items():
        for other in sorted(others, key=lambda each: -count[each]):
            if meant[other] == other and _is_meant(k, other, names, count, looks):
                meant[k] = other
                break
        else:
            meant[k] = k if looks is None else _farther(k, order, names, count, meant, looks)
    classes = len(set(meant[count > 0].tolist()))
    return meant if classes > 1 else np.arange(len(names))


def _is_meant(k: int, other: int, names: Sequence[object], count: Ints, looks: Looks | None) -> bool:
    """Whether label k is `other` misspelt, whose spelling is near."""
    same = _plain(str(names[k])) == _plain(str(names[other]))
    likely = same or count[k] <= RARE * count[other]
    if looks is None:
        return likely
    own, others, share = _mixed(k, other, *looks)
    if likely:
        return count[k] < _NEIGHBOURS or own < _APART or own < 2 * share
    return _lies_among(k, other, count, own, others, share)


def _farther(
    k: int, order: Sequence[int], names: Sequence[object], count: Ints, meant: Ints, looks: Looks
) -> int:
    """The class that label k means if it is rare beside it, two typing errors away and among its samples;
    else k. order: the classes, the most frequent first."""
    for other in order:
        if count[k] > RARE * count[other]:
            break
        if meant[other] == other and _two_errors(str(names[k]), names[other]):
            return other if _lies_among(k, other, count, *_mixed(k, other, *looks)) else k
    return k


def _lies_among(k: int, other: int, count: Ints, own: float, others: float, share: float) -> bool:
    """Whether k and `other` are as mixed as if their labels were shuffled, and k is nearer to `other` than to
    all other classes together."""
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
    folded = text.casefold().rstrip(".")
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
