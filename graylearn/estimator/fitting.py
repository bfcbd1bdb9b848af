"""How a GrayClassifier is fitted: what is given is checked and encoded, and goes through a pipeline."""

from __future__ import annotations

import copy
import dataclasses
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import _check_partial_fit_first_call
from torch import nn

from graylearn.audit.audit import SAW_ALL
from graylearn.audit.inputs import groups_of
from graylearn.data.inputs import ids_of
from graylearn.errors import DataError, Hint, SettingsError
from graylearn.estimator.calibration import FoundLater, kept_aside, reference_for
from graylearn.estimator.inputs import read_inputs, read_labels, read_validation
from graylearn.estimator.models import ModelPipeline, is_model
from graylearn.estimator.networks import LastingOptimizer, build_network, training_settings
from graylearn.estimator.parameters import check, check_partial
from graylearn.estimator.pipeline import Pipeline, Stages
from graylearn.estimator.trainset import make_training_set
from graylearn.training import Settings, seeding
from graylearn.training.devices import choose


def fit(classifier: Any, pipeline: Pipeline) -> None:
    """Run the pipeline that was planned for the classifier, which goes on from its network if it is to."""
    begun = (copy.deepcopy(classifier.network_), classifier.members_) if _goes_on(classifier) else ()
    fitted = pipeline.run(*begun)
    classifier.network_, classifier.n_iter_, classifier.members_ = (
        fitted.network,
        fitted.epochs,
        fitted.members,
    )
    # predictions are made in float32, whatever the network was trained in
    classifier.preparation_ = dataclasses.replace(fitted.preparation, augment=None, dtype=torch.float32)
    classifier.history_, classifier.refined_ = fitted.history, fitted.refined
    classifier._found_later(FoundLater(pipeline, fitted, classifier.preparation_))


def planned(
    classifier: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    validation: Any = None,
    stages: Stages | None = None,
    groups: Any = None,
) -> Pipeline:
    """Check and encode what is given, and plan the way from there."""
    check(classifier.get_params(deep=False))
    goes_on = _goes_on(classifier)
    given = read_inputs(classifier, X, reset=not goes_on)
    classes, labels = read_labels(y, X)
    if goes_on and not np.array_equal(classes, classifier.classes_):
        raise DataError(
            f"warm_start=True needs the classes of the last fit, {classifier.classes_.tolist()}, but y has "
            f"{classes.tolist()}: set warm_start=False"
        )
    if len(classes) < 2:
        raise DataError(f"all samples are of one class, {str(classes[0])!r}: a classifier needs at least 2")
    stages = stages or Stages()
    network = classifier.network
    encoded = partial(
        make_training_set,
        given,
        labels,
        classes=classes,
        sample_weight=sample_weight,
        class_weight=classifier.class_weight,
        encoder=classifier.encoder_ if goes_on else None,
        ids=ids_of(X, len(labels)),
        # a module, or skorch's around one, was made for a number of columns, whichever vary in this fold
        constant="keep" if isinstance(network, nn.Module) or is_model(network) else "drop",
        id_like=classifier.id_like,
        groups=groups_of(groups, X, len(labels)),
    )
    samples, encoder = stages.keep("features", encoded)
    if len(np.unique(samples.y)) < 2:
        raise DataError("all samples of positive weight are of one class: a classifier needs at least 2")
    classifier.classes_, classifier.encoder_ = classes, encoder
    audit = classifier.audit
    if audit == "auto":
        audit = "held-out" if encoder.kind == "rows" or samples.groups is not None else "history"
    if audit == "history" and samples.groups is not None:
        raise SettingsError(SAW_ALL, Hint("audit", "held-out"))
    seed = seed_of(classifier)
    if audit == "held-out" and validation is None and not goes_on:
        samples = samples.without(kept_aside(samples, seed))
    model = HistGradientBoostingClassifier() if isinstance(network, str) else network
    way = partial(ModelPipeline, model=model) if is_model(network) else Pipeline
    return way(
        samples,
        (lambda _: nn.Identity()) if is_model(network) else partial(new_network, classifier),
        classifier.method_,
        settings_for(classifier, len(samples.y), seed),
        audit=audit,
        overlap=classifier.overlap,
        keep_labels=bool(classifier.keep_labels),
        refine=bool(classifier.refine),
        members=int(classifier.members),
        validation=read_validation(classifier, validation),
        patience=classifier.patience,
        stages=stages,
    )


