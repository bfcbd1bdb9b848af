"""Numbers that judge a model: accuracy, calibration, detection of ood samples, gap recovered.

Arrays, lists or torch tensors go in, plain floats come out. Shares are in [0, 1], never in percent,
but for `gap_recovered`, which is quoted in points of accuracy. Scores point one way: larger = less
likely to belong, and ood samples are the positives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from graylearn.array_types import Floats, Ints
from graylearn.errors import DataError

ArrayLike: TypeAlias = npt.ArrayLike | torch.Tensor

# Rows of half-precision softmax outputs stray this far from a sum of one; logits stray further.
_ROW_SUM_TOLERANCE = 0.02


def accuracy(predicted: ArrayLike, target: ArrayLike) -> float:
    """Share of samples whose predicted class is their label.

    `predicted` holds classes (N,), or logits or probabilities (N, K) whose largest entry decides.
    """
    values = _numpy(predicted, "predicted")
    if values.ndim == 2:
        values = _floats_without_nan(values, "predicted").argmax(axis=1)
    elif values.ndim != 1:
        raise DataError(
            f"predicted has shape {values.shape}, expected classes (N,) or logits (N, K): reshape it"
        )
    labels = _numpy(target, "target")
    _same_length(values, labels, "predicted", "target")
    return float(np.mean(values == labels))


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


def reliability(probabilities: ArrayLike, target: ArrayLike, bins: int = 20) -> Reliability:
    """Bin samples by confidence (largest probability) into equal-width bins (l, u]."""
    _check_bins(bins)
    confidence, correct = _confidence_and_correct(probabilities, target)
    edges = np.arange(bins + 1) / bins  # not linspace: i / bins is the double nearest to the true border
    bin_index = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    count = np.bincount(bin_index, minlength=bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty bin is the NaN we want
        return Reliability(
            edges=edges,
            count=count.astype(np.int64),
            accuracy=np.bincount(bin_index, weights=correct, minlength=bins) / count,
            confidence=np.bincount(bin_index, weights=confidence, minlength=bins) / count,
        )


def ece(probabilities: ArrayLike, target: ArrayLike, bins: int = 20) -> float:
    """Expected calibration error over equal-width bins (l, u]: sum_b n_b/N |acc_b - conf_b|."""
    return reliability(probabilities, target, bins).ece


def adaptive_ece(probabilities: ArrayLike, target: ArrayLike, bins: int = 20) -> float:
    """Expected calibration error over bins of equal count, made by `np.array_split` of the sorted samples.

    Samples of equal confidence are taken in the order they came in.
    """
    _check_bins(bins)
    confidence, correct = _confidence_and_correct(probabilities, target)
    gap = (correct - confidence)[np.argsort(confidence, kind="stable")]
    return float(sum(abs(part.sum()) for part in np.array_split(gap, bins)) / len(gap))


def auroc(scores: ArrayLike, is_ood: ArrayLike) -> float:
    """Chance that an ood sample scores above an in-distribution one, a tie counting one half.

    ```python
    from graylearn import metrics

    metrics.auroc([0.9, 0.8, 0.3, 0.1], [True, False, True, False])     # 0.75
    ```
    """
    tp, fp = _detection_counts(scores, is_ood)
    # Trapezoids in whole numbers: exact, and a step that moves both ways gives ties their half.
    doubled_area = np.sum(np.diff(fp) * (tp[1:] + tp[:-1]))
    return float(doubled_area / (2 * tp[-1] * fp[-1]))


def average_precision(scores: ArrayLike, is_ood: ArrayLike) -> float:
    """Mean precision over the ood samples as the threshold falls; samples of one score enter together."""
    tp, fp = _detection_counts(scores, is_ood)
    precision = tp[1:] / (tp[1:] + fp[1:])
    return float(np.diff(tp) @ precision / tp[-1])


def fpr_at_tpr(scores: ArrayLike, is_ood: ArrayLike, tpr: float = 0.95) -> float:
    """Share of in-distribution samples flagged at the largest threshold that flags a share `tpr` of the ood.

    A sample is flagged where its score is at or above the threshold.
    """
    if not 0 < tpr <= 1:
        raise DataError(f"tpr is {tpr}, expected a share in (0, 1]: give 0.95 for 95 %")
    tp, fp = _detection_counts(scores, is_ood)
    # Divide, never multiply: 19 / 20 is the double 0.95, but 0.95 * n may fall just past a whole number.
    first = int(np.argmax(tp / tp[-1] >= tpr))
    return float(fp[first] / fp[-1])


def detection_error(scores: ArrayLike, is_ood: ArrayLike) -> float:
    """Smallest mean of the two error rates over all thresholds t: min_t (P(in >= t) + P(ood < t)) / 2."""
    tp, fp = _detection_counts(scores, is_ood)
    return float(np.min(fp / fp[-1] + (1 - tp / tp[-1])) / 2)


def gap_recovered(method: float, standard: float, oracle: float, minimum: float = 1.0) -> float | None:
    """Share of what ood samples cost that a method wins back: (method - standard) / (oracle - standard).

    `oracle` was trained on the in-distribution samples alone. All are accuracies in points (percent), and
    so is `minimum`: a smaller gap between oracle and standard says nothing, and the answer is None.
    """
    if not np.isfinite([method, standard, oracle]).all():
        raise DataError(
            f"gap recovered needs finite accuracies, got method {method}, standard {standard}, "
            f"oracle {oracle}: leave out the runs that failed"
        )
    if not minimum > 0:
        raise DataError(f"minimum is {minimum}, expected a positive number of points: leave it at 1.0")
    gap = oracle - standard
    # Printed accuracies differ from their decimal difference in the last bits; 1.0 point is enough.
    return float((method - standard) / gap) if gap >= minimum * (1 - 1e-9) else None


def _numpy(values: ArrayLike, name: str) -> npt.NDArray[Any]:
    """Any array-like as a non-empty numpy array, tensors of any device and precision included."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        values = values.double().numpy() if values.is_floating_point() else values.numpy()
    array = np.asarray(values)
    if array.size == 0:
        raise DataError(f"{name} is empty, expected at least one sample: check what was selected")
    return array


