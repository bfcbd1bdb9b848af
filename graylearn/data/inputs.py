"""What people hand over as plain arrays: one rule for `read`, the audit and the classifier."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

from graylearn.data.samples import Samples
from graylearn.data.tables import RawTable, table_from_arrow, table_from_pandas
from graylearn.errors import DataError, first_line

MAX_DENSE = 1 << 32
"""Bytes that a sparse matrix may take once it is dense."""


def as_plain(x: Any) -> Any:
    """Tensors, and arrays and frames of other libraries, as NumPy arrays and pandas frames; the rest stays.

    Arrays, sparse matrices, frames, series and lists stay, in the byte order of this machine; floats that
    NumPy does not know, such as bfloat16, become float32; a structured array becomes a frame. What
    is masked is missing.
    """
    torch = sys.modules.get("torch")  # who has a tensor has imported it
    if torch is not None and isinstance(x, torch.Tensor):
        return _of_tensor(x)
    if type(x).__module__.split(".")[0] == "polars":
        x = x.collect() if hasattr(x, "collect") else x
        x = x.to_arrow() if hasattr(x, "to_arrow") else x
    if isinstance(x, pa.RecordBatch):
        x = pa.Table.from_batches([x])
    if isinstance(x, pa.Table):
        return table_from_arrow(x, "the table").frame
    if isinstance(x, pa.ChunkedArray):
        x = x.combine_chunks()
    if isinstance(x, pa.Array):
        return (x.dictionary_decode() if pa.types.is_dictionary(x.type) else x).to_numpy(zero_copy_only=False)
    if isinstance(x, Samples) or is_sparse(x):
        return x
    if not isinstance(x, np.ndarray | pd.DataFrame | pd.Series):
        if not hasattr(x, "__array__") and not hasattr(x, "__array_interface__"):
            return x
        x = np.asarray(x)
    if isinstance(x, np.ma.MaskedArray) and not x.dtype.names:
        x = _of_masked(x)
    x = _in_our_order(x)
    return pd.DataFrame.from_records(x) if isinstance(x, np.ndarray) and x.dtype.names else x


def _in_our_order(x: Any) -> Any:
    """An array, series or frame whose bytes pandas and torch can read: those of FITS files stand reversed."""
    if isinstance(x, pd.DataFrame):
        return x.apply(_in_our_order) if any(map(_is_reversed, x.dtypes)) else x
    return x.astype(x.dtype.newbyteorder("=")) if _is_reversed(x.dtype) else x


def _is_reversed(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and not kind.isnative


def _of_masked(x: Any) -> np.ndarray:
    """With NaN, or None, where values are masked; what lies behind a mask is often a filling such as 1e20."""
    values: np.ndarray = x.data
    if not np.ma.is_masked(x):
        return values
    if x.dtype.kind in "biuf":
        return np.where(x.mask, np.nan, values)  # float32 stays
    values = values.astype(object)
    values[x.mask] = None
    return values


def _of_tensor(x: Any) -> np.ndarray:
    try:
        x = x.detach().cpu().resolve_conj().resolve_neg()
        known = not x.is_floating_point() or x.dtype.itemsize >= 4 or str(x.dtype) == "torch.float16"
        found: np.ndarray = (x if known else x.float()).numpy()
    except (TypeError, RuntimeError) as error:  # sparse, quantized, or on no device at all
        raise DataError(
            f"a tensor of {x.dtype} ({x.layout}, on {x.device}) cannot be read ({first_line(error)}): give a "
            "dense one of torch.float32"
        ) from error
    return found


def as_table(x: Any) -> RawTable | None:
    """A table held in memory, or None where the object is not one."""
    found = as_plain(x)
    if not isinstance(found, pd.DataFrame):
        return None
    name = "the frame" if found is x else "the array" if isinstance(x, np.ndarray) else "the table"
    return table_from_pandas(found, name)


def as_dense(x: Any) -> Any:
    """A sparse matrix as an array, where that fits into the memory; the rest as it is."""
    if not is_sparse(x):
        return x
    if math.prod(x.shape) * 8 > MAX_DENSE:
        raise DataError(
            f"X is sparse of shape {x.shape}, too large to be made dense: reduce its columns first, with "
            "sklearn.decomposition.TruncatedSVD"
        )
    return x.toarray()


def is_sparse(x: Any) -> bool:
    """Whether it is one of scipy's sparse matrices or arrays."""
    return bool(sparse.issparse(x))


def ids_of(x: Any, n: int) -> np.ndarray:
    """(N,) what the user calls each sample: ids of Samples, a unique index of a frame, else row numbers."""
    if isinstance(x, Samples):
        return x.ids
    if isinstance(x, pd.DataFrame) and x.index.is_unique and not isinstance(x.index, pd.MultiIndex):
        return x.index.to_numpy()
    return np.arange(n)


def is_hugging_face(source: Any) -> bool:
    """Whether this is a dataset, or a dict of them, of the `datasets` package."""
    return any(cls.__module__.split(".")[0] == "datasets" for cls in type(source).__mro__)
