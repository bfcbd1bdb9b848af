"""`make_report`: the page of a run, and what it shows beside the audit itself: likeness, whole pictures."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from graylearn import metrics
from graylearn.audit.annotators import Crowd
from graylearn.audit.scaling import reduced, scaled
from graylearn.data.atomic import replacing
from graylearn.estimator import GrayClassifier
from graylearn.estimator.networks import outputs_of
from graylearn.report import Preview, image_preview, preview_samples
from graylearn.report.payload import fingerprint_of
from graylearn.report.write import data_of, render, rows_of
from graylearn.runs.copies import among
from graylearn.runs.crowd import crowd_among
from graylearn.runs.folder import RunFolder
from graylearn.runs.prepare import Prepared
from graylearn.runs.verdicts import Fitted, Found, gathered_in, id_word

OVERLAP = {"none": "no: each sample has one true class", "possible": "yes", "auto": "not said"}


def make_report(
    folder: RunFolder,
    found: Found,
    crowd: Crowd | None,
    summary: dict[str, Any],
    environment: dict[str, Any],
) -> str:
    """The page a person opens.

    Gives its fingerprint, which decisions made in it carry.
    """
    prepared, fitted, audit = found.prepared, found.fitted, found.fitted.audit
    reliability, confusion = _on_test_set(fitted)
    copies, pictures, curves = found.copies, found.pictures, fitted.curves
    if (shown := found.shown) is not None:
        copies = None if copies is None else among(copies, shown)
        pictures = {words: np.flatnonzero(np.isin(shown, odd)).tolist() for words, odd in pictures.items()}
        crowd = None if crowd is None else crowd_among(crowd, shown)
        curves = None if curves is None else curves[:, shown]
    data = data_of(
        audit,
        title=Path(prepared.settings.data).name,
        created=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        run=str(folder.path.absolute()),
        facts=_facts(prepared, fitted, summary, environment),
        notes=summary["notes"],
        reading=summary["data_notes"],
        checks=pictures,
        gathered=[(words, *where) for words, where in gathered_in(prepared, audit).items()],
        contamination=summary["contamination"],
        ranges={name: (low, high) for name, (low, high) in summary["ranges"].items()},
        look_first=summary["look_first"],
        curves=curves,
        previews=looks(prepared),
        features=likeness(prepared, fitted.classifier),
        rows=table_rows(prepared, fitted.classifier),
        command=summary["next"],
        id_word=id_word(prepared, audit),
        reliability=reliability,
        confusion=confusion,
        accuracies={way: (values["accuracy"], None) for way, values in summary["test"].items()} or None,
        training_log=fitted.logs.get("first"),
        copies=copies,
        groups=group_names(prepared),
        crowd=crowd,
    )
    with replacing(folder.report) as partial:
        partial.write_bytes(render(data))
    return fingerprint_of(data)


def _facts(
    prepared: Prepared, fitted: Fitted, summary: dict[str, Any], environment: dict[str, Any]
) -> dict[str, Any]:
    """What the page says about the run."""
    audit, settings = fitted.audit, prepared.settings
    facts = {
        "Data": Path(settings.data).name,
        "Samples": summary["samples"],
        "Classes": len(audit.classes),
        "Label": prepared.origin.columns.label or "the folder of each image",
        "Learned from": prepared.encoding.words,
        "Method": f"{fitted.classifier.method_}" + (", refined" if fitted.refined else ""),
        "Audited by": {"held-out": "views that did not see the label"}.get(audit.mode, audit.mode),
        "Classes may overlap": OVERLAP[audit.overlap],
        "Judge": audit.judge,
        "Seed": str(settings.seed),
        "Seconds": summary["seconds"],
        "graylearn": environment["graylearn"],
        "Device": environment["gpu"] or environment["device"],
    }
    if prepared.origin.columns.label is None and prepared.origin.form != "folder":
        del facts["Label"]
    return facts


def _on_test_set(fitted: Fitted) -> tuple[metrics.Reliability | None, NDArray[Any] | None]:
    """(calibration, confusions) of the model that was kept; None without a test set."""
    if fitted.test_labels is None:
        return None, None
    said = list(fitted.test_probabilities.values())[-1]
    classes = np.arange(len(fitted.audit.classes))
    confusion = confusion_matrix(fitted.test_labels, said.argmax(axis=1), labels=classes)
    return metrics.reliability(said, fitted.test_labels), confusion


def likeness(prepared: Prepared, classifier: GrayClassifier) -> NDArray[Any] | None:
    """(N, D) numbers by which samples are alike: features, or of pictures what the network reads in them."""
    x = classifier.encoder_.transform(prepared.train.x)
    if x.ndim == 2:
        return reduced(scaled(x))
    if not hasattr(classifier, "network_"):  # an audit alone
        return None
    _, features = outputs_of(classifier.network_, x, classifier.preparation_)
    return None if features is None else reduced(scaled(features))


def looks(prepared: Prepared) -> Callable[[int], Preview | None]:
    """What each sample looks like: rows with the columns that were left out, pictures whole, from their
    files, not cropped as they are learned."""
    shown = prepared.shown
    if isinstance(shown.x, pd.DataFrame) and prepared.others is not None:  # a person may judge by them too
        shown = replace(shown, x=pd.concat([shown.x, prepared.others.set_axis(shown.x.index)], axis=1))
    cropped, origin = preview_samples(shown), prepared.origin
    are_paths = origin.form == "folder" or (origin.columns.path is not None and origin.columns.id is None)
    if not are_paths:
        return cropped

    def whole(index: int) -> Preview | None:
        try:
            return image_preview(origin.root / str(shown.ids[index]))
        except Exception:  # a file that is gone or odd: what was learned from is still known
            return cropped(index)

    return whole


def group_names(prepared: Prepared) -> list[str] | None:
    """(N,) what the group of each sample is called; None where each stands alone."""
    groups, column, others = prepared.shown.groups, prepared.origin.columns.group, prepared.others
    if groups is None:
        return None
    if others is None or column not in others.columns:
        return [str(number) for number in groups]
    names = dict(zip(groups.tolist(), map(str, others[column]), strict=True))
    times = Counter(names.values())  # a word for no group is the name of many, each of which stands alone
    return [names[each] if times[names[each]] == 1 else f"{names[each]} {each}" for each in groups.tolist()]


def table_rows(prepared: Prepared, classifier: GrayClassifier) -> pd.DataFrame | None:
    """The rows of a table, by the columns that were learned from, or of numbers; None of other data."""
    rows, encoder = rows_of(prepared.shown), classifier.encoder_.table
    if rows is None or encoder is None:
        return rows
    return rows[[name for name in rows.columns if str(name) in encoder.kinds_]]
