"""Held-out probabilities by networks of the classifier's own kind, trained on the rest of the samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import softmax
from torch import nn

from graylearn.array_types import Floats, Ints
from graylearn.audit.heldout import held_out_rows, stratified_folds, sum_by_sample
from graylearn.audit.history import history_probabilities
from graylearn.estimator.trainset import TrainingSet
from graylearn.methods import Method
from graylearn.training import Result, Settings, seeding, train_stack

STACKED = 4
"""Folds where networks are trained as one stack: each learns from three quarters of the samples."""
SINGLE = 2
"""Folds where each network is a training of its own."""


def dealt(samples: TrainingSet, folds: int, seed: int) -> list[Ints]:
    """The samples that each network is asked about and does not learn from.

    Copies of a sample, and samples of a group, share a fold; samples of no weight, which no network saw, are
    asked of the first. Give the samples in the canonical order (`TrainingSet.order`), so that the user's does
    not matter.
    """
    seen = np.unique(samples.rows)
    fold = np.zeros((1, len(samples.labels)), dtype=np.int64)
    group = None if samples.groups is None else samples.groups[seen]
    fold[:, seen] = stratified_folds(samples.labels[seen], folds, 1, seed, group)
    return held_out_rows(fold, folds)


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
    held = dealt(samples, STACKED, seed)
    seeds = [seeding.derive(seed, "fold", index) for index in range(STACKED)]
    weight = np.stack([_weight_without(samples, rows) for rows in held])
    trained = side_by_side(samples, [new_network(each) for each in seeds], seeds, method, settings, weight)
    asked = [(rows, result) for rows, result in zip(held, trained, strict=True) if len(rows)]
    said: list[Floats] = [softmax(result.predict_logits(features[rows]), axis=1) for rows, result in asked]
    return sum_by_sample([rows for rows, _ in asked], said, len(features))


def single_probabilities(samples: TrainingSet, train: Callable[[Floats], Result], seed: int) -> Floats:
    """(N, K) what any network says of samples that it did not learn from, over the epochs of its training.

    `train` trains a network on the samples with these weights (M,); one of weight 0 is not learned from, yet
    its confidence is in the history.
    """
    held = dealt(samples, SINGLE, seed)
    histories = [samples.by_sample(train(_weight_without(samples, rows)).history) for rows in held]
    said = [history_probabilities(history)[rows] for rows, history in zip(held, histories, strict=True)]
    return sum_by_sample(held, said, len(samples.labels))


def _weight_without(samples: TrainingSet, held: Ints) -> Floats:
    """(M,) the weights of the rows to train on, 0 where their sample is held out."""
    return np.where(np.isin(samples.rows, held), 0.0, samples.weight)
