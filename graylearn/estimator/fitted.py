"""A fitted classifier, apart from how it was fitted: what is saved, and what it says of new samples.

Nothing here imports torch before a network is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from graylearn.estimator.rejection import NONE_OF_THESE, OURS, limit_at, score_of, unfamiliarity

if TYPE_CHECKING:
    from torch import nn

    from graylearn.audit import Audit
    from graylearn.data.batches import Preparation
    from graylearn.estimator.calibration import FoundLater
    from graylearn.estimator.inputs import InputEncoder
    from graylearn.estimator.networks import NetworkLike
    from graylearn.training import History

Model = TypeVar("Model")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class FittedClassifier(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What a GrayClassifier is once it is fitted; it says what the attributes are."""

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

    # -- asked about new samples ------------------------------------------------------------------

    def _encoded(self, X: Any) -> NDArray[Any]:
        from graylearn.estimator.inputs import read_inputs

        check_is_fitted(self, "network_")
        return self.encoder_.transform(read_inputs(self, X, reset=False))

    def _logits(self, X: Any) -> NDArray[np.float64]:
        from graylearn.estimator.networks import logits_of

        x = self._encoded(X)  # which tells of a classifier that is not fitted
        return logits_of(self.network_, x, self.preparation_)

    def _outputs(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Logits (N, K), and penultimate features (N, D) where the network has some."""
        from graylearn.estimator.networks import outputs_of

        x = self._encoded(X)
        return outputs_of(self.network_, x, self.preparation_)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The network's logits (N, K); with two classes how far the second is ahead, (N,)."""
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """(N, K) the probability of each class, in the order of `classes_`."""
        return softmax(self._logits(X), axis=1)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """(N, K) the logs of the probabilities, finite also where these are 0 for a computer."""
        return log_softmax(self._logits(X), axis=1)

    def predict(self, X: Any, reject_at: float | None = None) -> NDArray[Any]:
        """The most probable class of each sample, or None for "none of these" where `reject_at` is given.

        reject_at: the share of new samples that belong and are to be answered, such as 0.99; what scores
            higher than they do is answered None, in an array of objects. How new samples score is known from
            the validation set, where `fit` was given one, or from an audit by "held-out". Without both the
            limit is that of the training samples, and new ones are rejected more often.
        """
        if reject_at is None:
            logits = self._logits(X)
            return np.asarray(self.classes_[logits.argmax(axis=1)])
        logits, features = self._outputs(X)
        limit = limit_at(reject_at, self.reference_["quantiles"], "reject_at")
        answer = self.classes_[logits.argmax(axis=1)].astype(object)
        answer[unfamiliarity(logits, features, self.reference_) > limit] = NONE_OF_THESE
        return np.asarray(answer)

    def predict_sets(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """(N, K) the classes that cannot be excluded: the true one is among them with this probability.

        The probability is over new samples that belong, all together and not each class apart. The most
        probable class is always in; a set of several says that they cannot be told apart at this level. What
        is known of new samples is known as for `predict`.
        """
        check_is_fitted(self, "network_")
        limit = limit_at(coverage, self.reference_["label_quantiles"], "coverage")
        said = self.predict_proba(X)
        return np.asarray((1.0 - said <= limit) | (said == said.max(axis=1, keepdims=True)))

    def ood_score(self, X: Any, score: str = OURS) -> NDArray[np.float64]:
        """(N,) how little each sample seems to belong to any class; larger = less likely to belong.

        score: a name in `graylearn.estimator.rejection.SCORES`, to compare with others: "msp", "max-logit",
            "energy", "entropy", "mutual-information". `reject_at` goes by the first alone.
        """
        asked = score_of(score)
        return asked(*self._outputs(X), self.reference_)

    # -- in a notebook --------------------------------------------------------------------------

    def _found_html(self) -> str:
        """What the fit found, as it shows itself; nothing before the fit, and no audit that nobody read."""
        found = [vars(self).get(name) for name in ("audit_", "history_")]
        return "".join(each._repr_html_() for each in found if each is not None)

    def _repr_html_inner(self) -> str:
        """scikit-learn's diagram, and under it what the fit found."""
        return str(super()._repr_html_inner()) + self._found_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """The same, for those who ask for all forms at once."""
        forms: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in forms:
            forms["text/html"] += self._found_html()
        return forms


def all_or_nothing(
    method: Callable[Concatenate[Model, Given], Answer],
) -> Callable[Concatenate[Model, Given], Answer]:
    """Undo what a method has set on its object where an error or Ctrl-C ends it.

    Else a second fit that is cut short would leave the classes of one fit beside the network of another.
    What the method changes inside those values, such as weights trained in place, stays changed.
    """

    @wraps(method)
    def whole(self: Model, /, *given: Given.args, **options: Given.kwargs) -> Answer:
        values: dict[str, Any] = vars(self)
        before = dict(values)
        try:
            return method(self, *given, **options)
        except BaseException:
            values.clear()
            values.update(before)
            raise

    return whole
