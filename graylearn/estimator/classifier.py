"""`GrayClassifier`: Gray Learning and the audit of the training set behind scikit-learn's face."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted
from torch import nn

from graylearn.audit import Audit
from graylearn.audit import audit as audit_samples
from graylearn.data.batches.augment import Augment
from graylearn.data.batches.base import Preparation
from graylearn.data.inputs import ids_of
from graylearn.errors import DataError
from graylearn.estimator.audits import held_out_by_folds, history_audit, history_of
from graylearn.estimator.committee import (
    can_share_a_stack,
    can_stand_side_by_side,
    fold_probabilities,
    member_seeds,
    train_committee,
)
from graylearn.estimator.inputs import InputEncoder, read_inputs, read_labels
from graylearn.estimator.networks import (
    KeepBest,
    LastingOptimizer,
    NetworkLike,
    build_network,
    logits_of,
    outputs_of,
    training_settings,
)
from graylearn.estimator.parameters import check, method_for
from graylearn.estimator.refine import SoftTargets, know_more, pays, soft_targets
from graylearn.estimator.rejection import (
    NONE_OF_THESE,
    learn_reference,
    quantiles,
    score_at,
    unfamiliarity,
)
from graylearn.estimator.rollback import all_or_nothing
from graylearn.estimator.saving import load_classifier, save_classifier
from graylearn.estimator.trainset import TrainingSet, make_training_set
from graylearn.methods import Method
from graylearn.training import History, Result, Settings, seeding, train
from graylearn.training.devices import choose


class GrayClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier for training sets that hold wrong labels and samples of no class; it tells which ones.

    Parameters
    ----------
    method : how to learn from dirty labels: a name in METHODS or a Method. "auto" is gl for rows and
        gl-relative for images, whose networks learn slowly by gl where there are many classes.
    network : "auto" (a multilayer perceptron for rows, a small convolutional network for images), a name in
        NETS, a torch module that gives one logit a class, or a function (num_classes, in_shape) -> module.
        A module is copied, never changed, and training starts from the weights it has.
    network_options : options of a network by name, such as {"hidden": (256, 256)}.
    epochs, batch_size, learning_rate : None chooses by the size of the set.
    optimizer : "sgd", "adam", "adamw", OptimizerSettings or a function parameters -> torch optimizer; None is
        adamw for rows and sgd for images.
    precision : "auto", "fp32" or "bf16".
    device : None is the first CUDA device, or else the CPU.
    augment : random crops and flips of training images: True, or an Augment.
    class_weight : "balanced", a dict from class to weight, or None.
    audit : "held-out" judges the training set by small networks that did not see the samples, "history" by
        the confidences of the one run, None not at all; "auto" is held-out for rows, where it costs about as
        much as the fit, and history for images.
    refine : fit a second time, a committee of networks for rows, on what the audit believes of each sample;
        where it found nothing, or with two or three classes, on the labels as they are.
    members : networks of the committee, which answer as one. Networks of your own, images, and fits with a
        validation set or an optimizer of your own make do with one.
    patience : with a validation set, the epochs to wait for a better one.
    warm_start : `fit` goes on from the network of the last fit.
    verbose : show progress.
    random_state : int, RandomState or None.

    Attributes
    ----------
    classes_ : the classes in order.
    audit_ : the Audit of the training set, sample by sample in the order given; None without one.
    history_ : the confidences of the first fit, by sample and epoch.
    method_ : the method of the first fit, where `method` is "auto" the one chosen.
    network_ : the trained torch module. encoder_ : how samples become its inputs.
    n_iter_ : epochs trained. members_ : how many networks answer together as `network_`.
    refined_ : whether there was a second fit on what the audit believes.
    reference_ : what samples that belong look like, which `ood_score` and `reject_at` compare with.
    n_features_in_, feature_names_in_ : as in scikit-learn.
    """

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
    _lasting: LastingOptimizer | None

    def __init__(
        self,
        method: str | Method = "auto",
        network: NetworkLike = "auto",
        *,
        network_options: dict[str, Any] | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        optimizer: Any = None,
        precision: Literal["auto", "fp32", "bf16"] = "auto",
        device: str | torch.device | None = None,
        augment: Augment | bool | None = None,
        class_weight: Any = None,
        audit: Literal["auto", "history", "held-out"] | None = "auto",
        refine: bool = False,
        members: int = 5,
        patience: int = 10,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.network = network
        self.network_options = network_options
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.precision = precision
        self.device = device
        self.augment = augment
        self.class_weight = class_weight
        self.audit = audit
        self.refine = refine
        self.members = members
        self.patience = patience
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    # -- fitting --------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, validation: Any = None) -> Self:
        """Train on samples X with labels y of which some may be wrong, and audit them.

        X: array, sparse matrix or frame (N, columns), uint8 images (N, H, W, C), or Samples (then y may be
            left out).
        sample_weight: (N,) how much each counts; 0 leaves a sample out of training, not out of the audit.
        validation: (X, y) with clean labels; training then stops where it no longer gains there, and the
            network of the best epoch is kept.
        """
        check(self.get_params(deep=False))
        goes_on = bool(self.warm_start) and hasattr(self, "network_")
        given = read_inputs(self, X, reset=not goes_on)
        classes, places = read_labels(y, X)
        if goes_on and not np.array_equal(classes, self.classes_):
            raise DataError(
                f"warm_start=True needs the classes of the last fit, {self.classes_.tolist()}, but y has "
                f"{classes.tolist()}: set warm_start=False"
            )
        if len(classes) < 2:
            raise DataError(
                f"all samples are of one class, {str(classes[0])!r}: a classifier needs at least 2"
            )
        training_set, encoder = make_training_set(
            given,
            places,
            classes=classes,
            sample_weight=sample_weight,
            class_weight=self.class_weight,
            encoder=self.encoder_ if goes_on else None,
        )
        if len(np.unique(training_set.y)) < 2:
            raise DataError("all samples of positive weight are of one class: a classifier needs at least 2")
        self.classes_, self.encoder_ = classes, encoder
        self.members_ = self.members_ if goes_on else 1
        seed = self._seed()
        network = copy.deepcopy(self.network_) if goes_on else self._new_network(seed)
        checked = self._validation(validation)
        result, epochs = self._run(training_set, network, copy.deepcopy(self.method_), seed, checked)
        self._keep(result, epochs)
        ids = ids_of(X, len(places))
        self.history_ = history_of(result.history, training_set.rows, places, ids)
        self.audit_ = self._audited(training_set, ids, seed)
        self.refined_ = False
        if self.refine:
            self._fit_again(training_set, ids, seed, checked, goes_on=goes_on)
        self._learn_reference(training_set, checked)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train one epoch on these samples; the first call names all `classes` and fixes the encoding.

        There is no audit. `history_`, and what `ood_score` compares with, are those of the last call: give it
        samples of every class if you ask for scores.
        """
        check(self.get_params(deep=False))
        first = _check_partial_fit_first_call(self, classes)
        given = read_inputs(self, X, reset=first)
        labels, places = read_labels(y, X)
        strange = np.setdiff1d(labels, self.classes_)
        if len(strange):
            raise DataError(
                f"y has labels {strange.tolist()} that are not among the classes {self.classes_.tolist()}: "
                "name all classes in the first call of partial_fit"
            )
        training_set, encoder = make_training_set(
            given,
            np.searchsorted(self.classes_, labels)[places],
            classes=self.classes_,
            sample_weight=sample_weight,
            class_weight=self.class_weight,
            encoder=None if first else self.encoder_,
        )
        if first:
            self.encoder_, self.n_iter_, self.members_, self._lasting = encoder, 0, 1, None
            self.network_ = self._new_network(self._seed())
        result, _ = self._run(
            training_set,
            self.network_,
            copy.deepcopy(self.method_),
            # each call is an epoch of its own: with one seed all would go through samples in the same order
            seeding.derive(self._seed(), "partial", self.n_iter_),
            None,
            one_epoch=True,
        )
        self.preparation_ = dataclasses.replace(
            self.preparation_ if not first else result.preparation, dtype=torch.float32
        )
        self.n_iter_ += 1
        self.history_ = history_of(
            result.history, training_set.rows, training_set.given_y, ids_of(X, len(places))
        )
        self.audit_, self.refined_ = None, False
        self._learn_reference(training_set, None)
        return self

    @property
    def method_(self) -> str | Method:
        """The method of the first fit."""
        return method_for(self.method, self.encoder_.shape)

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _new_network(self, seed: int) -> nn.Module:
        return build_network(
            self.network, self.network_options, len(self.classes_), self.encoder_.shape, seed
        )

    def _validation(self, validation: Any) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Clean samples as the network reads them, and the places of their labels."""
        if validation is None:
            return None
        if not isinstance(validation, tuple) or len(validation) != 2:
            raise DataError("validation must be a pair (X, y) of samples with clean labels")
        given = read_inputs(self, validation[0], reset=False)
        labels, places = read_labels(validation[1], validation[0])
        if not np.isin(labels, self.classes_).all():
            strange = np.setdiff1d(labels, self.classes_).tolist()
            raise DataError(f"validation has labels {strange} that the training set does not have")
        return self.encoder_.transform(given), np.searchsorted(self.classes_, labels)[places]

    def _run(
        self,
        training_set: TrainingSet,
        network: nn.Module,
        method: str | Method,
        seed: int,
        validation: Any,
        *,
        weight: NDArray[np.float64] | None = None,
        one_epoch: bool = False,
    ) -> tuple[Result, int]:
        """One training run: its result, and how many epochs the network that it leaves was trained."""
        weight = training_set.weight if weight is None else weight
        settings = self._settings(training_set, seed, one_epoch=one_epoch)
        if one_epoch:
            lasting = getattr(self, "_lasting", None) or LastingOptimizer(settings.optimizer)
            self._lasting = lasting
            settings = dataclasses.replace(settings, optimizer=lasting)
        best = None if validation is None else KeepBest(self.patience)
        result = train(
            network,
            (training_set.x, training_set.y),
            method=method,
            settings=settings,
            sample_weight=weight if (weight != weight[0]).any() else None,
            validation=validation,
            callbacks=() if best is None else (best,),
        ).raise_if_interrupted()
        if best is None:
            return result, len(result.log)
        result.model.load_state_dict(best.weights)
        return result, best.epoch + 1

    def _settings(self, training_set: TrainingSet, seed: int, *, one_epoch: bool = False) -> Settings:
        return training_settings(
            len(training_set.y),
            self.encoder_.shape,
            epochs=1 if one_epoch else self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            optimizer=self.optimizer,
            augment=self.augment,
            cycle=not one_epoch,
            device=choose(self.device),
            precision=self.precision,
            seed=seed,
            log="auto" if self.verbose else "none",
        )

    def _keep(self, result: Result, epochs: int) -> None:
        """Take over the network of a run. Predictions are made in float32, whatever it was trained in."""
        self.network_, self.n_iter_ = result.model, epochs
        self.preparation_ = dataclasses.replace(result.preparation, augment=None, dtype=torch.float32)

    def _audited(self, training_set: TrainingSet, ids: NDArray[Any], seed: int) -> Audit | None:
        if self.audit is None:
            return None
        features = None
        if self.encoder_.kind == "rows":
            features = self.encoder_.transform(training_set.given)
        if self.audit == "history" or (self.audit == "auto" and features is None):
            return history_audit(self.history_, features, self.classes_, ids)
        labels = self.classes_[training_set.given_y]
        classes = self.classes_.tolist()
        if features is not None:
            return audit_samples(
                features, labels, ids=ids, classes=classes, seed=seed, device=choose(self.device)
            )

        def run(weight: NDArray[np.float64]) -> History:
            network = self._new_network(seed)
            method = copy.deepcopy(self.method_)
            weight = weight[training_set.rows] * training_set.weight
            result, _ = self._run(training_set, network, method, seed, None, weight=weight)
            return history_of(result.history, training_set.rows, training_set.given_y, ids)

        said = held_out_by_folds(run, training_set.given_y, seed)
        return dataclasses.replace(
            Audit.from_predictions(said, labels, None, ids, classes=classes), mode="held-out"
        )

    def _learn_reference(self, training_set: TrainingSet, validation: Any) -> None:
        """Remember what samples that belong look like: the unsuspected, and how new ones score."""
        x, label = training_set.x, training_set.y
        if self.audit_ is not None and self.audit_.keep[training_set.rows].any():
            kept = self.audit_.keep[training_set.rows]
            x, label = x[kept], label[kept]
        said = outputs_of(self.network_, x, self.preparation_)
        reference = learn_reference(*said, label)
        if validation is not None:
            said = outputs_of(self.network_, validation[0], self.preparation_)
        self.reference_ = reference | {"quantiles": quantiles(unfamiliarity(*said, reference))}

    def _fit_again(
        self, training_set: TrainingSet, ids: NDArray[Any], seed: int, validation: Any, *, goes_on: bool
    ) -> None:
        """The second fit: on what the audit believes where that pays, by a committee where it can be one."""
        assert self.audit_ is not None
        settings = self._settings(training_set, seed)
        together = validation is None and can_stand_side_by_side(self._new_network(seed), settings)
        believed = self.audit_ if pays(self.audit_) else None
        if together and believed is not None and self.encoder_.kind == "rows":
            believed = self._second_opinion(training_set, ids, settings, seed)
        rows, weight = training_set.rows, training_set.weight
        method = self.method_
        if believed is not None:
            targets, trust = soft_targets(believed)
            method, weight = SoftTargets(torch.from_numpy(targets[rows])), trust[rows] * weight
            self.refined_ = True
        elif goes_on or not together or self.members == 1 or not can_share_a_stack(self.method_):
            return  # the first fit is all there is to learn from the labels as they are
        if not together:
            result, epochs = self._run(
                training_set, self._new_network(seed), method, seed, validation, weight=weight
            )
            self._keep(result, epochs)
            self.members_ = 1
            return
        seeds = member_seeds(seed, self.members)
        self.network_, self.n_iter_ = train_committee(
            self._new_network, lambda: copy.deepcopy(method), training_set, weight, settings, seeds
        )
        self.members_ = self.members

    def _second_opinion(
        self, training_set: TrainingSet, ids: NDArray[Any], settings: Settings, seed: int
    ) -> Audit | None:
        """The audit once more, by networks of this classifier's kind; None where it is not worth a fit."""
        features = self.encoder_.transform(training_set.given)
        method = self.method_ if can_share_a_stack(self.method_) else "gl"
        said = fold_probabilities(
            self._new_network, lambda: copy.deepcopy(method), training_set, features, settings, seed
        )
        labels = self.classes_[training_set.given_y]
        found = Audit.from_predictions(said, labels, features, ids, classes=self.classes_.tolist())
        rows, y = training_set.rows, training_set.y
        worth = bool(found.posterior.any()) and know_more(found.probabilities[rows], said[rows], y)
        return found if worth or found.lies_apart else None

    # -- predicting -----------------------------------------------------------------------------

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

    def predict(self, X: Any, reject_at: float | None = None) -> NDArray[Any]:
        """The most probable class of each sample, or None for "none of these" where `reject_at` is given.

        reject_at: the share of samples that belong whose `ood_score` is to be tolerated, such as 0.99; what
            scores higher is answered None, in an array of objects. The share is met on the validation set,
            where one was given to `fit`; else it is that of the unsuspected training samples, and new ones
            are rejected more often than that.
        """
        if reject_at is None:
            logits = self._logits(X)
            return np.asarray(self.classes_[logits.argmax(axis=1)])
        x = self._encoded(X)
        limit = score_at(reject_at, self.reference_["quantiles"])
        logits, features = outputs_of(self.network_, x, self.preparation_)
        answer = self.classes_[logits.argmax(axis=1)].astype(object)
        answer[unfamiliarity(logits, features, self.reference_) > limit] = NONE_OF_THESE
        return np.asarray(answer)

    def ood_score(self, X: Any) -> NDArray[np.float64]:
        """(N,) how little each sample seems to belong to any class; larger = less likely to belong."""
        x = self._encoded(X)
        return unfamiliarity(*outputs_of(self.network_, x, self.preparation_), self.reference_)

    # -- keeping --------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to a folder of safetensors and JSON, with its audit and history."""
        check_is_fitted(self, "network_")
        save_classifier(self, path)

    @classmethod
    def load(cls, path: str | Path, **parameters: Any) -> Self:
        """Read what `save` wrote, onto the CPU; nothing in the folder is executed.

        `parameters` take the place of saved ones. Code of yours is not saved: a network that is no name in
        NETS must be given again, and a method or optimizer of your own to fit again.
        """
        return cast("Self", load_classifier(cls, path, parameters))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "network_" in state:  # so that what was fitted on a GPU can be read where there is none
            state["network_"] = copy.deepcopy(state["network_"]).cpu()
        state.pop("_lasting", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
