"""A classifier fitted to batches that come from files: the set is never in memory as a whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graylearn.data.samples import Label, Samples
from graylearn.estimator.calibration import reference_for
from graylearn.estimator.classifier import GrayClassifier
from graylearn.estimator.fitting import new_network, seed_of, settings_for
from graylearn.estimator.inputs import InputEncoder, read_inputs
from graylearn.estimator.pipeline import Stages
from graylearn.estimator.trainset import plain_training_set
from graylearn.training import Result, Settings, train

HISTORY_BYTES = 1 << 26
"""Memory for the confidences of single epochs; beyond it the oldest live on in running means."""

Some = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Encoded samples, and the index of the label of each."""


def fit_batches(
    classifier: GrayClassifier,
    batches: Callable[[int], Iterable[Any]],
    count: int,
    *,
    classes: Sequence[Label],
    encoder: InputEncoder,
    example: Any,
    scored: Callable[[], tuple[Some, Some]],
    stages: Stages | None = None,
) -> GrayClassifier:
    """Fit to batches of (encoded samples, labels, index), which can be read again and again; no audit.

    batches: makes them, by about how many samples each has. count: samples that they hold together. example:
    some samples as users give them. scored: reads some that are learned from, and some that are not, all of
    which belong; they say how samples score.
    """
    classifier.classes_, classifier.encoder_ = np.asarray(classes), encoder
    read_inputs(classifier, example, reset=True)
    seed = seed_of(classifier)
    settings = dataclasses.replace(settings_for(classifier, count, seed), history_bytes=HISTORY_BYTES)

    given = batches(settings.batch_size)

    def run(settings: Settings, *callbacks: Any) -> Result:
        network = new_network(classifier, seed)
        made = train(network, given, method=classifier.method_, settings=settings, callbacks=callbacks)
        return made.raise_if_interrupted()

    result = (stages or Stages()).train("first", settings, run)
    classifier.network_, classifier.n_iter_, classifier.members_ = result.model, len(result.log), 1
    classifier.preparation_ = dataclasses.replace(result.preparation, augment=None, dtype=torch.float32)
    classifier.history_, classifier.audit_, classifier.refined_ = result.history, None, False
    known, new = scored()
    seen = plain_training_set(Samples(*known, tuple(range(len(classes))), np.arange(len(known[1])), "array"))
    classifier.reference_ = reference_for(classifier.network_, classifier.preparation_, seen, None, new)
    return classifier
