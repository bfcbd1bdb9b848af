"""The audit of a classifier's own training set: from the run that was made anyway, or from held-out folds."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graylearn.audit import Audit
from graylearn.audit.heldout import stratified_folds
from graylearn.audit.history import history_probabilities
from graylearn.training import History

Ints = NDArray[np.int64]


def history_of(history: History, rows: Ints, y: Ints, ids: NDArray[Any]) -> History:
    """The history of a run on samples `rows` (some several times, some not at all), by the user's samples.

    A sample that was trained on several times has the history of its first copy; one that was left out has
    none (NaN). On the CPU, so that it can be kept, saved and read anywhere.
    """
    first = np.full(len(y), -1)
    first[rows[::-1]] = np.arange(len(rows))[::-1]
    unseen = torch.from_numpy(first < 0)
    index = torch.from_numpy(np.maximum(first, 0))

    def by_sample(values: Tensor) -> Tensor:
        taken = values.cpu()[..., index]
        if bool(unseen.any()):
            taken[..., unseen] = torch.nan if values.ndim == 2 and values.is_floating_point() else 0
        return taken

    other = copy.copy(history)
    for name, value in vars(history).items():
        if isinstance(value, Tensor):
            setattr(other, name, by_sample(value))
        elif isinstance(value, dict):
            setattr(other, name, {key: by_sample(part) for key, part in value.items()})
    other.targets = torch.from_numpy(y)
    other.ids = ids
    return other


def held_out_by_folds(
    run: Callable[[NDArray[np.float64]], History], y: Ints, seed: int
) -> NDArray[np.float64]:
    """(N, K) held-out probabilities from any network, by two runs that each leave half of the samples out.

    `run` trains on samples with these weights; a sample of weight 0 is not learned from, yet its confidence
    is in the history of the run.
    """
    fold = stratified_folds(y, 2, 1, seed)[0]
    probability: NDArray[np.float64] | None = None
    for held in (0, 1):
        said = history_probabilities(run((fold != held).astype(np.float64)))
        probability = said if probability is None else np.where((fold == held)[:, None], said, probability)
    assert probability is not None
    return probability


def history_audit(
    history: History, features: NDArray[np.float32] | None, classes: NDArray[Any], ids: NDArray[Any]
) -> Audit:
    """The audit that costs no further training."""
    return Audit.from_history(history, None, features, ids, classes=classes.tolist())
