"""From a training set to an `Audit`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from graylearn.array_types import Ints
from graylearn.audit.inputs import described, one_class
from graylearn.audit.kinds import MISLABELLED, OK, SURE
from graylearn.audit.result import Audit
from graylearn.audit.verdict import Known, verdict
from graylearn.data.inputs import as_ids, as_labels
from graylearn.data.labels import meant_by, merged, note_labels, note_order
from graylearn.data.samples import Label, Samples
from graylearn.data.splits import groups_of
from graylearn.errors import DataError, Hint, SettingsError
from graylearn.options import IdLike, Log, OverlapSetting, check
from graylearn.progress import shown

SAW_ALL = "the network of a history saw the whole group of each sample: groups are audited held out;"
"""What is said of an audit that cannot heed groups."""
MODEL_FOLDS = 5


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
    device: Any = "cpu",
    log: Log = "auto",
) -> Audit:
    """Find the samples of a training set that do not belong.

    Args:
        X: numbers (N, ...), a sparse matrix, a frame of pandas, polars or pyarrow with columns of any kind,
            or Samples (then leave out `y`). Images of up to 1,024 values (32 x 32 of grey) are taken as they
            are; larger ones and text want features of a pre-trained network first (`embed_images`,
            `embed_text`). The history of a training run is audited as it is, see `Audit.from_history`.
        y: labels, any kind.
        model: a classifier of scikit-learn's kind (boosted trees, a pipeline, a skorch net), copies of which
            are asked about samples that they were not fitted on, beside the views of the features; X is then
            given to it as it is, and may be anything that it reads.
        mode: "held-out" asks views, and the model, that did not see the sample's label; "history" adds the
            confidences of a single short Gray Learning run.
        ids: one name per sample. None takes those of Samples or of a frame, else row numbers.
        classes: all classes, in the order to keep. None takes those of the labels.
        overlap: what you know of the classes: "none" where each sample has one true class that a person could
            tell (photos, texts, sounds), "possible" where a sample may lie between two (measured quantities).
            "auto" says nothing.
        id_like: columns of a frame that seem to name the rows are left out, with a warning; "keep" uses them.
        keep_labels: labels that seem to be another one misspelt, as "QS0" or "STAR ", are judged as the class
            that is meant, and are suspects themselves; True takes them for classes of their own.
        groups: one name per sample of what it belongs to, such as its video, patient or recording: samples of
            one group resemble one another, so that they are judged by those of others. None takes those of
            Samples, if any.
        folds: of each repeat, of a `model`. None takes 5.
        repeats: fits of all folds, of a `model`. None takes 1.
        epochs: of the run of mode "history". None takes 6.
        seed: of the model and of that run; views draw nothing by a seed.
        device: where that run is made.
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
    if hasattr(X, "finished_epochs"):  # a History, whose module brings torch
        if groups is not None:
            raise SettingsError(SAW_ALL)
        return Audit.from_history(X, y, ids=ids, classes=classes, overlap=overlap)
    _check(model, mode)
    check({"folds": folds, "repeats": repeats, "epochs": epochs, "seed": seed, "log": log})
    label, names = _given_labels(X, y, classes)
    note_order(y, X)
    values = X.x if isinstance(X, Samples) else X
    group = groups_of(groups, X, len(label))
    if group is not None and mode == "history":
        raise SettingsError(SAW_ALL, Hint("mode", "held-out"))
    with shown("audit", log):
        row_ids = as_ids(ids, X, len(label))
        describe: Callable[..., Any] = described
        if model is not None:
            from graylearn.audit.models import described_if_any as describe  # scikit-learn comes with it
        content, features = describe(values, label, id_like)
        written, counts = (label, names), np.bincount(label, minlength=len(names))
        meant = meant_by(names, counts, None if features is None else (label, features))
        note_labels(names, counts, meant, kept=keep_labels)
        meant = np.arange(len(names)) if keep_labels else meant
        label, names = merged(label, names, meant)
        if features is not None and (meant != np.arange(len(meant))).any():  # columns weigh by what is meant
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # told of above
                _, features = describe(values, label, id_like)
        given = None
        if len(np.unique(label)) >= 2 and len(label) >= 2 * (folds or MODEL_FOLDS):
            if model is not None:
                from graylearn.audit.models import model_probabilities

                order = np.lexsort([label, content])
                given = np.empty((len(label), len(names)))
                given[order] = model_probabilities(
                    model, values, order, label[order], names, folds=folds or MODEL_FOLDS,
                    repeats=repeats or 1, seed=seed, group=None if group is None else group[order],
                )  # fmt: skip
            elif mode == "history":
                from graylearn.audit.history import short_run

                assert features is not None
                given = short_run(
                    features, content, label, len(names), epochs=epochs, seed=seed, device=device
                )
        known = Known(row_ids, label, names, mode, content, features, given, group, one_class(overlap))
        return as_written(Audit(**verdict(known)), *written, meant)


def _check(model: Any, mode: str) -> None:
    """Refuse what cannot be asked."""
    if mode not in ("held-out", "history"):
        raise SettingsError(f"mode is {mode!r}: use 'held-out' or 'history'")
    if model is not None:
        from graylearn.audit.models import check_model

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


def as_written(found: Audit, label: Ints, names: Sequence[Label], meant: Ints) -> Audit:
    """The audit of the labels that are meant, as one of the labels (N,) that were given, index in names.

    meant: (K,) as `meant_by` gives it. A misspelt label is a wrong label whose class is known: that which is
    meant, or what the audit suggests of a sample that is suspected under that one too.
    """
    misspelt = meant[label] != label
    if not misspelt.any():
        return found
    judged = np.unique(meant)
    probabilities, beliefs = np.zeros((len(label), len(names))), np.zeros((len(label), len(names)))
    probabilities[:, judged], beliefs[:, judged] = found.probabilities, found.beliefs
    only = misspelt & (found.kind == OK)
    because = found.because.copy()
    for row in np.flatnonzero(misspelt):
        spelt = f"its label seems to be {names[meant[label[row]]]}, misspelt"
        because[row] = spelt if only[row] else f"{spelt}; {because[row]}"
    return replace(
        found,
        label=label,
        classes=tuple(names),
        probabilities=probabilities,
        beliefs=beliefs,
        because=because,
        confidence=np.where(misspelt, 0.0, found.confidence),
        score=np.where(only, 1.0, found.score),
        suspected=found.suspected | misspelt,
        level=np.where(only, SURE, found.level),
        kind=np.where(only, MISLABELLED, found.kind),
        suggested=np.append(judged, -1)[found.suggested],
        ranges={
            name: (low + only.mean(), high + only.mean()) if name != "ood" else (low, high)
            for name, (low, high) in found.ranges.items()
        },
    )
