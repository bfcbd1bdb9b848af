"""From a training set to an `Audit`: `audit` trains what it needs, the others take what you have."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints
from graylearn.audit.evidence import Evidence, gather
from graylearn.audit.groups import SAW_ALL, Rows, groups_of, verdicts
from graylearn.audit.heldout import held_out_probabilities
from graylearn.audit.history import EPOCHS as HISTORY_EPOCHS
from graylearn.audit.history import history_probabilities, train_for_history
from graylearn.audit.inputs import as_ids, as_labels, ordered_features
from graylearn.audit.keeping import kept
from graylearn.audit.models import check_model, features_if_any, model_probabilities
from graylearn.audit.overlap import overlap_of
from graylearn.audit.progress import shown
from graylearn.audit.repeated import asked_once
from graylearn.audit.result import Audit
from graylearn.audit.rounds import MODEL_FOLDS, NETWORK_FOLDS, rounds_for
from graylearn.audit.spelling import as_written
from graylearn.audit.trial import learned_from_a_part
from graylearn.data.encoding.label_notes import note_labels, note_order
from graylearn.data.misspelt import meant_by, merged
from graylearn.data.samples import Label, Samples
from graylearn.errors import DataError, Hint, SettingsError
from graylearn.options import IdLike, Log, OverlapSetting, check
from graylearn.training import devices
from graylearn.training.history import History

audit_predictions = Audit.from_predictions
audit_history = Audit.from_history


def audit(
    X: Any,
    y: Any = None,
    *,
    model: Any = None,
    mode: Literal["held-out", "history"] = "held-out",
    ids: Any = None,
    classes: Any = None,
    overlap: OverlapSetting = "auto",
    id_like: IdLike = "drop",
    keep_labels: bool = False,
    groups: Any = None,
    folds: int | None = None,
    repeats: int | None = None,
    epochs: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
    log: Log = "auto",
) -> Audit:
    """Find the samples of a training set that do not belong.

    Args:
        X: numbers (N, ...), a sparse matrix, a frame of pandas, polars or pyarrow with columns of any kind,
            or Samples (then leave out `y`). Images of up to 1,024 values (32 x 32 of grey) are taken as they
            are; larger ones and text want features of a pre-trained network first (`embed_images`,
            `embed_text`). The history of a training run is audited as it is, see `audit_history`.
        y: labels, any kind.
        model: a classifier of scikit-learn's kind (boosted trees, a pipeline, a skorch net), copies of which
            are asked about samples that they were not fitted on, instead of our networks; X is then given to
            it as it is, and may be anything that it reads.
        mode: "held-out" asks networks that never saw the sample (`repeats` x `folds` small trainings, done as
            one stack); "history" reads the confidences of a single short Gray Learning run.
        ids: one name a sample. None takes those of Samples or of a frame, else row numbers.
        classes: all classes, in the order to keep. None takes those of the labels.
        overlap: "none" where each sample has one true class that a person could tell (photos, texts, sounds),
            "possible" where classes may overlap (measured quantities): there a label that looks wrong may be
            right, and labels that are mistaken for one another are not flagged. "auto": none for images,
            texts and arrays of 32 columns or more, possible for tables.
        id_like: columns of a frame that seem to name the rows are left out, with a warning; "keep" learns
            from them.
        keep_labels: labels that seem to be another one misspelt, as "QS0" or "STAR ", are judged as the class
            that is meant, and are suspects themselves; True takes them for classes of their own.
        groups: one name a sample of what it belongs to, such as its video, patient or recording: samples of
            one group resemble one another, so that they are judged by those of others. None takes those of
            Samples, if any.
        folds: of each repeat. None takes 2, of a `model` 5.
        repeats: trainings of all folds. None takes 3, of a `model` or beyond 67 million class probabilities
            (30,000 samples of 2,200 classes) 1. Large sets that two networks learn from a part are left to
            these, unless repeats or epochs are told.
        epochs: of each training. None takes 6 for history, and for held-out 20, fewer beyond 50,000 samples.
        seed: of all random draws; the same data and seed give the same audit.
        device: where networks are trained and neighbours and kernels are compared.
        log: how far it is, as a "bar", as "lines" (one each half minute) or "none"; "auto" is a bar on a
            terminal and lines elsewhere.

    ```python
    import numpy as np

    import graylearn as gl

    random = np.random.default_rng(0)
    y = np.arange(300) % 5
    X = 6 * np.eye(5)[y] + random.normal(size=(300, 5))
    y[:30] = (y[:30] + 1) % 5                               # thirty labels are wrong
    found = gl.audit(X, y, repeats=1)
    found.table[found.suspected]                            # which, how sure, and what they look like
    ```
    """
    if isinstance(X, History):
        if groups is not None:
            raise SettingsError(SAW_ALL)
        return audit_history(X, y, ids=ids, classes=classes, overlap=overlap)
    if folds is None:
        folds = NETWORK_FOLDS if model is None else MODEL_FOLDS
    _check(model, mode)
    check({"folds": folds, "repeats": repeats, "epochs": epochs, "seed": seed, "log": log})
    label, names = _given_labels(X, y, classes)
    note_order(y, X)
    values = X.x if isinstance(X, Samples) else X
    where = devices.choose(device)
    group = groups_of(groups, X, len(label))
    if group is not None and mode == "history":
        raise SettingsError(SAW_ALL, Hint("mode", "held-out"))
    with shown("audit", log):
        row_ids = as_ids(ids, X, len(label))
        read = ordered_features if model is None else features_if_any
        features, order = read(values, label, id_like)
        given, counts = (label, names), np.bincount(label, minlength=len(names))
        looks = None if features is None else (label[order], features)
        meant = meant_by(names, counts, looks)
        note_labels(names, counts, meant, kept=keep_labels)
        meant = np.arange(len(names)) if keep_labels else meant
        label, names = merged(label, names, meant)
        label, learned = label[order], False
        group = None if group is None else group[order]
        answers = np.argsort(order)  # which of the samples in order answers for each of the user's
        if features is not None:
            asked, answering = asked_once(features, label)
            if len(asked) < len(label):  # no copy of the features without need: they are large
                features, label, order = features[asked], label[asked], order[asked]
                answers = answering[answers]
                group = None if group is None else group[asked]
        if len(label) < 2 * folds or len(np.unique(label)) < 2:
            network = np.full((len(label), len(names)), 1.0 / max(len(names), 1))
        elif model is not None:
            network = model_probabilities(
                model, values, order, label, names, folds=folds, repeats=repeats or 1, seed=seed, group=group
            )
        else:
            assert features is not None  # numbers or a refusal
            network, learned = _networks_say(
                mode, (features, label, len(names)), group, folds, repeats, epochs, seed=seed, device=where
            )
        word = overlap_of(overlap, X)

        def evidence_of(rows: Rows) -> Evidence:
            some = None if features is None else features[rows]
            return gather(network[rows], label[rows], names, some, mode, word, where, learned=learned)

        more = answers if len(answers) > len(order) else None
        found = Audit(**verdicts(evidence_of, label, features, row_ids[order], group, more))
        return as_written(replace(found.take(answers), ids=row_ids), *given, meant)


def _check(model: Any, mode: str) -> None:
    """Refuse what cannot be asked."""
    if mode not in ("held-out", "history"):
        raise SettingsError(f"mode is {mode!r}: use 'held-out' or 'history'")
    if model is not None:
        check_model(model)
        if mode != "held-out":
            raise SettingsError("a model of yours has no history: leave mode out", Hint("mode", "held-out"))


def _given_labels(X: Any, y: Any, classes: Any) -> tuple[Ints, tuple[Label, ...]]:
    """(y, or where it is left out the labels of Samples, as index in the classes; the classes)."""
    if isinstance(X, str | os.PathLike):
        raise DataError(f"X is the path {str(X)!r}: read the file first, audit(read(X, label=...))")
    if isinstance(y, str):
        raise DataError(f"y is the text {y!r}: where it names a column, give audit(read(X, label={y!r}))")
    if y is not None:
        return as_labels(y, classes)
    if not isinstance(X, Samples):
        raise DataError("y is missing: give the label of each sample, or pass Samples")
    if not X.classes:
        raise DataError("the samples have no labels: an audit needs the given label of each")
    return X.y, X.classes


def _networks_say(
    mode: Literal["held-out", "history"],
    given: tuple[NDArray[np.float32], Ints, int],
    group: Ints | None,
    folds: int,
    repeats: int | None,
    epochs: int | None,
    **drawn: Any,
) -> tuple[Floats, bool]:
    """(N, K) class probabilities by our own networks, and whether they learned the set from a part of it.

    given: features (N, D), labels (N,) and the number of classes. group: (N,), or None where samples stand
    alone. drawn: seed and device.
    """
    _, label, num_classes = given
    shape = len(label), num_classes
    if mode == "held-out" and folds == NETWORK_FOLDS and repeats is epochs is None and group is None:
        part = kept("networks of a part", shape, lambda: learned_from_a_part(*given, **drawn))
        if part is not None:
            return part, True

    def all_say() -> Floats:
        if mode == "history":
            chosen = HISTORY_EPOCHS if epochs is None else epochs
            return history_probabilities(train_for_history(*given, epochs=chosen, **drawn))
        rounds = repeats or rounds_for(len(label) * num_classes)
        return held_out_probabilities(
            *given, folds=folds, repeats=rounds, epochs=epochs, group=group, **drawn
        )

    return kept("networks", shape, all_say), False
