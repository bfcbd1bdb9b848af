"""From a training set to an `Audit`: `audit` trains what it needs, the others take what you have."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from graylearn.audit.heldout import held_out_probabilities
from graylearn.audit.history import history_probabilities, train_for_history
from graylearn.audit.inputs import as_features, as_ids, as_labels, as_probabilities
from graylearn.audit.mixture import NoiseFit, fit_noise
from graylearn.audit.result import Audit, Mode
from graylearn.audit.views import pool_views
from graylearn.data.samples import Label, Samples
from graylearn.errors import DataError, SettingsError
from graylearn.training.history import History

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIN_CLASS = 4
"""Classes with fewer samples than this are never flagged: half of the folds saw one of them at most."""
MIN_SAMPLES = 30
"""Below this many samples nothing is flagged: no test of the labels can be passed."""


def audit(
    X: Any,
    y: Any = None,
    *,
    mode: Literal["held-out", "history"] = "held-out",
    ids: Any = None,
    classes: Any = None,
    folds: int = 2,
    repeats: int = 3,
    epochs: int = 20,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Audit:
    """Find the samples of a training set that do not belong.

    X: numbers (N, ...), a numeric frame, or Samples (then leave out `y`); features of images or text work
        best when they come from a pre-trained network. y: labels, any kind.
    mode: "held-out" asks networks that never saw the sample (`repeats` x `folds` small trainings, done as
        one stack); "history" reads the confidences of a single Gray Learning run.
    """
    if mode not in ("held-out", "history"):
        raise SettingsError(f"mode is {mode!r}: use 'held-out' or 'history'")
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
    return _judge(network, label, names, features, row_ids, mode)


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
    return _judge(network, label, known, used, as_ids(ids, features, len(label)), "predictions")


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
        label, names = as_labels(y, classes if classes is not None else None)
        if len(names) != history.num_classes and classes is None and np.asarray(y).dtype.kind in "iu":
            label, names = as_labels(y, range(history.num_classes))
    if len(names) != history.num_classes or not np.array_equal(label, target):
        raise DataError(
            "y does not match the labels the history was trained on: pass the same labels in the same order"
        )
    used = None if features is None else as_features(features, len(label))
    row_ids = as_ids(history.ids if ids is None else ids, None, len(label))
    return _judge(history_probabilities(history), label, names, used, row_ids, "history")


def _judge(
    network: Floats,
    label: Ints,
    classes: tuple[Label, ...],
    features: NDArray[np.float32] | None,
    ids: NDArray[Any],
    mode: Mode,
) -> Audit:
    """Pool the views, fit the noise mixture to the labels that can be checked, and read off the verdicts."""
    n = len(label)
    views = pool_views(network, label, features)
    count = np.bincount(label, minlength=len(classes))
    checked = count[label] >= MIN_CLASS
    notes = _notes(n, classes, count)
    rows = np.arange(n)
    confidence = views.P[rows, label]
    posterior, pi, o = np.zeros(n), np.zeros(n), np.zeros(n)
    form, temperature, details = "none", 1.0, {}
    if n >= MIN_SAMPLES and len(np.unique(label[checked])) >= 2:
        fit = fit_noise(views.P[checked], label[checked], views.evidence[checked])
        posterior[checked], pi[checked], o[checked] = fit.posterior, fit.pi, fit.o
        form, temperature, details = fit.form, fit.temperature, _details(fit)
        if form == "none":
            notes.append("nothing flagged: the labels are explained without any of them being random")
    score = posterior if form != "none" else 1.0 - confidence
    suspected = posterior > 0.5
    is_ood = suspected & (o > 0.5 * pi)
    best = views.P.argmax(axis=1) if n else np.zeros(0, dtype=np.int64)
    # A suspect whose best class is its own label is not another class's sample: it is nobody's.
    is_ood |= suspected & (best == label)
    kind = np.where(is_ood, 2, np.where(suspected, 1, 0)).astype(np.int64)
    suggested = np.where(kind == 0, label, np.where(kind == 1, best, -1)).astype(np.int64)
    return Audit(
        ids=ids, label=label, classes=classes, confidence=confidence, score=np.clip(score, 0.0, 1.0),
        suspected=suspected, kind=kind, suggested=suggested, posterior=posterior, pi=pi, o=o, P=views.P,
        temperature=temperature, mode=mode, form=form, notes=tuple(notes), details=details,
    )  # fmt: skip


def _notes(n: int, classes: tuple[Label, ...], count: Ints) -> list[str]:
    notes = []
    if n < MIN_SAMPLES:
        notes.append(f"nothing flagged: {n} samples are too few to tell (at least {MIN_SAMPLES})")
    elif (count > 0).sum() < 2:
        notes.append("nothing flagged: all samples bear one label")
    tiny = [str(classes[k]) for k in np.flatnonzero((count > 0) & (count < MIN_CLASS))]
    if tiny and n >= MIN_SAMPLES:
        more = ", ..." if len(tiny) > 5 else ""
        notes.append(f"not judged: classes with fewer than {MIN_CLASS} samples ({', '.join(tiny[:5])}{more})")
    if len(classes) == 2:
        notes.append(
            "two classes: a random label is right half of the time, so much of the noise stays hidden"
        )
    return notes


def _details(fit: NoiseFit) -> dict[str, float]:
    found = {f"log_likelihood_{name}": value for name, value in fit.log_likelihood.items()}
    found["wrong_rate"] = fit.wrong_rate
    found.update({f"slope_{column}": float(b) for column, b in enumerate(fit.slopes)})
    return found
