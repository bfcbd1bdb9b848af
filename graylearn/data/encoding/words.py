"""Columns of words: which words get a feature of their own, and when the letters of the others help.

A plan says so for one column, in what `json` writes: `values`, the words with a feature each; whether there
is one for all `other` words and one for `missing` ones; and into how many features letters are `hashed`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

Plan: TypeAlias = dict[str, Any]
OF_WORDS, OF_SENTENCES = 32, 256
"""Features that the letters of a column with very many values are hashed into."""
_SENTENCE = 5  # words that half of the texts of a column of sentences have at least
_ROWS = 2000  # that the question is asked of
_CLASSES = 50  # the commonest, which it is asked about
_SHRINKAGES = np.logspace(-1, 5, 13)  # of features of variance 1
_SURE = 2.0  # standard errors by which letters must help
OFTEN = 0.05
"""The share of rows without a value from which on a feature says that it is missing. One for fewer sets them
apart: of right rows that missed a cell, 1 % of each column, an audit flagged half (now 6 %)."""
_RARE = 0.005  # a category below this share of the rows, or seen once, is not separated


def plan_of(words: np.ndarray, most: int) -> Plan:
    """The plan of a column, with at most `most` words that get a feature of their own."""
    counts = Counter(word for word in words if word)  # an empty text is a missing one, as in a file
    least = max(2, math.ceil(_RARE * len(words)))
    # The frequent first; equals by their spelling, so that the order of rows does not matter.
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    frequent = [word for word in ordered if counts[word] >= least][:most]
    num_missing = len(words) - sum(counts.values())
    is_missed = OFTEN * len(words) <= num_missing < len(words)
    is_constant = len(counts) == 1 and not is_missed
    return {
        "values": sorted(frequent),
        "other": len(frequent) < len(counts) or is_constant,
        "missing": is_missed,
        # of a constant, so that new values are separated
        "hashed": OF_WORDS if len(counts) > most or is_constant else 0,
    }


def feature_names(name: str, plan: Plan) -> list[str]:
    """The name of each feature of a column."""
    names = [f"{name}={value}" for value in plan["values"]]
    names += [f"{name} is other"] * plan["other"] + [f"{name} is missing"] * plan["missing"]
    return names + [f"{name} letters {index}" for index in range(plan["hashed"])]


def features_of(words: np.ndarray, plan: Plan) -> list[np.ndarray]:
    """The features of a column, as parts (N, ...) float32."""
    values: list[str] = plan["values"]
    codes = pd.Index(values, dtype=object).get_indexer(pd.Index(words, dtype=object))
    is_missing = (codes < 0) & np.array([not word for word in words], dtype=bool)
    features = [(codes[:, None] == np.arange(len(values))).astype(np.float32)]
    if plan["other"]:  # rare in training or never seen there
        features.append(((codes < 0) & ~is_missing).astype(np.float32)[:, None])
    if plan["missing"]:
        features.append(is_missing.astype(np.float32)[:, None])
    if plan["hashed"]:
        features.append(letters(words, plan["hashed"]))
    return features


def letters(words: Iterable[str | None], width: int) -> NDArray[np.float32]:
    """(N, width) which groups of letters a text has; hashing has nothing to fit and so nothing to save."""
    hasher = HashingVectorizer(analyzer="char_wb", ngram_range=(2, 4), n_features=width, dtype=np.float32)
    features: NDArray[np.float32] = hasher.transform(
        ["" if word is None else word for word in words]
    ).toarray()
    return features


def are_sentences(words: Iterable[str]) -> bool:
    """Whether texts are sentences rather than names."""
    return bool(np.median([word.count(" ") for word in words]) >= _SENTENCE - 1)


def some_rows(words: NDArray[np.object_]) -> NDArray[np.int64]:
    """Rows to ask `tell_more` of, drawn by what they hold: the order that they came in does not matter."""
    return np.argsort(pd.util.hash_array(words), kind="stable")[:_ROWS]


def tell_more(added: NDArray[np.float32], rest: NDArray[np.float32], label: NDArray[np.int64]) -> bool:
    """Whether features (N, D) tell more of the labels (N,) than the rest of a row, (N, M), does alone.

    Letters that have nothing to do with the labels are many features to be misled by: beside the numbers of
    stars and accents they cost an audit up to all that it finds. Each row is guessed from the others, with
    the added features and without, and must be guessed better with them.
    """
    if not (rest.std(axis=0) > 0).any():
        return True  # there is nothing else to learn from
    target = (label[:, None] == np.argsort(-np.bincount(label), kind="stable")[:_CLASSES]).astype(np.float64)
    gain = _left_out_errors(rest, target) - _left_out_errors(np.concatenate([rest, added], axis=1), target)
    return bool(gain.mean() > _SURE * gain.std() / np.sqrt(len(gain)))


def _left_out_errors(features: NDArray[np.float32], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) squared error of each row by a ridge regression on all the others, of the best shrinkage."""
    scaled = StandardScaler().fit_transform(features.astype(np.float64))
    found = RidgeCV(_SHRINKAGES, store_cv_results=True).fit(scaled, target)
    errors = found.cv_results_.reshape(len(features), -1, len(_SHRINKAGES)).sum(axis=1)
    return np.asarray(errors[:, errors.mean(axis=0).argmin()])
