"""What people hand to the classifier, as the arrays it trains on: rows of features, or images.

Rows are arrays, sparse matrices and frames of pandas, polars or pyarrow with columns of any kind; a
TableEncoder turns them into float32 features. uint8 arrays of three or four axes are images and stay as
they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from graylearn.data.encode import TableEncoder
from graylearn.data.inputs import ROWS, as_dense, as_feature_rows, as_plain, kind_of
from graylearn.data.labels import note_order, note_telling_columns
from graylearn.data.samples import RANGES, Samples, encode_labels
from graylearn.data.tables import check_unique_names
from graylearn.errors import DataError, GraylearnError

MAX_REPEATS = 8
"""Whole-number weights are carried out by repeating rows while that makes the set at most so much larger."""
_SAME_ROWS = "give rows of the columns that it was fitted on"
_PLAIN: dict[str, type] = {"b": np.bool_, "i": np.int64, "u": np.uint64}
_LABELS = "give one label per sample, in one axis, and not the name of a column"


@dataclass(eq=False)
class InputEncoder:
    """How samples become what the network reads, learned from the training set."""

    kind: Literal["rows", "images"]
    """`rows` of features or `images`."""
    shape: tuple[int, ...]
    """Of one sample as the network reads it: (D,) or (C, H, W)."""
    table: TableEncoder | None = None
    """The encoder of rows; None for images."""
    names: tuple[str, ...] = ()
    """The columns as the encoder knows them; new rows have them in this order, as was checked."""

    @classmethod
    def fitted(
        cls,
        given: Any,
        constant: Literal["keep", "drop"] = "drop",
        id_like: Literal["keep", "drop"] = "drop",
        label: NDArray[np.int64] | None = None,
    ) -> InputEncoder:
        """Learn from what `read_inputs` gave; `constant` columns are kept where further rows will come.

        label: (N,) of the rows, where columns of a frame that give it away are to be warned of.
        """
        if is_images(given):
            height, width, channels = given.shape[1:]
            return cls("images", (channels, height, width))
        table = TableEncoder(constant=constant, id_like=id_like).fit(as_dense(given), label)
        if label is not None and isinstance(given, pd.DataFrame):
            note_telling_columns(given, label)
        names = given.columns if isinstance(given, pd.DataFrame) else range(given.shape[1])
        return cls("rows", (len(table.get_feature_names_out()),), table, tuple(map(str, names)))

    def to_json(self) -> dict[str, Any]:
        """All of it, as values that `json` writes."""
        table = None if self.table is None else self.table.to_json()
        return {"kind": self.kind, "shape": list(self.shape), "names": list(self.names), "table": table}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> InputEncoder:
        """The encoder from what `to_json` gave."""
        table = None if saved["table"] is None else TableEncoder.from_json(saved["table"])
        return cls(saved["kind"], tuple(int(size) for size in saved["shape"]), table, tuple(saved["names"]))

    def transform(self, given: Any) -> NDArray[Any]:
        """float32 features (N, D), or the uint8 images (N, H, W, C) themselves."""
        if self.table is None:
            return np.asarray(given)
        given = as_dense(given)
        if isinstance(given, np.ndarray) and given.dtype.kind == "f":
            return self.table.transform_numbers(given, self.names)
        with config_context(transform_output="default"):  # arrays, whatever the user has set for pipelines
            given = given.set_axis(list(self.names), axis=1) if isinstance(given, pd.DataFrame) else given
            features: NDArray[np.float32] = self.table.transform(given)
        return features


@contextmanager
def refused(mend: str) -> Iterator[None]:
    """What scikit-learn's checks inside refuse, as an error of ours that also says how to mend it."""
    try:
        yield
    except GraylearnError:
        raise
    except ValueError as error:
        raise DataError(f"{str(error).rstrip('.!')}: {mend}") from error


