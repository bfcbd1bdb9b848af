"""From the confidences of one training run to class probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from graylearn.array_types import Floats, Ints
from graylearn.data.inputs import as_ids, as_plain
from graylearn.errors import DataError
from graylearn.nets import MLP
from graylearn.training import History, OptimizerSettings, devices, seeding, train
from graylearn.training.optimizers import batch_size_for, epochs_for

DROPOUT = 0.2
EPOCHS, MIN_STEPS = 6, 120
"""Six epochs at three times the rate instead of twenty: on six cells with 20 % OOD and mix, average precision
.91 to .93, F1 .76 to .87, and a third of the time."""


def aligned(history: History, ids: Any, y: Any, features: Any) -> tuple[History, NDArray[Any], Any, Any]:
    """The history, ids, y and features of the same samples in the same order.

    Of y and features that are of more, those that the history saw: a sampler may pass some over. `ids` tell
    whose the rows are, or the numbers of rows that a Recorder was given.
    """
    if not isinstance(history, History):
        raise DataError(f"history is a {type(history).__name__}, expected a History: give its .history")
    if not history.finished_epochs:
        raise DataError("the history has no complete epoch: train for one at least, better for several")
    names = as_ids(history.ids, None, history.num_samples)
    y, features = as_plain(y), as_plain(features)
    count = max(0 if part is None else _length(part) for part in (y, features))
    if count > len(names):
        rows = np.array([-1])
        if ids is not None:
            rows = pd.Index(as_ids(ids, None, count)).get_indexer(pd.Index(names))
        elif names.dtype.kind in "iu" and names.min() >= 0 and len(names) <= names.max() < count:
            rows = names  # with gaps, so that they are no mere count of what the history holds
        if (rows < 0).any():
            raise DataError(
                f"the history saw {len(names)} samples, and y or features are of {count}: give ids=, whose"
                " their rows are, by the names in history.ids"
            )
        order = np.argsort(rows)  # as they were given
        ids, rows = names[order], rows[order]
        y, features = (None if part is None else _safe_indexing(part, rows) for part in (y, features))
    names = as_ids(history.ids if ids is None else ids, None, history.num_samples)
    return in_order_of(history, names), names, y, features


def _length(part: Any) -> int:
    """How many rows there are; of a lone number none, which is told where features are read."""
    if hasattr(part, "shape"):
        return int(part.shape[0]) if part.shape else 0
    return len(part) if hasattr(part, "__len__") else 0


def in_order_of(history: History, ids: NDArray[Any]) -> History:
    """The history in the order of these ids, where they are what its samples were called all along.

    As it is where they are new names for its samples, or where it knows only the numbers of rows.
    """
    names = as_ids(history.ids, None, history.num_samples)
    found = pd.Index(names).get_indexer(pd.Index(ids))
    if history.is_numbered or (found < 0).all():
        return history
    if (found < 0).any():
        if names.dtype.kind in "iu" and np.array_equal(np.sort(names), np.arange(len(names))):
            return history  # a Recorder was given the numbers of rows, and some names look like numbers
        raise DataError(
            f"the history has no sample {ids[found < 0][0]}: give ids= the names in history.ids, in the order"
            " of y and features"
        )
    index = torch.from_numpy(found)
    return history.selected(lambda values: values.cpu()[..., index], history.targets.cpu()[index], ids)


LONG_RUN = 40
"""Epochs from which on a run may have memorised labels."""
_ASKED, _VOTES = 5000, 1 << 27


def epochs_before_memorising(
    label: Ints, predicted: NDArray[np.integer], seen: NDArray[np.bool_] | None = None
) -> slice:
    """The epochs (E, N) of a long run after its first steps and before it memorises labels.

    From where the vote of the last half of the epochs so far fits the labels better than the epoch itself, to
    where the epoch fits them better than that vote. All epochs of a short run, or where it cannot be told.
    CIFAR-10N worst, ResNet18, 200 epochs: right on .86 of the true classes instead of .76. What an epoch has
    not `seen`, as where a sampler draws with replacement, has no part in it.
    """
    epochs, n = predicted.shape
    if epochs < LONG_RUN or n == 0:
        return slice(None)
    num_classes = int(max(label.max(), predicted.max())) + 1
    asked = min(_ASKED, max(100, _VOTES // (epochs * num_classes)))
    some = np.random.default_rng(0).permutation(n)[:asked]
    y, said = label[some], predicted[:, some].astype(np.int64)
    shown = np.ones(said.shape, dtype=bool) if seen is None else seen[:, some]
    votes = np.zeros((epochs + 1, len(y), num_classes), dtype=np.uint16)
    for k in range(num_classes):
        np.cumsum((said == k) & shown, axis=0, out=votes[1:, :, k])
    first = None
    for epoch in range(2, epochs):
        recent = votes[epoch] - votes[epoch // 2]
        both = shown[epoch] & recent.any(axis=1)
        right, voted = said[epoch] == y, recent.argmax(axis=1) == y
        gain = float(right[both].mean() - voted[both].mean()) if both.any() else 0.0
        if first is None:
            first = epoch if gain <= 0 else None
        elif gain > 0 and epoch >= first + 2:
            return slice(first, epoch)
    return slice(first or 0, epochs)


def history_probabilities(history: History, kept: slice | None = None) -> Floats:
    """(N, K) class probabilities averaged over epochs, as far as a history tells them.

    Of a long run, only epochs before it memorises labels count (`epochs_before_memorising`: kept, if known).
    Of each epoch it keeps the probability of the given label, the largest one and whose it was; what is
    left over is shared evenly among the other classes. A sample never seen gets even shares.
    """
    label = history.targets.cpu().numpy().astype(np.int64)
    n, num_classes = len(label), history.num_classes
    rows = np.arange(n)
    total, seen = np.zeros((n, num_classes)), np.zeros(n)
    if kept is None:
        kept = epochs_before_memorising(label, history.predicted, ~np.isnan(history.label_confidence))
    told = (history.label_confidence, history.max_confidence, history.predicted)
    for own, largest, predicted in zip(*(values[kept] for values in told), strict=True):
        known = ~np.isnan(own)
        p_label = np.where(known, own, 0.0).astype(np.float64)
        p_max = np.where(known, largest, 0.0).astype(np.float64)
        best = predicted.astype(np.int64)
        apart = best != label
        named = np.where(apart, 2, 1)
        rest = np.clip(1.0 - p_max - np.where(apart, p_label, 0.0), 0.0, None)
        others = rest / np.maximum(num_classes - named, 1)
        epoch = np.repeat(others[:, None], num_classes, axis=1)
        epoch[rows, label] = p_label
        epoch[rows, best] = p_max
        total += np.where(known[:, None], epoch, 0.0)
        seen += known
    mean = np.where(seen[:, None] > 0, total / np.maximum(seen, 1)[:, None], 1.0 / num_classes)
    mean = np.clip(mean, 1e-6, None)
    return np.asarray(mean / mean.sum(axis=1, keepdims=True))


def short_run(
    features: NDArray[np.float32],
    content: NDArray[np.uint64],
    label: Ints,
    num_classes: int,
    *,
    epochs: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Floats:
    """(N, K) class probabilities over one Gray Learning run of a small network on all samples.

    A short run at three times the usual rate: the network learns what samples of a class have in common and
    stops before it memorises single labels. Batches are drawn in the order of the samples' content.
    """
    epochs = EPOCHS if epochs is None else epochs
    batch = batch_size_for(len(label))
    rate = 3e-3 * math.sqrt(batch / 32)
    epochs = epochs_for(len(label), batch, epochs)
    epochs = max(epochs, math.ceil(MIN_STEPS / math.ceil(max(len(label), 1) / batch)))
    with seeding.seeded(seed, devices.choose(device)):  # the caller's random numbers stay as they were
        torch.manual_seed(seed)
        model = MLP(num_classes, (features.shape[1],), dropout=DROPOUT)
    order = np.lexsort([label, content])
    result = train(
        model,
        (features[order], label[order]),
        method="gl-label",
        epochs=epochs,
        batch_size=batch,
        optimizer=OptimizerSettings("adamw", rate, weight_decay=1e-2),
        seed=seed,
        device=device,
        log="none",
    )
    found = np.empty((len(label), num_classes))
    found[order] = history_probabilities(result.raise_if_interrupted().history)
    return found