def fit_epoch(classifier: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """Train one epoch, the first on a network that is made for it; see `GrayClassifier.partial_fit`."""
    check_partial(classifier.get_params(deep=False))
    first = _check_partial_fit_first_call(classifier, classes)
    given = read_inputs(classifier, X, reset=first)
    named, labels = read_labels(y, X)
    strange = np.setdiff1d(named, classifier.classes_)
    if len(strange):
        raise DataError(
            f"y has labels {strange.tolist()} that are not among the classes {classifier.classes_.tolist()}: "
            "name all classes in the first call of partial_fit"
        )
    samples, encoder = make_training_set(
        given,
        np.searchsorted(classifier.classes_, named)[labels],
        classes=classifier.classes_,
        sample_weight=sample_weight,
        class_weight=classifier.class_weight,
        encoder=None if first else classifier.encoder_,
        ids=ids_of(X, len(labels)),
        id_like=classifier.id_like,
        constant="keep",
    )
    if first:
        classifier.encoder_, classifier.n_iter_, classifier.members_ = encoder, 0, 1
        classifier.network_, classifier._lasting = new_network(classifier, seed_of(classifier)), None
    # each call is an epoch of its own: with one seed all would go through samples in the same order
    seed = seeding.derive(seed_of(classifier), "partial", classifier.n_iter_)
    settings = settings_for(classifier, len(samples.y), seed, one_epoch=True)
    classifier._lasting = getattr(classifier, "_lasting", None) or LastingOptimizer(settings.optimizer)
    scale = None if first else classifier.preparation_.scale  # that of the images it knows
    settings = dataclasses.replace(settings, optimizer=classifier._lasting, scale=scale)
    pipeline = Pipeline(samples, partial(new_network, classifier), classifier.method_, settings, audit=None)
    fitted = pipeline.run(classifier.network_)
    classifier.preparation_ = dataclasses.replace(fitted.preparation, augment=None, dtype=torch.float32)
    classifier.n_iter_ += 1
    classifier.history_, classifier.audit_, classifier.refined_ = fitted.history, None, False
    classifier._later = None
    classifier.reference_ = reference_for(classifier.network_, classifier.preparation_, samples, None, None)


def _goes_on(classifier: Any) -> bool:
    """Whether a fit begins with the network that is there."""
    return bool(classifier.warm_start) and hasattr(classifier, "network_")


def seed_of(classifier: Any) -> int:
    """The seed of a fit, drawn from `random_state` where that is no number."""
    given = classifier.random_state
    if isinstance(given, int | np.integer):
        return int(given)
    try:
        return int(check_random_state(given).randint(2**31 - 1))
    except ValueError as error:
        expected = "a whole number, a RandomState or None"
        raise SettingsError.wrong("random_state", given, expected) from error


def new_network(classifier: Any, seed: int) -> nn.Module:
    """A network for what the classifier reads and its classes, with weights drawn for the seed."""
    return build_network(
        classifier.network,
        classifier.network_options,
        len(classifier.classes_),
        classifier.encoder_.shape,
        seed,
    )


def settings_for(classifier: Any, num_samples: int, seed: int, *, one_epoch: bool = False) -> Settings:
    """How its networks are trained on so many samples."""
    names = ("batch_size", "learning_rate", "clip_norm", "accumulate", "average", "optimizer", "augment")
    return training_settings(
        num_samples,
        classifier.encoder_.shape,
        epochs=1 if one_epoch else classifier.epochs,
        cycle=not one_epoch,
        device=choose(classifier.device),
        precision=classifier.precision,
        seed=seed,
        log="auto" if classifier.verbose else "none",
        **{name: getattr(classifier, name) for name in names},
    )
