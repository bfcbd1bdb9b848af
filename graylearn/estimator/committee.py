"""Several networks trained side by side: a committee that answers as one network, and folds of them.

The mean of the logits of several multilayer perceptrons is itself a multilayer perceptron, as wide as all of
them together and without connections between them. So a committee is kept, saved and asked like one network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from torch import nn

from graylearn.audit.heldout import stratified_folds
from graylearn.estimator.trainset import TrainingSet
from graylearn.methods import Method, as_method
from graylearn.nets import MLP
from graylearn.training import OptimizerSettings, Settings, seeding, train_stack

FOLDS = 4
"""Of the second opinion: each network learns from three quarters of the samples."""


def can_stand_side_by_side(network: nn.Module, settings: Settings) -> bool:
    """Whether several of this network can be trained as one stack and joined."""
    return type(network) is MLP and isinstance(settings.optimizer, OptimizerSettings)


def can_share_a_stack(method: str | Method) -> bool:
    """Whether a stack with held-out samples can train by this method: one network, whose features it leaves.

    Those that read features learn from all samples of a batch, also from those whose loss counts nothing.
    """
    made = as_method(method)
    return made.networks == 1 and not made.needs_features


@torch.no_grad()
def joined(members: Sequence[MLP]) -> MLP:
    """One network that says the mean of the members' logits, exactly; they are of one shape."""
    first, count = members[0], len(members)
    layers = [[part for part in member.body if isinstance(part, nn.Linear)] for member in members]
    dropout = next((part.p for part in first.body if isinstance(part, nn.Dropout)), 0.0)
    hidden = [count * part.out_features for part in layers[0]]
    together = MLP(first.num_classes, first.in_shape, hidden=hidden, dropout=dropout)
    together.to(first.head.weight.device, first.head.weight.dtype)
    wide = [part for part in together.body if isinstance(part, nn.Linear)]
    for place, layer in enumerate(wide):
        own = [parts[place] for parts in layers]
        weights = [part.weight for part in own]
        # all read the same inputs; from then on each reads its own
        blocks = torch.cat(weights) if place == 0 else torch.block_diag(*weights)  # type: ignore[no-untyped-call]
        layer.weight.copy_(blocks)
        layer.bias.copy_(torch.cat([part.bias for part in own]))
    heads = [member.head.weight / count for member in members]
    together.head.weight.copy_(torch.cat(heads, dim=1) if wide else torch.stack(heads).sum(0))
    together.head.bias.copy_(torch.stack([member.head.bias for member in members]).mean(0))
    return together.eval()


def member_seeds(seed: int, count: int) -> list[int]:
    """The seeds of a committee: the first member is what one network would be."""
    return [seed, *(seeding.derive(seed, "member", place) for place in range(1, count))]


def train_committee(
    new_network: Callable[[int], nn.Module],
    new_method: Callable[[], str | Method],
    training_set: TrainingSet,
    weight: NDArray[np.float64],
    settings: Settings,
    seeds: Sequence[int],
) -> tuple[MLP, int]:
    """Networks that differ in their first weights and the order of samples, joined; and their epochs."""
    results = train_stack(
        [new_network(seed) for seed in seeds],
        (training_set.x, training_set.y),
        methods=[new_method() for _ in seeds],
        seeds=list(seeds),
        settings=settings,
        sample_weight=weight if (weight != weight[0]).any() else None,
    )
    members = [result.raise_if_interrupted().model for result in results]
    return joined([member for member in members if isinstance(member, MLP)]), len(results[0].log)


def fold_probabilities(
    new_network: Callable[[int], nn.Module],
    new_method: Callable[[], str | Method],
    training_set: TrainingSet,
    x: NDArray[Any],
    settings: Settings,
    seed: int,
) -> NDArray[np.float64]:
    """(N, K) what networks say of samples x (N, ...) that they did not learn from, trained as one stack."""
    # Dealt in the canonical order, so that the user's order of samples does not matter. Copies of a sample
    # share its fold; samples of no weight, which no network saw, are asked of the first.
    samples, first = np.unique(training_set.rows, return_index=True)
    samples, first = samples[np.argsort(first)], np.sort(first)
    fold = np.zeros(len(x), dtype=np.int64)
    fold[samples] = stratified_folds(training_set.y[first], FOLDS, 1, seed)[0]
    of_row = fold[training_set.rows]
    weight = np.stack([np.where(of_row == held, 0.0, training_set.weight) for held in range(FOLDS)])
    seeds = [seeding.derive(seed, "fold", held) for held in range(FOLDS)]
    results = train_stack(
        [new_network(each) for each in seeds],
        (training_set.x, training_set.y),
        methods=[new_method() for _ in seeds],
        seeds=seeds,
        settings=settings,
        sample_weight=weight,
    )
    parts = [
        (np.flatnonzero(fold == held), result.raise_if_interrupted()) for held, result in enumerate(results)
    ]
    said = [(rows, softmax(result.predict_logits(x[rows]), axis=1)) for rows, result in parts if len(rows)]
    probability = np.zeros((len(x), said[0][1].shape[1]))
    for rows, values in said:
        probability[rows] = values
    return probability
