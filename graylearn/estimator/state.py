"""What a fitted classifier knows, apart from how it came to know it: what is saved, loaded and asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from torch import nn

from graylearn.audit import Audit
from graylearn.data.batches.base import Preparation
from graylearn.estimator.found import FoundLater
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
    n_iter_: int
    members_: int
    refined_: bool
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _later: FoundLater | None = None

    @cached_property
    def audit_(self) -> Audit | None:
        """The audit of the training set, made when it is first read."""
        return self._unasked("audit_").audit()

    @cached_property
    def reference_(self) -> dict[str, NDArray[np.float64]]:
        """What samples that belong look like, found out when it is first read; then the training set goes."""
        found = self._unasked("reference_").reference(self.audit_)
        self._later = None
        return found

    def _found_later(self, later: FoundLater) -> None:
        """Forget the answers about the last fit."""
        self._later = later
        for name in ("audit_", "reference_"):
            self.__dict__.pop(name, None)

    def _unasked(self, name: str) -> FoundLater:
        if self._later is None:
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        return self._later
