"""LightGBM's classifier by the Gray objective; in its own API see `graylearn.integrations.trees`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from graylearn.errors import SettingsError
from graylearn.integrations.trees import gray_objective
from graylearn.lazy import require


class GrayLGBMClassifier(require("lightgbm", "hooks").LGBMClassifier):  # type: ignore[misc]
    """LGBMClassifier that learns by the Gray objective; parameters are LightGBM's, but for `objective`.

    LightGBM gives raw scores where the objective is not its own: here they become probabilities.
    """

    def __init__(self, **parameters: Any) -> None:
        _refuse_objective(parameters)
        super().__init__(**parameters, objective=gray_objective)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """LightGBM's parameters, without the objective, which is fixed."""
        found: dict[str, Any] = super().get_params(deep)
        return {name: value for name, value in found.items() if name != "objective"}

    def set_params(self, **parameters: Any) -> Self:
        """Change LightGBM's parameters, all but the objective."""
        _refuse_objective(parameters)
        super().set_params(**parameters)
        return self

    def predict_proba(self, X: Any, raw_score: bool = False, **options: Any) -> NDArray[np.float64]:
        """(N, K) the probability of each class, in the order of `classes_`; options are LightGBM's."""
        found = np.asarray(super().predict_proba(X, raw_score=True, **options))
        if raw_score or _asks_for_other(options):
            return found
        if found.ndim == 1:
            return np.stack([expit(-found), expit(found)], axis=1)
        return np.asarray(softmax(found, axis=1))

    def predict(self, X: Any, raw_score: bool = False, **options: Any) -> NDArray[Any]:
        """The most probable class of each sample; options are LightGBM's."""
        found = self.predict_proba(X, raw_score, **options)
        if raw_score or _asks_for_other(options):
            return found
        return np.asarray(self.classes_[found.argmax(axis=1)])


def _refuse_objective(parameters: dict[str, Any]) -> None:
    if "objective" in parameters:
        raise SettingsError("the objective is the Gray one: leave it out, or take LightGBM's LGBMClassifier")


def _asks_for_other(options: dict[str, Any]) -> bool:
    """Whether leaves or contributions are asked for in the place of scores."""
    return bool(options.get("pred_leaf") or options.get("pred_contrib"))
