"""What a fitted classifier says of new samples: classes, probabilities, sets of classes, "none of these"."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from graylearn.estimator.inputs import read_inputs
from graylearn.estimator.networks import logits_of, outputs_of
from graylearn.estimator.rejection import NONE_OF_THESE, limit_at, unfamiliarity
from graylearn.estimator.scores import OURS, score_of
from graylearn.estimator.state import ClassifierState


class Answers(ClassifierState):
    """The part of GrayClassifier that is asked."""

    def _encoded(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self, "network_")
        return self.encoder_.transform(read_inputs(self, X, reset=False))

    def _logits(self, X: Any) -> NDArray[np.float64]:
        x = self._encoded(X)
        return logits_of(self.network_, x, self.preparation_)

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
        x = self._encoded(X)
        limit = limit_at(reject_at, self.reference_["quantiles"], "reject_at")
        logits, features = outputs_of(self.network_, x, self.preparation_)
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

        score: a name in `graylearn.estimator.scores.SCORES`, to compare with others: "msp", "max-logit",
            "energy", "entropy", "mutual-information". `reject_at` goes by the first alone.
        """
        asked, x = score_of(score), self._encoded(X)
        return asked(*outputs_of(self.network_, x, self.preparation_), self.reference_)

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
