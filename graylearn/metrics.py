"""Numbers that judge a model: accuracy, calibration, and how well scores find ood samples.

Arrays, lists or torch tensors go in, plain floats come out, shares in [0, 1]. Larger scores = less likely to
belong; ood samples are the positives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graylearn.array_types import Floats, Ints
from graylearn.errors import DataError

# Rows of half-precision softmax outputs stray this far from a sum of one; logits stray further.
_ROW_SUM_TOLERANCE = 0.02


def accuracy(predicted: Any, target: Any) -> float:
    """Share of samples whose predicted class is their label.

    `predicted` holds classes (N,), or logits or probabilities (N, K) whose largest entry decides.
    """
    values = _numpy(predicted, "predicted")
    if values.ndim > 1:
        values = _without_nan(values, "predicted", 2).argmax(axis=1)
    return float(np.mean(values == _one_each(target, "target", values, "predicted")))


@dataclass(frozen=True, eq=False)
class Reliability:
    """The data of a reliability diagram: samples binned by confidence, one entry a bin."""

    edges: Floats
    """(bins + 1,) borders; bin b holds confidences in (edges[b], edges[b + 1]], the first one 0 too."""
    count: Ints
    """(bins,) samples in each bin."""
    accuracy: Floats
    """(bins,) share of right predictions in each bin, NaN where it is empty."""
    confidence: Floats
    """(bins,) mean confidence in each bin, NaN where it is empty."""

    @property
    def gap(self) -> Floats:
        """(bins,) confidence above accuracy (positive: over-confident), NaN where a bin is empty."""
        return self.confidence - self.accuracy

    @property
    def ece(self) -> float:
        """Expected calibration error: the gaps' sizes, weighted by the bins' shares of samples."""
        filled = self.count > 0
        return float(np.abs(self.gap[filled]) @ self.count[filled] / self.count.sum())


def reliability(probabilities: Any, target: Any, bins: int = 20) -> Reliability:
    """Bin samples by confidence (largest probability) into equal-width bins (l, u]."""
    if bins < 1:
        raise DataError(f"bins is {bins}, expected a whole number of at least 1: leave it at 20")
    p = _without_nan(_numpy(probabilities, "probabilities"), "probabilities", 2)
    row_error = np.abs(p.sum(axis=1) - 1).max()
    if p.min() < 0 or row_error > _ROW_SUM_TOLERANCE:
        raise DataError(
            f"probabilities run from {p.min():.4g} to {p.max():.4g} and their rows miss a sum of 1 "
            f"by up to {row_error:.4g}, expected softmax outputs: apply softmax to logits first"
        )
    label = _one_each(target, "target", p[:, 0], "probabilities")
    if label.dtype.kind not in "iubf":
        raise DataError(f"target is of {label.dtype}, expected indices of classes: give column numbers")
    if label.min() < 0 or label.max() >= p.shape[1]:
        raise DataError(
            f"target has labels {label.min()} to {label.max()} but probabilities have {p.shape[1]} "
            f"classes (0..{p.shape[1] - 1}): give indices of classes"
        )
    confidence, correct = p.max(axis=1), p.argmax(axis=1) == label
    edges = np.arange(bins + 1) / bins  # not linspace: i / bins is the double nearest to the true border
    index = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    count = np.bincount(index, minlength=bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty bin is the NaN we want
        mean = [np.bincount(index, weights=each, minlength=bins) / count for each in (correct, confidence)]
    return Reliability(edges, count.astype(np.int64), *mean)


def ece(probabilities: Any, target: Any, bins: int = 20) -> float:
    """Expected calibration error over equal-width bins (l, u]: sum_b n_b/N |acc_b - conf_b|."""
    return reliability(probabilities, target, bins).ece


def auroc(scores: Any, is_ood: Any) -> float:
    """Chance that an ood sample scores above an in-distribution one, a tie counting one half.

    ```python
    from graylearn import metrics

    metrics.auroc([0.9, 0.8, 0.3, 0.1], [True, False, True, False])     # 0.75
    ```
    """
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(*_detection(scores, is_ood)))


def average_precision(scores: Any, is_ood: Any) -> float:
    """Mean precision over the ood samples as the threshold falls; samples of one score enter together."""
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(*_detection(scores, is_ood)))


def fpr_at_tpr(scores: Any, is_ood: Any, tpr: float = 0.95) -> float:
    """Share of in-distribution samples flagged at the largest threshold that flags a share `tpr` of the ood.

    A sample is flagged where its score is at or above the threshold.
    """
    from sklearn.metrics import roc_curve

    if not 0 < tpr <= 1:
        raise DataError(f"tpr is {tpr}, expected a share in (0, 1]: give 0.95 for 95 %")
    fpr, found, _ = roc_curve(*_detection(scores, is_ood), drop_intermediate=False)
    return float(fpr[np.argmax(found >= tpr)])


def _numpy(values: Any, name: str) -> npt.NDArray[Any]:
    """Any array-like as a non-empty numpy array, tensors of any device and precision included."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.double().numpy() if values.is_floating_point() else values.numpy()
    array = np.asarray(values)
    if array.size == 0:
        raise DataError(f"{name} is empty, expected at least one sample: check what was selected")
    return array


def _without_nan(values: npt.NDArray[Any], name: str, ndim: int) -> Floats:
    """The values, of this many dimensions, as float64; NaN cannot be ordered."""
    if values.ndim != ndim:
        raise DataError(f"{name} has shape {values.shape}, expected {'(N,)' if ndim == 1 else '(N, K)'}")
    floats = values.astype(np.float64)
    if bad := int(np.isnan(floats).sum()):
        raise DataError(f"{name} holds {bad} NaN of {floats.size} values, expected none: drop or mend those")
    return floats


def _one_each(values: Any, name: str, of: npt.NDArray[Any], other: str) -> npt.NDArray[Any]:
    """(N,) the values, one for each of N samples."""
    found = _numpy(values, name)
    if found.shape != of.shape:
        raise DataError(f"{name} has shape {found.shape}, expected ({len(of)},): one for each of {other}")
    return found


def _detection(scores: Any, is_ood: Any) -> tuple[npt.NDArray[np.bool_], Floats]:
    """(is_ood, scores) (N,), as scikit-learn takes them."""
    values = _without_nan(_numpy(scores, "scores"), "scores", 1)
    truth = _one_each(is_ood, "is_ood", values, "scores")
    if not np.isin(truth, (0, 1)).all():
        raise DataError("is_ood holds values other than 0 and 1: give True for ood samples")
    positive = truth.astype(bool)
    if positive.all() or not positive.any():
        held = "ood" if positive.all() else "in-distribution"
        raise DataError(f"all {len(values)} samples are {held}: detection has no meaning on one kind alone")
    return positive, values
