"""What two networks say of a large set that they have learned from a part of it.

Many large sets teach a network no more after some ten thousand samples; others go on for millions of visits.
Which of the two a set is, is tried: two networks learn from a part of one half of the samples each, and are
asked half-way and at the end about samples that neither has seen. Only where the second half taught them
nothing, where both say the same, and where they know every class, are they believed; all else is left to the
networks of `heldout.py`, which see all samples.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graylearn.array_types import Floats, Ints
from graylearn.audit.blocks import BLOCK, precision_for
from graylearn.audit.heldout import learn, networks, said_by
from graylearn.audit.progress import tell
from graylearn.training import devices, seeding
from graylearn.training.cross_fit import stratified_folds
from graylearn.training.mlp import MLPLearner

VISITS, VISITS_OF_CLASS = 102_400, 1_000
"""Samples that each network learns from, each once: the first number, and a class the second at least."""
LEAST_OF_CLASS = 200
"""Samples of each class at least in the part that a network learns from; with fewer it is not tried."""
ASKED = 10_000
"""Samples of each half that both networks are asked about, and that neither has learned from."""
BATCH = 256
GAIN, AGREEMENT, RECALL = 0.002, 0.99, 0.5
"""A part is enough where its second half added less than the first to the share of labels that are told,
where the two networks say the same of so many as the second, and where of the labels of each class at least
the third is told. Clouds: .0005, 1.00, .90; heartbeats .009; a hundred clouds a class .12."""
_CHUNK = 4096


def learned_from_a_part(
    features: NDArray[np.float32],
    label: Ints,
    num_classes: int,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Floats | None:
    """(N, K) class probabilities of each sample by the network that did not see its half of the samples.

    None where a part does not teach them what all samples would, and of sets too small to be tried.
    """
    dealt = _dealt(label, num_classes, seed)
    if dealt is None:
        return None
    learned, asked, fold = dealt
    where = devices.choose(device)
    x, y = torch.as_tensor(features, device=where), torch.as_tensor(label, device=where)
    rows = torch.as_tensor(learned, device=where)
    steps = rows.shape[1] // BATCH
    with seeding.seeded(seed, where):
        learner = networks(2, num_classes, features.shape[1], 1e-3 * math.sqrt(BATCH / 32), where)
        mean = torch.zeros_like(learner.flat)
        with devices.threads_for(learner, BATCH, where):
            for step in range(steps):
                tell("asking networks", step, steps)
                learn(learner, x, y, rows[:, step * BATCH : (step + 1) * BATCH])
                if 2 * step >= steps:
                    mean += learner.flat
                if 2 * (step + 1) == steps:
                    half_way = _asked(learner, x, asked)
        if not _is_learned(half_way, _asked(learner, x, asked), label[asked], num_classes):
            return None
        # The mean of the weights on the way errs less than where they stand last.
        learner.flat.copy_(mean / (steps - steps // 2))
        return _all(learner, x, fold, num_classes)


def _dealt(label: Ints, num_classes: int, seed: int) -> tuple[Ints, Ints, Ints] | None:
    """Samples that each of two networks learns from (2, visits), those that both are asked about, and (N,)
    the half of each sample: that of the network that does not see it. None where there are too few."""
    visits = -(-max(VISITS, VISITS_OF_CLASS * num_classes) // (2 * BATCH)) * 2 * BATCH
    if len(label) < 2 * (visits + ASKED):
        return None
    fold = stratified_folds(label, 2, 1, seed)[0]
    random = np.random.default_rng(seed)
    halves = [random.permutation(np.flatnonzero(fold == half)) for half in (0, 1)]
    learned = np.stack([half[:visits] for half in (halves[1], halves[0])])
    count = np.stack([np.bincount(label[rows], minlength=num_classes) for rows in learned])
    if count[:, np.bincount(label, minlength=num_classes) > 0].min() < LEAST_OF_CLASS:
        return None
    return learned, np.concatenate([half[visits : visits + ASKED] for half in halves]), fold


def _asked(learner: MLPLearner, x: Tensor, rows: Ints) -> Ints:
    """(2, n) the class that each network says of the samples at rows."""
    own = x[torch.as_tensor(rows, device=x.device)]
    return said_by(learner, own.expand(2, -1, -1)).argmax(dim=2).cpu().numpy()


def _is_learned(half_way: Ints, said: Ints, label: Ints, num_classes: int) -> bool:
    """Whether (2, n) what the networks said of samples half-way and at the end is all there is to learn."""
    gain = float((said == label).mean() - (half_way == label).mean())
    agreement = float((said[0] == said[1]).mean())
    told = [float((said == label)[:, label == k].mean()) for k in range(num_classes) if (label == k).any()]
    return gain < GAIN and agreement > AGREEMENT and min(told) > RECALL


def _all(learner: MLPLearner, x: Tensor, fold: Ints, num_classes: int) -> Floats:
    """(N, K) what each network says of its half."""
    found = np.empty((len(x), num_classes), dtype=precision_for(len(x) * num_classes))
    step = max(1, min(_CHUNK, BLOCK // num_classes))
    for half in (0, 1):
        held = np.flatnonzero(fold == half)
        for start in range(0, len(held), step):
            tell("asking networks about all samples", half * len(held) + start, len(x))
            rows = held[start : start + step]
            own = x[torch.as_tensor(rows, device=x.device)]
            found[rows] = said_by(learner, own, half).cpu().numpy()
    return found
