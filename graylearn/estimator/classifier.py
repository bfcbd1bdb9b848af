"""`GrayClassifier`: Gray Learning and the audit of the training set behind scikit-learn's face.

What it fits with is imported at the fit: the class itself need not wait for torch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from graylearn.estimator.rejection import NONE_OF_THESE, OURS, limit_at, score_of, unfamiliarity
from graylearn.options import IdLike, OverlapSetting, Precision

if TYPE_CHECKING:
    import torch
    from torch import nn

    from graylearn.audit import Audit
    from graylearn.data.batches import Augment, Preparation
    from graylearn.estimator.calibration import FoundLater
    from graylearn.estimator.inputs import InputEncoder
    from graylearn.estimator.networks import NetworkLike
    from graylearn.estimator.pipeline import Stages
    from graylearn.methods import Method
    from graylearn.training import History

Model = TypeVar("Model")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


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


class _Fitted(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What a fit leaves; GrayClassifier says what it is."""

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


@dataclass(eq=False, repr=False)
class GrayClassifier(_Fitted):
    """A classifier for training sets that hold wrong labels and samples of no class; it tells which ones.

    Args:
        method: how to learn from dirty labels: a name in METHODS or a Method. "auto" is gl for rows and
            gl-relative for images, whose networks learn slowly by gl where there are many classes.
        network: "auto" (a multilayer perceptron for rows, a small convolutional network for images), a name
            in NETS, a torch module that gives one logit a class, a function (num_classes, in_shape) ->
            module, or "trees" (scikit-learn's boosted trees) or a classifier of scikit-learn's kind, for
            rows. What is given is copied, never changed; training starts from the weights that a module has.
        network_options: options of a network by name, such as {"hidden": (256, 256)}.
        epochs: None chooses by the size of the set.
        batch_size: the same.
        learning_rate: the same.
        clip_norm: the largest norm of a gradient; a larger one is scaled down to it. None is any.
        accumulate: batches that make one step together, as one batch of all their samples would.
        average: answer by a running mean of the weights, which keeps this share of itself each step, such as
            0.999. None is the weights of the last step.
        optimizer: "sgd", "adam", "adamw", OptimizerSettings or a function parameters -> torch optimizer; None
            is adamw for rows and sgd for images.
        precision: "auto", "fp32", "bf16" or, on CUDA, "fp16".
        device: None is the first CUDA device, or else the CPU.
        augment: random crops and flips of training images: True, or an Augment.
        class_weight: "balanced", a dict from class to weight, one weight per class, or None.
        audit: "held-out" judges the training set by views that do not see a sample's label, "history" by
            the confidences of the one run, None not at all; "auto" is held-out for rows and with groups, and
            history for other images.
        overlap: "none" where each sample has one true class that a person could tell, "possible" where
            classes may overlap; "auto" says nothing of them.
        id_like: "drop" leaves columns of a table that seem to name the rows out of what is learned from, with
            a warning; "keep" learns from them.
        keep_labels: whether the audit takes labels that seem misspelt for classes of their own; see `audit`.
        refine: fit a second time, a committee of networks for rows, on what the audit believes of each
            sample; where it found nothing, on the labels as they are.
        members: networks of the committee, which answer as one. Networks of your own, images, and fits with a
            validation set or an optimizer of your own make do with one.
        patience: with a validation set, the epochs to wait for a better one.
        warm_start: `fit` goes on from the network of the last fit.
        verbose: show progress.
        random_state: int, RandomState or None.

    Attributes:
        classes_: the classes in order.
        audit_: the Audit of the training set, in the order given; None without one. Made when it is read.
        history_: the confidences of the first fit, by sample and epoch.
        method_: the method of the first fit, where `method` is "auto" the one chosen.
        network_: the trained torch module.
        encoder_: how samples become its inputs.
        n_iter_: epochs trained.
        members_: how many networks answer together as `network_`.
        refined_: whether there was a second fit on what the audit believes.
        reference_: what samples that belong look like, for `ood_score` and `reject_at`; made when read.
        n_features_in_: as in scikit-learn.
        feature_names_in_: as in scikit-learn.

    ```python
    import graylearn as gl
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    classifier = gl.GrayClassifier(epochs=20, random_state=0).fit(X, y)
    classifier.audit_.table                                 # what the fit found out about each sample
    classifier.predict(X[:3]), classifier.ood_score(X[:3])
    ```
    """

    method: str | Method = "auto"
    network: NetworkLike = "auto"
    _: KW_ONLY
    network_options: dict[str, Any] | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    accumulate: int = 1
    average: float | None = None
    optimizer: Any = None
    precision: Precision = "auto"
    device: str | torch.device | None = None
    augment: Augment | bool | None = None
    class_weight: Any = None
    audit: Literal["auto", "history", "held-out"] | None = "auto"
    overlap: OverlapSetting = "auto"
    id_like: IdLike = "drop"
    keep_labels: bool = False
    refine: bool = False
    members: int = 5
    patience: int = 10
    warm_start: bool = False
    verbose: bool = False
    random_state: Any = None

    # -- fitting --------------------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        validation: Any = None,
        stages: Stages | None = None,
        groups: Any = None,
    ) -> Self:
        """Train on samples X with labels y of which some may be wrong, and audit them.

        Args:
            X: array, sparse matrix or frame (N, columns), uint8 images (N, H, W, C), or Samples.
            y: labels; may be left out where X is Samples.
            sample_weight: (N,) how much each counts; 0 leaves a sample out of training, not out of the audit.
            validation: (X, y) with clean labels; training then stops where it no longer gains there, and the
                network of the best epoch is kept.
            stages: what is done around each stage, such as keeping what it made; by default nothing.
            groups: one name per sample of what it belongs to, such as its video or patient; see `audit`. None
                takes those of Samples, if any.
        """
        from graylearn.estimator.fitting import fit, planned

        fit(self, planned(self, X, y, sample_weight, validation, stages, groups))
        return self

    @all_or_nothing
    def audit_only(self, X: Any, y: Any = None, stages: Stages | None = None, groups: Any = None) -> Audit:
        """The audit that `fit` would leave in `audit_`, without a fit that it does not need.

        Only an audit by "history" trains the network of the first fit. The classifier is not fitted.
        """
        from graylearn.estimator.fitting import planned

        return planned(self, X, y, stages=stages, groups=groups).audit_only()

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train one epoch on these samples; the first call names all `classes` and fixes the encoding.

        Each call is a run of its own, whose optimizer begins anew. A column that holds one value in the first
        is kept, at a guess of its spread: begin with rows that differ.
        There is no audit. `history_`, and what `ood_score` compares with, are those of the last call: give it
        samples of every class if you ask for scores.
        """
        from graylearn.estimator.fitting import fit_epoch

        fit_epoch(self, X, y, classes, sample_weight)
        return self

    @property
    def method_(self) -> str | Method:
        """The method of the first fit."""
        from graylearn.estimator.networks import method_for

        return method_for(self.method, self.encoder_.shape)

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

    # -- keeping --------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to a folder of safetensors and JSON, with its audit and history."""
        from graylearn.estimator.saving import save_classifier

        check_is_fitted(self, "network_")
        save_classifier(self, path)

    @classmethod
    def load(cls, path: str | Path, **parameters: Any) -> Self:
        """Read what `save` wrote, onto the CPU; nothing in the folder is executed.

        `parameters` are taken instead of saved ones. Code of yours is not saved: a network that is no name in
        NETS must be given again, and a method or optimizer of your own to fit again.
        """
        from graylearn.estimator.saving import load_classifier

        loaded: Self = load_classifier(cls, path, parameters)
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        device = None if self._later is None else self._later.pipeline.settings.device
        if device is not None and not str(device).startswith("cpu"):
            _ = self.reference_  # which cannot be found out where there is no such device
        state: dict[str, Any] = dict(super().__getstate__())
        if "network_" in state:  # so that what was fitted on a GPU can be read where there is none
            state["network_"] = copy.deepcopy(state["network_"]).cpu()
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
