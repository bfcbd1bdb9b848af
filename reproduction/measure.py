"""What is measured of a finished run, as the store keeps it: plain numbers of six digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from graylearn.audit import Audit
from graylearn.data import Contaminated
from graylearn.metrics import accuracy, auroc, average_precision, reliability
from graylearn.training import History

BINS = 20
"""Of calibration."""


def tested(logits: NDArray[Any], target: NDArray[np.int64], *, with_bins: bool) -> dict[str, Any]:
    """Accuracy and calibration on the test set; with the bins of a reliability diagram where asked."""
    probabilities = softmax(np.asarray(logits, dtype=np.float64), axis=1)
    diagram = reliability(probabilities, target, bins=BINS)
    measured: dict[str, Any] = {"accuracy": accuracy(probabilities, target), "ece": diagram.ece}
    if with_bins:
        names = ("edges", "confidence", "accuracy", "count")
        measured["reliability"] = {name: getattr(diagram, name).tolist() for name in names}
    return measured


def majority(train: NDArray[np.int64], test: NDArray[np.int64], num_classes: int) -> dict[str, Any]:
    """What the largest class of the training set scores as the answer for every sample."""
    shares = np.bincount(train, minlength=num_classes) / len(train)
    logits = np.log(np.maximum(shares, 1e-30))[None].repeat(len(test), axis=0)
    return tested(logits, test, with_bins=False) | {"seconds": 0.0}


def trained(
    train: Contaminated,
    history: History | None,
    *,
    clean: bool,
    shared: NDArray[np.bool_] | None = None,
) -> dict[str, Any]:
    """The training set, and how well the confidences tell its OOD samples from the others.

    Where some OOD samples are `shared`, of a class that the in-distribution samples have too, once more
    without them, as ood_apart.
    """
    ood = 0 if clean else int(train.is_ood.sum())
    samples = int((~train.is_ood).sum()) + ood
    measured: dict[str, Any] = {"samples": samples, "ood_samples": ood, "alpha": ood / samples}
    score = None if history is None else 1 - history.mean_label_confidence()
    if score is not None and 0 < ood < samples:
        measured |= _detected("ood", score, train.is_ood)
        if shared is not None and train.is_ood[~shared].any():
            measured |= _detected("ood_apart", score[~shared], train.is_ood[~shared])
    if not clean and train.is_flipped.any():
        measured["flipped_samples"] = int(train.is_flipped.sum())
        if score is not None:
            measured |= _detected("flipped", score, train.is_flipped)
    return measured


def _detected(what: str, score: NDArray[Any], wrong: NDArray[np.bool_]) -> dict[str, float]:
    return {f"{what}_auroc": auroc(score, wrong), f"{what}_ap": average_precision(score, wrong)}


def audited(audit: Audit, train: Contaminated) -> dict[str, Any]:
    """How well the audit's flags meet what is wrong; None where there is nothing to divide by."""
    suspected, wrong = audit.suspected, train.is_ood | train.is_flipped
    return {
        "audit_flagged": float(suspected.mean()),
        "audit_precision": float(wrong[suspected].mean()) if suspected.any() else None,
        "audit_recall": float(suspected[wrong].mean()) if wrong.any() else None,
        "audit_auroc": auroc(audit.score, wrong) if wrong.any() and not wrong.all() else None,
        "refined": bool(audit.suspected.any()),
    }


def rounded(value: Any) -> Any:
    """Floats with six digits after the point; what is not finite is None, which JSON can hold."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value
