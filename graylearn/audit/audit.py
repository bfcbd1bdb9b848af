"""From a training set to an `Audit`: `audit` trains what it needs, the others take what you have."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch

from graylearn.audit.heldout import EPOCHS as HELD_OUT_EPOCHS
from graylearn.audit.heldout import held_out_probabilities
from graylearn.audit.history import EPOCHS as HISTORY_EPOCHS
from graylearn.audit.history import history_probabilities, train_for_history
from graylearn.audit.inputs import as_features, as_ids, as_labels, as_probabilities
from graylearn.audit.result import Audit
from graylearn.audit.verdict import judge
from graylearn.data.samples import Samples
from graylearn.errors import DataError, SettingsError
from graylearn.training.history import History


def audit(
    X: Any,
    y: Any = None,
    *,
    mode: Literal["held-out", "history"] = "held-out",
    ids: Any = None,
    classes: Any = None,
    folds: int = 2,
    repeats: int = 3,
    epochs: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Audit:
    """Find the samples of a training set that do not belong.

    X: numbers (N, ...), a sparse matrix, a frame of pandas, polars or pyarrow with columns of any kind, or
        Samples (then leave out `y`). Images of up to 1,024 pixels are taken as they are; larger ones and text
        want features of a pre-trained network first (`embed_images`, `embed_text`). The history of a training
        run is audited as it is, see `audit_history`. y: labels, any kind.
    mode: "held-out" asks networks that never saw the sample (`repeats` x `folds` small trainings, done as
        one stack); "history" reads the confidences of a single short Gray Learning run.
    epochs: of each training; 20 for held-out and 6 for history unless told.
    """
    if isinstance(X, History):
        return audit_history(X, y, ids=ids, classes=classes)
    if mode not in ("held-out", "history"):
        raise SettingsError(f"mode is {mode!r}: use 'held-out' or 'history'")
    if epochs is None:
        epochs = HELD_OUT_EPOCHS if mode == "held-out" else HISTORY_EPOCHS
    if folds < 2 or repeats < 1 or epochs < 1:
        raise SettingsError(
            f"folds {folds}, repeats {repeats}, epochs {epochs}: expected at least 2, 1 and 1"
        )
    if isinstance(X, Samples):
        if y is None:
            label, names = X.y, X.classes
            if not names:
                raise DataError("the samples have no labels: an audit needs the given label of each")
        else:
            label, names = as_labels(y, classes)
        values = X.x
    else:
        if y is None:
            raise DataError("y is missing: give the label of each sample, or pass Samples")
        label, names = as_labels(y, classes)
        values = X
    features = as_features(values, len(label))
    row_ids = as_ids(ids, X, len(label))
    num_classes = len(names)
    if len(label) < 2 * folds or len(np.unique(label)) < 2:
        network = np.full((len(label), num_classes), 1.0 / max(num_classes, 1))
    elif mode == "held-out":
        network = held_out_probabilities(
            features,
            label,
            num_classes,
            folds=folds,
            repeats=repeats,
            epochs=epochs,
            seed=seed,
            device=device,
        )
    else:
        history = train_for_history(features, label, num_classes, epochs=epochs, seed=seed, device=device)
        network = history_probabilities(history)
    return judge(network, label, names, features, row_ids, mode)


def audit_predictions(
    pred_probs: Any, labels: Any, features: Any = None, ids: Any = None, *, classes: Any = None
) -> Audit:
    """Audit with class probabilities (N, K) from a model of your own, at best out of sample.

    Column k is class k of `classes`; without `classes`, labels are the whole numbers 0..K-1. Features
    (N, D), where given, add what neighbours and a kernel regression say.
    """
    shape = np.shape(pred_probs)
    names = classes if classes is not None else (range(shape[1]) if len(shape) == 2 else None)
    label, known = as_labels(labels, names)
    network = as_probabilities(pred_probs, len(label))
    if network.shape[1] != len(known):
        raise DataError(f"pred_probs has {network.shape[1]} columns for {len(known)} classes: give one each")
    used = None if features is None else as_features(features, len(label))
    return judge(network, label, known, used, as_ids(ids, features, len(label)), "predictions")


def audit_history(
    history: History, y: Any = None, features: Any = None, ids: Any = None, *, classes: Any = None
) -> Audit:
    """Audit from the confidences that one training run gathered; no further training.

    y: the labels as the user calls them, in the order of the history; without it, places 0..K-1.
    """
    target = history.targets.cpu().numpy().astype(np.int64)
    if y is None:
        label, names = target, tuple(range(history.num_classes)) if classes is None else tuple(classes)
    else:
        label, names = as_labels(y, classes)
        if len(names) != history.num_classes and classes is None and np.asarray(y).dtype.kind in "iu":
            label, names = as_labels(y, range(history.num_classes))
    if len(names) != history.num_classes or not np.array_equal(label, target):
        raise DataError(
            "y does not match the labels the history was trained on: pass the same labels in the same order"
        )
    used = None if features is None else as_features(features, len(label))
    row_ids = as_ids(history.ids if ids is None else ids, None, len(label))
    return judge(history_probabilities(history), label, names, used, row_ids, "history")
