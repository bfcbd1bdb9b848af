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

from graylearn import options
from graylearn.audit.audit import SAW_ALL
from graylearn.data.inputs import ids_of
from graylearn.data.splits import groups_of
from graylearn.errors import DataError, Hint, SettingsError
from graylearn.estimator.calibration import FoundLater, kept_aside
from graylearn.estimator.inputs import InputEncoder, read_inputs, read_labels, read_validation
from graylearn.estimator.models import ModelPipeline, check_parameters, is_model
from graylearn.estimator.networks import HOW_TO_TRAIN, build_network, method_for, training_settings
from graylearn.estimator.pipeline import PartsPipeline, Pipeline, PipelineResult, Stages
from graylearn.estimator.trainset import TrainingSet, make_training_set
from graylearn.methods import as_method
from graylearn.training import Settings, seeding
from graylearn.training.devices import choose

HISTORY_BYTES = 1 << 26
"""Memory for the confidences of single epochs of a set that is never in memory as a whole."""


def check(classifier: Any) -> None:
    """Refuse parameters that cannot be, before anything is computed with them."""
    parameters = classifier.get_params(deep=False)
    options.check(parameters, needed=("members",))
    as_method(method_for(parameters["method"], ()))
    if is_model(parameters["network"]):
        check_parameters(parameters, type(classifier)().get_params(deep=False))
    audit, refine = parameters["audit"], parameters["refine"]
    if audit not in ("auto", "history", "held-out", None):
        raise SettingsError(f"audit is {audit!r}: use 'auto', 'history', 'held-out' or None")
    if not isinstance(refine, bool | np.bool_):
        raise SettingsError(f"refine is {refine!r}: expected True or False")
    if refine and audit is None:
        raise SettingsError("refine=True reads the audit, but audit is None: use 'auto'")


def fit(classifier: Any, pipeline: Pipeline) -> None:
    """Run the pipeline that was planned for the classifier, which goes on from its network if it is to."""
    begun = (copy.deepcopy(classifier.network_), classifier.members_) if _goes_on(classifier) else ()
    _keep(classifier, pipeline, pipeline.run(*begun))


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
    check(classifier)
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
    clean = read_validation(classifier, validation)
    return _pipeline(classifier, samples, seed, stages, audit=audit, validation=clean)


def _pipeline(classifier: Any, samples: TrainingSet, seed: int, stages: Stages, **others: Any) -> Pipeline:
    """The way of a training set, as the classifier's parameters have it."""
    network = classifier.network
    model = HistGradientBoostingClassifier() if isinstance(network, str) else network
    way: Any = partial(ModelPipeline, model=model) if is_model(network) else Pipeline
    kept: dict[str, Any] = {}
    if samples.audits is not None:
        way, kept = partial(PartsPipeline, side_by_side=False), {"history_bytes": HISTORY_BYTES}
    made: Pipeline = way(
        samples,
        (lambda _: nn.Identity()) if is_model(network) else partial(new_network, classifier),
        classifier.method_,
        settings_for(classifier, len(samples.y), seed, **kept),
        overlap=classifier.overlap,
        keep_labels=bool(classifier.keep_labels),
        refine=bool(classifier.refine),
        members=int(classifier.members),
        patience=classifier.patience,
        stages=stages,
        **others,
    )
    return made


def fit_epoch(classifier: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """Train one epoch, the first on a network that is made for it; see `GrayClassifier.partial_fit`."""
    check(classifier)
    if is_model(classifier.network):
        told = "which learns all samples at once: call fit, or use a network"
        raise SettingsError(f"network is {classifier.network!r}, {told}")
    first = _check_partial_fit_first_call(classifier, classes)
    given = read_inputs(classifier, X, reset=first)
    named, labels = read_labels(y, X)
    strange = np.setdiff1d(named, classifier.classes_)
    if len(strange):
        raise DataError(
            f"y has labels {strange.tolist()} that are not among the classes {classifier.classes_.tolist()}: "
            "name all classes in the first call of partial_fit"
        )
    samples, classifier.encoder_ = make_training_set(
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
    done, seed = 0 if first else classifier.n_iter_, seed_of(classifier)
    network = new_network(classifier, seed) if first else classifier.network_
    # each call is an epoch of its own: with one seed all would go through samples in the same order
    settings = settings_for(
        classifier, len(samples.y), seeding.derive(seed, "partial", done), epochs=1, cycle=False,
        scale=None if first else classifier.preparation_.scale,  # that of the images it knows
    )  # fmt: skip
    pipeline = Pipeline(samples, lambda _: network, classifier.method_, settings, audit=None)
    _keep(classifier, pipeline, dataclasses.replace(pipeline.run(network), epochs=done + 1))


def fit_set(
    classifier: Any, samples: TrainingSet, encoder: InputEncoder, example: Any, stages: Stages
) -> None:
    """Fit to samples that were encoded and audited before, such as those in the files of many parts.

    example: some of them as users give them.
    """
    classifier.classes_, classifier.encoder_ = samples.classes, encoder
    read_inputs(classifier, example, reset=True)
    seed = seed_of(classifier)
    samples = samples.without(kept_aside(samples, seed))
    fit(classifier, _pipeline(classifier, samples, seed, stages, audit=None))


def _keep(classifier: Any, pipeline: Pipeline, found: PipelineResult) -> None:
    """Set what a fit found."""
    classifier.network_, classifier.history_, classifier.n_iter_ = found.network, found.history, found.epochs
    classifier.members_, classifier.refined_ = found.members, found.refined
    # predictions are made in float32, whatever the network was trained in
    prepared = dataclasses.replace(found.preparation, augment=None, dtype=torch.float32)
    classifier.preparation_ = prepared
    classifier._found_later(FoundLater(pipeline, found, prepared))


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


def settings_for(classifier: Any, num_samples: int, seed: int, **changes: Any) -> Settings:
    """How its networks are trained on so many samples, but for `changes`."""
    options = {name: getattr(classifier, name) for name in HOW_TO_TRAIN}
    options |= {"device": choose(classifier.device), "seed": seed}
    options |= {"log": "auto" if classifier.verbose else "none"} | changes
    return training_settings(num_samples, classifier.encoder_.shape, **options)
