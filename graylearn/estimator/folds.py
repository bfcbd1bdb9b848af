"""Held-out probabilities by networks of the classifier's own kind, trained on the rest of the samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from scipy.special import softmax
from torch import nn

from graylearn.array_types import Floats, Ints
from graylearn.audit.history import history_probabilities
from graylearn.estimator.trainset import TrainingSet
from graylearn.methods import Method
from graylearn.training import Result, Settings, seeding, train_stack
from graylearn.training.cross_fit import cross_fit, held_out_rows, sum_by_sample

Model = TypeVar("Model")
STACKED = 4
"""Folds where networks are trained as one stack: each learns from three quarters of the samples."""
SINGLE = 2
"""Folds where each network is a training of its own."""


def side_by_side(
    samples: TrainingSet,
    networks: Sequence[nn.Module],
    seeds: Sequence[int],
    method: str | Method,
    settings: Settings,
    weight: Floats | None,
) -> list[Result]:
    """Networks trained as one stack on the rows of the samples; weight: (M,), or (networks, M), or even."""
    results = train_stack(
        networks,
        (samples.x, samples.y),
        methods=method,
        seeds=seeds,
        settings=settings,
        sample_weight=weight,
    )
    return [result.raise_if_interrupted() for result in results]


def stacked_probabilities(
    samples: TrainingSet,
    new_network: Callable[[int], nn.Module],
    method: str | Method,
    settings: Settings,
    seed: int,
) -> Floats:
    """(N, K) what networks say of samples that they did not learn from, trained as one stack."""
    features = samples.features
    assert features is not None  # networks that can be stacked read rows
    seeds = [seeding.derive(seed, "fold", index) for index in range(STACKED)]

    def train_all(weights: Floats) -> list[Result]:
        networks = [new_network(each) for each in seeds]
        return side_by_side(samples, networks, seeds, method, settings, weights)

    return _cross_probabilities(
        samples,
        STACKED,
        seed,
        train_all,
        lambda result, asked: softmax(result.predict_logits(features[asked]), axis=1),
    )


def single_probabilities(samples: TrainingSet, train: Callable[[Floats], Result], seed: int) -> Floats:
    """(N, K) what any network says of samples that it did not learn from, over the epochs of its training.

    `train` trains a network on the samples with these weights (M,); one of weight 0 is not learned from, yet
    its confidence is in the history.
    """
    return _cross_probabilities(
        samples,
        SINGLE,
        seed,
        lambda weights: (samples.by_sample(train(each).history) for each in weights),
        lambda history, asked: history_probabilities(history)[asked],
    )


def _cross_probabilities(
    samples: TrainingSet,
    folds: int,
    seed: int,
    learner: Callable[[Floats], Iterable[Model]],
    ask: Callable[[Model, Ints], Floats],
) -> Floats:
    """(N, K) what each model says of the samples of its fold; the first also of those that are in none.

    Give the samples in the canonical order (`TrainingSet.order`), so that the user's does not matter.
    """
    held = held_out_rows(samples.folds(folds, seed)[None], folds)
    asked = [np.unique(samples.rows[rows]) for rows in held]
    asked[0] = np.union1d(asked[0], np.setdiff1d(np.arange(len(samples.labels)), samples.rows))
    models = cross_fit(learner, samples.weight, held)
    said = ((own, ask(model, own)) for own, (model, _) in zip(asked, models, strict=True) if len(own))
    return sum_by_sample(said, len(samples.labels), len(samples.classes))
