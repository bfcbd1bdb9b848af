"""What people hand to the audit, as arrays: features, labels as places in classes, ids, probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.audit.views import reduced, scaled
from graylearn.data.samples import Label, Samples, encode_labels
from graylearn.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def as_features(x: Any, n: int) -> NDArray[np.float32]:
    """Numbers of any shape, one row a sample, as scaled features (N, D)."""
    if isinstance(x, pd.DataFrame):
        wrong = [str(name) for name in x.columns if not pd.api.types.is_numeric_dtype(x[name])]
        if wrong:
            raise DataError(
                f"columns {', '.join(wrong[:5])} are not numbers: encode the table first "
                "(GrayClassifier does it for you)"
            )
        values = x.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        array = x.detach().cpu().numpy() if hasattr(x, "detach") else np.asarray(x)
        if array.dtype.kind not in "biuf":
            raise DataError(
                f"features are of type {array.dtype}, expected numbers: encode or embed them first"
            )
        values = array
    if values.ndim == 0 or len(values) != n:
        raise DataError(f"features have shape {values.shape} for {n} labels: give one row a label")
    return reduced(scaled(values))


def as_labels(y: Any, classes: Sequence[Label] | None) -> tuple[Ints, tuple[Label, ...]]:
    """Labels as places in a stable list of classes."""
    raw = y.detach().cpu().numpy() if hasattr(y, "detach") else y
    return encode_labels(raw, classes)


def as_ids(ids: Any, x: Any, n: int) -> NDArray[Any]:
    """One id a sample: those given, else those of Samples or a frame, else row numbers."""
    if ids is None:
        if isinstance(x, Samples):
            ids = x.ids
        elif isinstance(x, pd.DataFrame) and x.index.is_unique and not isinstance(x.index, pd.MultiIndex):
            ids = x.index.to_numpy()
        else:
            ids = np.arange(n)
    found = np.asarray(ids)
    if found.shape != (n,):
        raise DataError(f"ids have shape {found.shape} for {n} samples: give one id a sample")
    return found if found.dtype.kind in "iu" else found.astype(str).astype(object)


def as_probabilities(pred_probs: Any, n: int) -> Floats:
    """(N, K) class probabilities, each row at least zero and of sum one (half precision is forgiven)."""
    array = pred_probs.detach().cpu().numpy() if hasattr(pred_probs, "detach") else np.asarray(pred_probs)
    if array.ndim != 2 or len(array) != n or array.shape[1] < 1 or array.dtype.kind not in "iuf":
        raise DataError(f"pred_probs has shape {array.shape} for {n} labels: expected numbers (N, K)")
    p = array.astype(np.float64)
    if not np.isfinite(p).all() or (p < -1e-6).any() or (np.abs(p.sum(axis=1) - 1.0) > 0.02).any():
        raise DataError(
            "pred_probs has rows that are not probabilities (finite, not negative, of sum 1): "
            "pass softmax outputs, not logits"
        )
    p = np.clip(p, 0.0, None)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
