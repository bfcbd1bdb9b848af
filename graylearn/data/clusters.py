"""Clusters among samples that have no classes: k-means on arrays, tables, images or text."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd


def find_clusters(x: Any, count: int, seed: int) -> np.ndarray:
    """Cut the samples into at most `count` clusters of similar ones; (N,) their numbers."""
    # scikit-learn takes a second to import and most programs never come here.
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    n = len(x)
    if n <= count:
        return np.arange(n)
    with warnings.catch_warnings():
        # Fewer distinct samples than clusters: the clusters found are then the distinct samples.
        warnings.simplefilter("ignore", ConvergenceWarning)
        kmeans = MiniBatchKMeans(n_clusters=count, n_init=3, random_state=seed)
        return np.asarray(kmeans.fit_predict(_features(x)))


def _features(x: Any) -> Any:
    """Each sample as a row of numbers of similar scale."""
    if isinstance(x, pd.DataFrame):
        numbers = x.select_dtypes("number")
        # Dates and nested values have no distance here; categories count as 0/1 columns of their own.
        words = x.select_dtypes(["object", "string", "category", "bool"]).astype("string")
        x = np.hstack([numbers.to_numpy(dtype=np.float64, na_value=np.nan), _one_hot(words)])
    elif x.dtype == object:
        from sklearn.feature_extraction.text import HashingVectorizer

        return HashingVectorizer(n_features=2**12).transform(x)
    with np.errstate(over="ignore"):  # what float32 cannot hold counts as missing
        rows: np.ndarray = np.array(x, dtype=np.float32).reshape(len(x), -1)
    rows[~np.isfinite(rows)] = np.nan
    rows = rows - _columns(np.nanmean, rows)
    spread = _columns(np.nanstd, rows)
    return np.nan_to_num(rows / np.where(spread > 0, spread, 1))


def _columns(statistic: Any, rows: np.ndarray) -> np.ndarray:
    """A statistic of each column; 0 for a column without a finite value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        values: np.ndarray = np.nan_to_num(statistic(rows, axis=0))
        return values


def _one_hot(words: pd.DataFrame) -> np.ndarray:
    """0/1 columns for the values of each column."""
    if not words.shape[1]:
        return np.empty((len(words), 0))
    return pd.get_dummies(words, dtype=np.float64).to_numpy()