def _floats_without_nan(values: npt.NDArray[Any], name: str) -> Floats:
    """The values as float64; NaN cannot be ordered."""
    floats = values.astype(np.float64)
    if bad := int(np.isnan(floats).sum()):
        raise DataError(f"{name} holds {bad} NaN of {floats.size} values, expected none: drop or mend those")
    return floats


def _same_length(first: npt.NDArray[Any], second: npt.NDArray[Any], name: str, other: str) -> None:
    if second.ndim != 1 or len(first) != len(second):
        raise DataError(
            f"{other} has shape {second.shape} but {name} has shape {first.shape}: "
            f"give one entry of {other} for each of the {len(first)} samples"
        )


def _check_bins(bins: int) -> None:
    if bins < 1:
        raise DataError(f"bins is {bins}, expected a whole number of at least 1: leave it at 20")


def _confidence_and_correct(probabilities: ArrayLike, target: ArrayLike) -> tuple[Floats, Floats]:
    """The largest probability of each sample and whether (1.0 or 0.0) its class is the label."""
    values = _numpy(probabilities, "probabilities")
    if values.ndim != 2:
        raise DataError(f"probabilities have shape {values.shape}, expected (N, K): one column a class")
    values = _floats_without_nan(values, "probabilities")
    row_error = np.abs(values.sum(axis=1) - 1).max()
    if values.min() < 0 or row_error > _ROW_SUM_TOLERANCE:
        raise DataError(
            f"probabilities run from {values.min():.4g} to {values.max():.4g} and their rows miss a sum of 1 "
            f"by up to {row_error:.4g}, expected softmax outputs: apply softmax to logits first"
        )
    labels = _numpy(target, "target")
    _same_length(values, labels, "probabilities", "target")
    if labels.dtype.kind not in "iubf":
        raise DataError(f"target is of {labels.dtype}, expected indices of classes: give column numbers")
    if labels.min() < 0 or labels.max() >= values.shape[1]:
        raise DataError(
            f"target has labels {labels.min()} to {labels.max()} but probabilities have {values.shape[1]} "
            f"classes (0..{values.shape[1] - 1}): give indices of classes"
        )
    return values.max(axis=1), (values.argmax(axis=1) == labels).astype(np.float64)


def _detection_counts(scores: ArrayLike, is_ood: ArrayLike) -> tuple[Ints, Ints]:
    """Ood and in-distribution samples flagged as the threshold falls past each distinct score.

    Both start at 0 (nothing flagged) and end at the totals (all flagged).
    """
    values = _numpy(scores, "scores")
    if values.ndim != 1:
        raise DataError(f"scores have shape {values.shape}, expected (N,): one score a sample")
    values = _floats_without_nan(values, "scores")
    truth = _numpy(is_ood, "is_ood")
    _same_length(values, truth, "scores", "is_ood")
    if not np.isin(truth, (0, 1)).all():
        raise DataError(
            "is_ood holds values other than 0 and 1, expected booleans: give True for ood samples"
        )
    positive = truth.astype(bool)
    if positive.all() or not positive.any():
        held = "ood" if positive.all() else "in-distribution"
        raise DataError(
            f"all {len(values)} samples are {held}, expected some of both kinds: "
            "detection has no meaning on one kind alone"
        )
    order = np.argsort(-values, kind="stable")
    values, positive = values[order], positive[order]
    last_of_score = np.append(np.flatnonzero(values[1:] != values[:-1]), len(values) - 1)
    tp = np.cumsum(positive, dtype=np.int64)[last_of_score]
    return np.append(0, tp), np.append(0, last_of_score + 1 - tp)
