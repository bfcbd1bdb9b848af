"""The Gray objective of LightGBM and XGBoost, in their own API and in scikit-learn's.

    xgboost.train({"objective": "multi:softprob", "num_class": K}, data, obj=train_objective)
    xgboost.XGBClassifier(objective=gray_objective)
    lightgbm.train({"objective": train_objective, "num_class": K}, data)     # predicts scores: softmax them
    graylearn.integrations.lightgbm.GrayLGBMClassifier()                     # which does that

With two classes the Gray loss is cross entropy, and so is the objective. With more, trees are given gradient
and curvature of the loss in the scores. With Q = softmax(z), label y, confidence C = max Q held constant, and
r_k = Q_k / (1 - Q_k) for k != y:

    dL/dz_j = C (Q_j - [j = y]) + (1 - C) ([j != y] r_j - Q_j R),          R = sum of r_k

The complementary part is not convex, and trees divide by the curvature. It is a sum of softplus(u_k), where
u_k = log r_k is how far class k is ahead of all others together; leaving out the curvature of u_k itself
(Gauss-Newton) leaves a sum of squares. With the exact curvature of the cross entropy,

    h_j = C Q_j (1 - Q_j) + (1 - C) ([j != y] Q_j (1 - Q_j) + Q_j^2 (R - [j != y] r_j))

is positive, and at equal scores the step -g/h towards the label is K, that of cross entropy
(docs/how/loss.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from graylearn.array_types import Floats

LEAST = 1e-16
"""Of a curvature that rounds to zero."""


def gray_derivatives(
    scores: NDArray[Any], label: NDArray[np.integer], weight: NDArray[Any] | None = None
) -> tuple[Floats, Floats]:
    """(gradient, curvature), (N, K) each, of the Gray loss of scores (N, K) and labels (N,).

    weight: (N,) what each sample counts.
    """
    z = np.asarray(scores, dtype=np.float64)
    rows, y = np.arange(len(z)), np.asarray(label, dtype=np.int64)
    q = softmax(z, axis=1)
    top = q.argmax(axis=1)
    rest = q.copy()
    rest[rows, top] = 0.0
    doubt = 1.0 - q
    doubt[rows, top] = rest.sum(axis=1)  # never by subtracting from one what is near one
    odds = q / np.maximum(doubt, np.finfo(np.float64).tiny)
    odds[rows, y] = 0.0
    other = np.ones_like(q)
    other[rows, y] = 0.0
    certain, unsure = q[rows, top][:, None], doubt[rows, top][:, None]
    given = q * other - (1.0 - other) * doubt
    # the odds of a top class that is not the label grow without bound; unsure * odds is its probability
    weighed = np.where(np.arange(q.shape[1]) == top[:, None], q * other, unsure * odds)
    total = weighed.sum(axis=1, keepdims=True)
    gradient = certain * given + weighed - q * total
    spread = q * doubt
    curvature = certain * spread + unsure * other * spread + q * q * (total - weighed)
    curvature = np.maximum(curvature, LEAST)
    if weight is not None:
        each = np.asarray(weight, dtype=np.float64)[:, None]
        gradient, curvature = gradient * each, curvature * each
    return gradient, curvature


def gray_objective(y_true: Any, y_pred: Any, sample_weight: Any = None) -> tuple[Floats, Floats]:
    """Gradient and curvature, as `objective=` of XGBClassifier and LGBMClassifier; labels are 0..K-1."""
    label, scores = np.asarray(y_true), np.asarray(y_pred)
    weight = None if sample_weight is None or not len(sample_weight) else np.asarray(sample_weight)
    if scores.ndim == 2:
        return gray_derivatives(scores, label, weight)
    probability, each = expit(scores.astype(np.float64)), 1.0 if weight is None else weight
    return each * (probability - label), np.maximum(each * probability * (1.0 - probability), LEAST)


def train_objective(scores: Any, data: Any) -> tuple[Floats, Floats]:
    """The same as `obj=` of xgboost.train and as objective of lightgbm.train; data: their training set."""
    return gray_objective(data.get_label(), scores, data.get_weight())
