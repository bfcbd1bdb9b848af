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
        values = _rows(values, "predicted").argmax(axis=1)
    return float(np.mean(values == _labels(target, values)))


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
    p = _rows(_numpy(probabilities, "probabilities"), "probabilities")
    row_error = np.abs(p.sum(axis=1) - 1).max()
    if p.min() < 0 or row_error > _ROW_SUM_TOLERANCE:
        raise DataError(
            f"probabilities run from {p.min():.4g} to {p.max():.4g} and their rows miss a sum of 1 "
            f"by up to {row_error:.4g}, expected softmax outputs: apply softmax to logits first"
        )
    label = _labels(target, p)
    if label.dtype.kind not in "iubf" or label.min() < 0 or label.max() >= p.shape[1]:
        raise DataError(
            f"target holds {label.min()} to {label.max()}, expected indices of the {p.shape[1]} classes"
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


def _rows(values: npt.NDArray[Any], name: str) -> Floats:
    """(N, K) the values as float64; NaN cannot be ordered."""
    floats = values.astype(np.float64)
    if values.ndim != 2 or np.isnan(floats).any():
        raise DataError(
            f"{name} has shape {values.shape}, expected (N, K) without NaN: drop or mend those rows"
        )
    return floats


def _labels(values: Any, of: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(N,) labels, one for each of N samples."""
    found = _numpy(values, "target")
    if found.shape != of.shape[:1]:
        raise DataError(f"target has shape {found.shape}, expected ({len(of)},): one label per sample")
    return found


def _detection(scores: Any, is_ood: Any) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
    """(is_ood, scores) (N,), as scikit-learn takes them, which checks shapes and numbers itself."""
    truth = _numpy(is_ood, "is_ood")
    if set(np.unique(truth)) != {0, 1}:
        raise DataError("is_ood must hold samples of both kinds: True for ood samples, False for all others")
    return truth.astype(bool), _numpy(scores, "scores")
