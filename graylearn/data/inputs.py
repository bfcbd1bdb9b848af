"""What people hand in, as arrays and `Samples`: one rule for `read`, audits, classifiers and training loops.

`as_plain` knows the libraries: tensors, Arrow, polars, masked and reversed arrays. `as_rows` makes rows of
it, `as_samples` Samples with their labels, ids and kind.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

from graylearn.data.samples import Kind, Label, Samples, check_unique_ids, encode_labels
from graylearn.data.tables import table_from_arrow
from graylearn.errors import DataError, Hint, SettingsError, first_few, first_line

MAX_DENSE = 1 << 32
"""Bytes that a sparse matrix may take once it is dense."""
ROWS = "give rows of features, as an array of two axes, a frame, or what read gives of a file"
"""What is said of all else."""


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


def as_rows(x: Any, name: str = "X") -> Any:
    """N rows as an array, a frame or a sparse matrix: of Samples, lists, or whatever `as_plain` knows.

    Text is an array of objects. Nothing is copied that need not be: a memory map stays one.
    """
    rows = as_plain(x.x if isinstance(x, Samples) else x)
    if isinstance(rows, pd.DataFrame) or is_sparse(rows):
        return rows
    try:  # NumPy would give each text the room of the longest
        rows = np.asarray(rows, dtype=object if _are_texts(rows) else None)
    except ValueError as error:
        raise DataError(f"{name} has rows of different lengths: {ROWS}") from error
    if rows.ndim == 0:
        raise DataError(f"{name} is {type(x).__name__}: {ROWS}")
    return rows.astype(object) if rows.dtype.kind in "UT" else rows


def _are_texts(rows: Any) -> bool:
    return isinstance(rows, list | tuple) and bool(rows) and isinstance(rows[0], str)


def as_feature_rows(x: Any) -> Any:
    """N rows that describe samples: numbers as an array or a sparse matrix, or a frame; texts are refused."""
    rows = as_rows(x)
    if isinstance(rows, pd.DataFrame) or is_sparse(rows):
        kinds = rows.dtypes if isinstance(rows, pd.DataFrame) else [rows.dtype]
    else:
        if rows.dtype == object and rows.ndim == 1 and len(rows) and isinstance(rows[0], str):
            raise DataError("X is text: turn it into features first, with graylearn.data.embed_text(X)")
        if rows.dtype == object and rows.ndim == 2 and any(isinstance(value, str) for value in rows.flat):
            # of lists, numbers beside text are no text yet
            listed = x if isinstance(x, list) else rows
            names = list(map(str, range(rows.shape[1])))
            return pd.DataFrame(listed, columns=names).infer_objects()
        kinds = [rows.dtype]
    if any(pd.api.types.is_complex_dtype(kind) for kind in kinds):
        raise DataError("Complex data not supported: give real and imaginary parts as two columns")
    return rows


def kind_of(rows: Any) -> Kind:
    """What the samples of `as_rows` most plausibly are."""
    if isinstance(rows, pd.DataFrame):
        return "table"
    if rows.dtype == object and rows.ndim == 1:
        return "text"
    return "image" if rows.dtype == np.uint8 and rows.ndim in (3, 4) else "array"


def as_samples(
    x: Any,
    y: Any = None,
    *,
    name: str = "the array",
    ids: Any = None,
    classes: Sequence[Label] | None = None,
    labelled: bool = True,
) -> Samples:
    """Samples of rows; ids are row numbers from 0 unless given.

    Images may have their channels first, as torch keeps them: (N, C, H, W) with C of 1 or 3.
    """
    rows = as_rows(x, name)
    if not rows.shape[0]:
        raise DataError(f"{name} holds no samples (shape {rows.shape})")
    kind = kind_of(rows)
    if kind == "image" and rows.ndim == 4 and rows.shape[3] not in (1, 3):
        if rows.shape[1] in (1, 3):
            rows = np.ascontiguousarray(np.moveaxis(rows, 1, 3))
        else:
            kind = "array"
    if kind == "text":
        rows = rows.copy()
        rows[:] = [str(text) if isinstance(text, np.str_) else text for text in rows]
    elif kind != "table" and rows.dtype.kind not in "biuf":
        raise DataError(f"{name} is of type {rows.dtype}; expected numbers, uint8 images or texts")
    ids = np.arange(len(rows)) if ids is None else np.asarray(as_plain(ids))
    if not labelled:
        return Samples(rows, np.full(len(rows), -1), (), ids, kind)
    if y is None:
        raise DataError(
            f"{name} came without labels;",
            Hint("label", None, "with them"),
            Hint("labelled", False, "for data that has none"),
        )
    given = as_plain(y)
    if np.ndim(given) == 0:
        raise DataError(f"label is {given!r}; expected the labels of {name}, or their array in a file")
    if np.ndim(given) == 2 and np.shape(given)[1] == 1:
        given = np.asarray(given)[:, 0]
    if len(given) != len(rows):
        raise DataError(f"{name} holds {len(rows)} samples but there are {len(given)} labels")
    codes, known = encode_labels(given, classes)
    return Samples(rows, codes, known, ids, kind)


def as_labels(y: Any, classes: Sequence[Label] | None = None) -> tuple[np.ndarray, tuple[Label, ...]]:
    """(labels as index in the classes, the classes); see `encode_labels`."""
    return encode_labels(as_plain(y), classes)


def as_ids(ids: Any, x: Any, n: int) -> np.ndarray:
    """(N,) one id per sample, no two equal: those given, those of Samples or a frame, or row numbers."""
    found = ids_of(x, n) if ids is None else np.asarray(as_plain(ids))
    if ids is None and len(found) != n:
        raise DataError(f"there are {len(found)} samples and {n} labels: give one label per sample")
    if found.shape != (n,):
        raise DataError(f"ids have shape {found.shape} for {n} samples: give one id per sample")
    names = found if found.dtype.kind in "iu" else found.astype(str).astype(object)
    check_unique_ids(names)
    return names


def as_weights(given: Any, name: str) -> np.ndarray:
    """Numbers that say what something counts, as float64."""
    try:
        return np.array(as_plain(given), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} holds what is no number ({first_line(error)}): give numbers") from error


def as_class_weights(given: Any, label: np.ndarray, classes: Sequence[Label] | np.ndarray) -> np.ndarray:
    """(K,) what samples of each class count; label: (N,) the index of each sample's class.

    given: "balanced", a dict from class to weight, 1 for those that it leaves out, or one weight per class.
    """
    names = np.asarray(classes).tolist()
    if isinstance(given, str):
        if given != "balanced":
            raise SettingsError.wrong("class_weight", given, "'balanced', a dict or one weight per class")
        count = np.bincount(label, minlength=len(names))
        return np.asarray(len(label) / ((count > 0).sum() * np.maximum(count, 1)))
    if isinstance(given, Mapping):
        if unknown := [each for each in given if each not in names]:
            raise DataError(
                f"class_weight has a weight for {unknown[0]!r}, which is no class: the classes are "
                f"{first_few([repr(name) for name in names])}"
            )
        given = [given.get(name, 1.0) for name in names]
    weights = as_weights(given, "class_weight")
    if weights.shape != (len(names),):
        raise DataError(f"class_weight has shape {weights.shape} for {len(names)} classes: give one each")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise DataError("class weights must be finite, 0 or more, and not all 0")
    return weights


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
