"""Columns of words: which words get a feature of their own, and what is learned of the others.

A plan says so for one column, in what `json` writes: `values`, the words with a feature each; whether there
is one for all `other` words and one for `missing` ones; and into how many features letters are `hashed`.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from graylearn.data.encoding.letters import OF_WORDS, letters

Plan: TypeAlias = dict[str, Any]

_RARE = 0.005  # a category below this share of the rows, or seen once, is not told apart


def plan_of(words: np.ndarray, most: int) -> Plan:
    """The plan of a column of so many rows, with a feature each for so many words at most."""
    counts = Counter(word for word in words if word)  # an empty text is a missing one, as in a file
    least = max(2, math.ceil(_RARE * len(words)))
    # The frequent first; equals by their spelling, so that the order of rows does not matter.
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    frequent = [word for word in ordered if counts[word] >= least][:most]
    num_missing = len(words) - sum(counts.values())
    is_constant = len(counts) == 1 and not num_missing
    return {
        "values": sorted(frequent),
        "other": len(frequent) < len(counts) or is_constant,
        "missing": 0 < num_missing < len(words),
        # of a constant, so that new values are told apart
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