def read_inputs(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as a pandas frame, a float array, a sparse matrix or uint8 images (N, H, W, C), checked.

    With `reset` the estimator learns the number and names of the features, else X must have the same.
    """
    rows = as_feature_rows(X)
    if is_images(rows):
        return _checked_images(estimator, channels_last(rows), reset)
    if rows.ndim < 2:
        raise DataError(
            f"Expected 2D array, got X of shape {rows.shape}. Reshape your data either using "
            "X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is a single sample"
        )
    if rows.ndim > 2:
        raise DataError(
            f"X is {rows.dtype} of shape {rows.shape}: give images as uint8, 0 to 255, of shape (N, H, W) or "
            "(N, H, W, C), and rows of numbers with two axes, such as X.reshape(len(X), -1)"
        )
    if isinstance(rows, pd.DataFrame):
        if 0 in rows.shape:
            with refused(ROWS if reset else _SAME_ROWS):
                check_array(np.empty(rows.shape))  # scikit-learn's own words for a table of nothing
        check_unique_names(list(rows.columns), "X")
        # by the names that X bears, which for polars and pyarrow are those of the converted frame
        validate_data(estimator, rows, reset=reset, skip_check_array=True)
    else:
        with refused(ROWS if reset else _SAME_ROWS):
            rows = validate_data(
                estimator,
                rows,
                reset=reset,
                accept_sparse=True,
                dtype=np.float64,
                ensure_all_finite=False,  # the encoder takes missing and infinite values for what they are
            )
    _check_same_kind(estimator, "rows", reset)
    return rows


def read_labels(y: Any, samples: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """(classes, labels): the classes in order, and the index of each label among them."""
    if y is None and isinstance(samples, Samples) and samples.num_classes:
        return np.unique(np.asarray(samples.classes)[samples.y], return_inverse=True)
    if y is None:
        raise DataError("requires y to be passed, but the target y is None: give labels, or Samples")
    note_order(y, samples)
    labels = as_plain(y)
    labels = labels.to_numpy() if isinstance(labels, pd.DataFrame) else labels
    if (
        isinstance(labels, pd.Series)
        and labels.dtype.kind in "biu"
        and not isinstance(labels.dtype, np.dtype)
    ):
        # nullable whole numbers and bools, which scikit-learn would turn into floats
        labels = labels.astype(object) if labels.isna().any() else labels.to_numpy(_PLAIN[labels.dtype.kind])
    with refused(_LABELS):
        labels = column_or_1d(labels, warn=True)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError("Input y contains NaN or infinity: give each sample a label, or leave it out")
    names = encode_labels(labels)[1]  # refuses labels that are missing, or of several types
    if large := [name for name in names if isinstance(name, int) and not -(2**63) <= name < 2**63]:
        raise DataError(f"y holds {large[0]}, too large for 64 bits: make all labels text (y.astype(str))")
    with refused(f"give classes, such as {RANGES}"):
        check_classification_targets(labels)
    classes, index = np.unique(labels, return_inverse=True)
    return classes, index.astype(np.int64)


def read_validation(estimator: Any, validation: Any) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """Clean samples as the network of a fit reads them, and the index of each label; None where none are."""
    if validation is None:
        return None
    if not isinstance(validation, tuple) or len(validation) != 2:
        raise DataError("validation must be a pair (X, y) of samples with clean labels")
    given = read_inputs(estimator, validation[0], reset=False)
    named, labels = read_labels(validation[1], validation[0])
    if not np.isin(named, estimator.classes_).all():
        strange = np.setdiff1d(named, estimator.classes_).tolist()
        raise DataError(f"validation has labels {strange}, which the training set has not: leave them out")
    return estimator.encoder_.transform(given), np.searchsorted(estimator.classes_, named)[labels]


def spread_weights(weight: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """(rows, weights): which rows to train on, some of them several times, and what their losses count.

    A weight of zero leaves a row out. Whole-number weights repeat rows (after division by their greatest
    common divisor), which is exactly what a weight means, also for medians, batches and methods that rank
    samples; where that would make the set too large, and for fractions, losses are weighted.
    """
    used = np.flatnonzero(weight > 0)
    positive = weight[used]
    whole = positive.max() < 2**31 and bool((positive == np.round(positive)).all())
    if whole:
        counts = positive.astype(np.int64)
        counts //= np.gcd.reduce(counts)
        if counts.sum() <= MAX_REPEATS * len(weight):
            return np.repeat(used, counts), None
    # by a power of two, which rounds nothing: the sum of the largest numbers is none
    return used, np.ldexp(positive, -int(np.frexp(positive.max())[1]))


def is_images(X: Any) -> bool:
    """Whether X is taken for images: a uint8 array of three or four axes."""
    return isinstance(X, np.ndarray) and kind_of(X) == "image"


def channels_last(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Images (N, H, W), (N, C, H, W) or (N, H, W, C) as a new array (N, H, W, C); see `as_nhwc`."""
    if images.ndim == 3:
        return np.array(images[..., None])
    return np.array(images if images.shape[-1] in (1, 3, 4) else np.moveaxis(images, 1, 3), order="C")


def _checked_images(estimator: Any, images: NDArray[np.uint8], reset: bool) -> NDArray[np.uint8]:
    if 0 in images.shape:
        raise DataError(f"X has shape {images.shape}: expected at least one image of at least one pixel")
    _check_same_kind(estimator, "images", reset)
    height, width, channels = images.shape[1:]
    if reset:
        estimator.n_features_in_ = height * width * channels
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    elif estimator.encoder_.shape != (channels, height, width):
        fitted = estimator.encoder_.shape
        raise DataError(
            f"X holds images of {height} x {width} x {channels} but the classifier was fitted on "
            f"{fitted[1]} x {fitted[2]} x {fitted[0]}: resize them"
        )
    return images


def _check_same_kind(estimator: Any, kind: str, reset: bool) -> None:
    if not reset and estimator.encoder_.kind != kind:
        raise DataError(f"X holds {kind} but the classifier was fitted on {estimator.encoder_.kind}")
