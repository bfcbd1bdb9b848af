"""What people hand to the audit, as arrays: features, labels as places in classes, ids, probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from numpy.typing import NDArray
from scipy import sparse

from graylearn.audit.views import reduced, scaled
from graylearn.data.encoding.encode import TableEncoder
from graylearn.data.readers.tables import table_from_arrow
from graylearn.data.samples import Label, Samples, encode_labels
from graylearn.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


MAX_PIXELS = 1024
"""Values of one image up to which its pixels serve as features: on 8 x 8 digits they do (average precision
.99 with 20 % OOD), on photos they do not."""
MAX_DENSE = 1 << 32
"""Bytes that a sparse matrix may take once it is dense."""


def as_features(x: Any, n: int) -> NDArray[np.float32]:
    """Whatever describes N samples, one row each, as scaled features (N, D).

    Numbers of any shape, sparse matrices, small images, and frames of pandas, polars or pyarrow; columns
    that are not numbers are encoded as GrayClassifier encodes them.
    """
    rows: Any = _plain(x)
    length = rows.shape[0] if getattr(rows, "ndim", 0) else None
    if length != n:
        shape = getattr(rows, "shape", ())
        raise DataError(f"features have shape {tuple(shape)} for {n} labels: give one row a label")
    if _is_sparse(rows):
        if math.prod(rows.shape) * 8 > MAX_DENSE:
            raise DataError(
                f"X is sparse of shape {rows.shape}, too large to be made dense: reduce its columns first, "
                "with sklearn.decomposition.TruncatedSVD"
            )
        rows = rows.toarray()
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "OUST":
        rows = _frame_of_objects(rows)
    if isinstance(rows, pd.DataFrame):
        numeric = all(pd.api.types.is_numeric_dtype(rows[name]) for name in rows.columns)
        if numeric or not len(rows):
            values = rows.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = TableEncoder().fit(rows).transform(rows)
    else:
        values = np.asarray(rows)
        if values.dtype.kind not in "biuf":
            raise DataError(
                f"features are of type {values.dtype}, expected numbers: encode or embed them first"
            )
    if values.dtype == np.uint8 and values.ndim >= 3 and math.prod(values.shape[1:]) > MAX_PIXELS:
        raise DataError(
            f"X holds images of {' x '.join(map(str, values.shape[1:]))} pixels, which say little by "
            "themselves: turn them into features first, with embed_images(X)"
        )
    return reduced(scaled(values))


def _is_sparse(rows: Any) -> bool:
    return bool(sparse.issparse(rows))


def _plain(x: Any) -> Any:
    """Tensors, series and frames of other libraries as arrays and pandas frames; the rest as it is."""
    if hasattr(x, "detach"):
        return _tensor(x)
    if type(x).__module__.split(".")[0] == "polars":
        x = x.collect() if hasattr(x, "collect") else x
        x = x.to_arrow() if hasattr(x, "to_arrow") else x
    if isinstance(x, pa.RecordBatch):
        x = pa.Table.from_batches([x])
    if isinstance(x, pa.Table):
        return table_from_arrow(x, "X").frame
    if isinstance(x, pa.Array | pa.ChunkedArray):
        return np.asarray(x.to_pylist(), dtype=None if pa.types.is_floating(x.type) else object)
    if sparse.issparse(x) or isinstance(x, pd.DataFrame):
        return x
    return np.asarray(x)


def _tensor(x: Any) -> NDArray[Any]:
    x = x.detach().cpu()
    return np.asarray((x.float() if x.dtype == torch.bfloat16 else x).numpy())  # NumPy has no bfloat16


def _frame_of_objects(rows: NDArray[Any]) -> pd.DataFrame:
    """A table of mixed values as a frame; texts alone are refused."""
    if rows.ndim == 1 and len(rows) and isinstance(rows[0], str):
        raise DataError("X holds text: turn it into features first, with embed_text(X)")
    if rows.ndim != 2:
        raise DataError(
            f"features are of type {rows.dtype}, expected numbers or a table: encode or embed them first"
        )
    names = [str(place) for place in range(rows.shape[1])]
    return pd.DataFrame(rows, columns=names).infer_objects()


def as_labels(y: Any, classes: Sequence[Label] | None) -> tuple[Ints, tuple[Label, ...]]:
    """Labels as places in a stable list of classes."""
    raw = _tensor(y) if hasattr(y, "detach") else y
    if isinstance(raw, pa.Array | pa.ChunkedArray):
        raw = raw.to_pylist()
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
    array = _tensor(pred_probs) if hasattr(pred_probs, "detach") else np.asarray(pred_probs)
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
