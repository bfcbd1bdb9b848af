"""The training set of one fit: encoded samples in canonical order, and the way back to the user's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from graylearn.errors import DataError
from graylearn.estimator.inputs import InputEncoder, canonical_order, spread_weights, take


@dataclass(frozen=True)
class TrainingSet:
    """M rows to train on, made of the user's N samples."""

    x: NDArray[Any]
    """(M, ...) encoded samples."""
    y: NDArray[np.int64]
    """(M,) places of their labels among the classes."""
    weight: NDArray[np.float64]
    """(M,) what the loss of each counts."""
    rows: NDArray[np.int64]
    """(M,) which of the user's samples each is."""
    given: Any
    """The user's N samples, as `read_inputs` gave them."""
    given_y: NDArray[np.int64]
    """(N,) places of their labels."""


def make_training_set(
    given: Any,
    y: NDArray[np.int64],
    *,
    classes: NDArray[Any],
    sample_weight: Any,
    class_weight: Any,
    encoder: InputEncoder | None,
) -> tuple[TrainingSet, InputEncoder]:
    """The set, and the encoder that was fitted on it where none was given."""
    check_consistent_length(given, y)
    rows, weight = np.arange(len(y)), np.ones(len(y))
    if sample_weight is not None:
        checked = _check_sample_weight(sample_weight, given, dtype=np.float64)
        if (checked < 0).any() or not np.isfinite(checked).all():
            raise DataError("sample_weight must be finite and not negative")
        if not checked.any():
            raise DataError("Sample weights must contain at least one non-zero number")
        rows, losses = spread_weights(checked)
        weight = np.ones(len(rows)) if losses is None else losses
    kept = given if len(rows) == len(y) and (rows == np.arange(len(y))).all() else take(given, rows)
    if encoder is None:
        encoder = InputEncoder.fitted(kept)
    x, labels = encoder.transform(kept), y[rows]
    if class_weight is not None:
        present = np.unique(labels)
        # a class without samples has no weight to balance, and none is asked of it
        asked = class_weight
        if isinstance(asked, dict):
            asked = {
                label: value for label, value in asked.items() if label in set(classes[present].tolist())
            }
        factor = np.ones(len(classes))
        factor[present] = compute_class_weight(asked, classes=classes[present], y=classes[labels])
        weight = weight * factor[labels]
        if not weight.any() or (weight < 0).any():
            raise DataError("class_weight must be positive for some class, and negative for none")
    order = canonical_order(x, labels)
    return TrainingSet(x[order], labels[order], weight[order], rows[order], given, y), encoder
