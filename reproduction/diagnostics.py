"""What a history says of the samples that belong, of OOD samples and of wrong labels, epoch by epoch.

A history holds the probability q of the given label and the largest probability m of each sample. The
gradient of the two parts of the Gray loss is that of q and m with what is left of the probability spread
evenly over the other classes: exact where it is, and near it where no third class stands out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from graylearn.array_types import Bools, Floats, Ints
from graylearn.methods.gray import GrayHistory
from graylearn.training import History

_CONFIDENCE = {"gl": "max", "gl+refine": "max", "gl-label": "label", "gl-relative": "relative"}


def by_group(history: History, is_ood: Bools, is_flipped: Bools, method: str) -> dict[str, Any]:
    """By group of samples, lists over the kept epochs.

    `label` and `max` are the mean of q and m, `fitted` the share predicted as labelled. Of a method with a
    Gray loss, `confidence` is the mean of C, and `given` and `rejected` are what the group adds to the sum
    over all samples of the L1 norms of the gradient of both parts, C L_G and (1 - C) L_C: shares of 1.
    """
    groups = {"clean": ~is_ood & ~is_flipped, "ood": is_ood, "flipped": is_flipped}
    label, largest, predicted = history.label_confidence, history.max_confidence, history.predicted
    targets = history.targets.cpu().numpy()
    told: dict[str, Any] = {"epochs": (history.kept_epochs + 1).tolist()}
    for name, members in groups.items():
        if members.any():
            told[name] = {"samples": int(members.sum())}
    for epoch in range(len(label)):
        q, m = label[epoch].astype(np.float64), largest[epoch].astype(np.float64)
        values = {"label": q, "max": m, "fitted": (predicted[epoch] == targets).astype(np.float64)}
        parts: dict[str, Floats] = {}
        if method in _CONFIDENCE or method == "gl-history":
            past = label[:epoch].astype(np.float64)
            C = trust(past, targets) if method == "gl-history" else confidence(q, m, _CONFIDENCE[method])
            values["confidence"] = C
            given, rejected = gradients(q, m, predicted[epoch] == targets, history.num_classes)
            parts = {"given": C * given, "rejected": (1 - C) * rejected}
        total = sum(float(np.nansum(part)) for part in parts.values()) or 1.0
        for name, members in groups.items():
            if name in told:
                for value, of_all in values.items():
                    told[name].setdefault(value, []).append(float(np.nanmean(of_all[members])))
                for part, of_all in parts.items():
                    told[name].setdefault(part, []).append(float(np.nansum(of_all[members])) / total)
    return told


def confidence(q: Floats, m: Floats, kind: str) -> Floats:
    """C of each sample; the median of "relative" is that of the epoch, not of each batch."""
    if kind == "relative":
        return np.minimum(m / np.nanmedian(m), 1.0)
    return m if kind == "max" else q


def trust(past: Floats, targets: Ints) -> Floats:
    """C of gl-history for each sample, by the label's probability in the epochs before: (epochs, N)."""
    if not len(past):
        return np.ones(len(targets))
    mean = np.nan_to_num(np.nanmean(past, axis=0))
    usual: Floats = pd.Series(mean).groupby(targets).transform("median").to_numpy()
    C: Floats = np.minimum(mean / np.maximum(usual, np.finfo(np.float32).tiny), 1.0) ** GrayHistory().power
    return C


def gradients(q: Floats, m: Floats, is_top: Bools, num_classes: int) -> tuple[Floats, Floats]:
    """(N,), (N,): L1 norms of the gradients of L_G and L_C with respect to the logits.

    `is_top` says where the given label is the most probable class. See losses/reference.py for the gradient.
    """
    K = num_classes
    given = 2 * (1 - q)
    others = np.where(is_top, K - 1, max(K - 2, 1))
    left = np.where(is_top, 1 - q, np.maximum(1 - q - m, 0.0)) if K > 2 else np.where(is_top, 1 - q, 0.0)
    each = left / others
    odds = each / np.maximum(1 - each, 1e-12)
    total = odds * others if K > 2 else np.where(is_top, odds, 0.0)
    at_top = q * total + others * np.abs(odds - each * total)
    doubt = np.maximum(1 - m, 1e-4)  # half precision knows no smaller one
    beside = (
        q * (m / doubt + total)
        + np.abs(m - m * total)
        + (others if K > 2 else 0) * np.abs(each - each / doubt + odds - each * total)
    )
    return given, np.where(is_top, at_top, beside)
