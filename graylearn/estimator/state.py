"""What a fitted classifier knows, apart from how it came to know it: what is saved, loaded and asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from torch import nn

from graylearn.audit import Audit
from graylearn.data.batches.base import Preparation
from graylearn.estimator.inputs import InputEncoder
from graylearn.estimator.networks import NetworkLike
from graylearn.training import History


class ClassifierState(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The attributes of a fitted GrayClassifier, which says what they are."""

    network: NetworkLike
    network_options: Mapping[str, Any] | None
    refine: bool
    classes_: NDArray[Any]
    encoder_: InputEncoder
    network_: nn.Module
    preparation_: Preparation
    history_: History
    audit_: Audit | None
    n_iter_: int
    members_: int
    refined_: bool
    reference_: dict[str, NDArray[np.float64]]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
