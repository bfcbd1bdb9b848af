"""What people hand to the audit, as arrays: features, labels as index in classes, ids, probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints
from graylearn.audit.scaling import prepared, reduced, scaled
from graylearn.data.column_kinds import ColumnKind, learned_columns, note_infinite
from graylearn.data.inputs import as_dense, as_feature_rows, as_labels, as_plain
from graylearn.data.labels import note_telling_columns
from graylearn.data.samples import Label
from graylearn.data.splits import row_numbers
from graylearn.errors import DataError
from graylearn.options import IdLike, OverlapSetting, check

MAX_PIXELS = 1024
"""Values of one image up to which its pixels serve as features: on 8 x 8 digits they do (average precision
.99 with 20 % OOD), on photos they do not."""

_MISSING = "taken as missing; where they stand for large values, give large numbers"


def described(
    x: Any, label: Ints, id_like: IdLike = "drop", given: Floats | None = None
) -> tuple[NDArray[np.uint64], NDArray[np.float32] | None]:
    """(N,) a number of each sample's content, and scaled features (N, D), None where there are none.

    given: (N, K) what a model says of the samples; their content where x is None.
    """
    if x is None:
        assert given is not None
        return row_numbers(given), None
    numbers = as_numbers(x, len(label), id_like, label)
    content = row_numbers(numbers)
    return content, prepared(numbers, label, content)


def as_features(x: Any, n: int, id_like: IdLike = "drop") -> NDArray[np.float32]:
    """Whatever describes N samples, one row each, as scaled features (N, D); see `as_numbers`."""
    return reduced(scaled(as_numbers(x, n, id_like)))


def one_class(overlap: OverlapSetting) -> bool | None:
    """Whether the user says that each sample has one true class; None where nothing is said."""
    check({"overlap": overlap})
    return {"none": True, "possible": False}.get(overlap)


def as_numbers(x: Any, n: int, id_like: IdLike = "drop", label: Ints | None = None) -> NDArray[Any]:
    """Whatever describes N samples, one row each, as numbers (N, ...).

    Numbers of any shape, sparse matrices, small images, and frames of pandas, polars or pyarrow; columns
    that are not numbers are encoded as GrayClassifier encodes them. Columns of a frame that seem to name the
    rows are left out, with a warning, unless `id_like` is "keep"; one that gives `label` away is warned of.
    """
    check({"id_like": id_like})
    rows = as_feature_rows(x)
    if rows.shape[0] != n:
        raise DataError(f"features have shape {tuple(rows.shape)} for {n} labels: give one label per row")
    rows = as_dense(rows)
    if isinstance(rows, pd.DataFrame):
        values = _numbers_of(rows, id_like, label)
        if label is not None:
            note_telling_columns(rows, label)
    else:
        values = np.asarray(rows)
        if values.dtype.kind not in "biuf":
            raise DataError(f"features are of type {values.dtype}, not numbers: encode or embed them first")
        if values.dtype.kind == "f":
            columns = values.reshape(len(values), math.prod(values.shape[1:]))
            note_infinite(columns, range(columns.shape[1]), _MISSING)
    if len(values) and not values.size:
        raise DataError("X has rows and no columns: give at least one feature, or one column of a table")
    if values.dtype == np.uint8 and values.ndim >= 3 and math.prod(values.shape[1:]) > MAX_PIXELS:
        raise DataError(
            f"X holds images of {' x '.join(map(str, values.shape[1:]))} pixels, which say little by "
            "themselves: turn them into features first, with graylearn.data.embed_images(X)"
        )
    return values


def _numbers_of(frame: pd.DataFrame, id_like: IdLike, label: Ints | None) -> NDArray[Any]:
    """The columns of a frame to learn from, as numbers."""
    if not len(frame):
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    if not all(pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes):
        from sklearn import config_context

        from graylearn.data.encode import TableEncoder  # scikit-learn comes with it

        with config_context(transform_output="default"):  # an array, whatever the user has set for pipelines
            encoded: NDArray[Any] = TableEncoder(id_like=id_like).fit(frame, label).transform(frame)
        return encoded
    named = frame.set_axis([str(name) for name in frame.columns], axis=1)
    if named.columns.is_unique:
        kinds: dict[str, ColumnKind] = dict.fromkeys(named.columns, "number")
        named = named[learned_columns(named, kinds, id_like)]
    numbers: NDArray[Any] = named.to_numpy(dtype=np.float64, na_value=np.nan)
    note_infinite(numbers, list(named.columns), _MISSING)
    return numbers


def classes_of_columns(pred_probs: Any, labels: Any) -> list[Label] | None:
    """The classes that the columns of a frame of probabilities are named after; None where a label is not."""
    columns = getattr(as_plain(pred_probs), "columns", None)
    named = {str(each): each for each in as_labels(labels, None)[1]}
    if columns is None or not named.keys() <= set(map(str, columns)):
        return None
    return [named.get(str(column), column) for column in columns]


def are_probabilities(rows: Floats) -> bool:
    """Whether each row is finite, at least zero and of sum one (half precision is forgiven)."""
    if not np.isfinite(rows).all() or (rows < -1e-6).any():
        return False
    return bool((np.abs(rows.sum(axis=1) - 1.0) <= 0.02).all())


def as_probabilities(pred_probs: Any, n: int) -> Floats:
    """(N, K) class probabilities; see `are_probabilities`."""
    array = np.asarray(as_plain(pred_probs))
    if array.ndim != 2 or len(array) != n or array.shape[1] < 1 or array.dtype.kind not in "iuf":
        raise DataError(f"pred_probs has shape {array.shape} for {n} labels: expected numbers (N, K)")
    p = array.astype(np.float64)
    if not are_probabilities(p):
        raise DataError(
            "pred_probs has rows that are not probabilities (finite, not negative, of sum 1): "
            "pass softmax outputs, not logits"
        )
    p = np.clip(p, 0.0, None)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
