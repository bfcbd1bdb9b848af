"""The Gray objective of LightGBM and XGBoost, in their own API and in scikit-learn's.

    xgboost.train({"objective": "multi:softprob", "num_class": K}, data, obj=train_objective)
    xgboost.XGBClassifier(objective=gray_objective)
    lightgbm.train({"objective": train_objective, "num_class": K}, data)     # predicts scores: softmax them
    graylearn.integrations.lightgbm.GrayLGBMClassifier()                     # which does that

With two classes the Gray loss is cross entropy, and so is the objective.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from graylearn.array_types import Floats
from graylearn.losses.trees import LEAST, gray_derivatives


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
