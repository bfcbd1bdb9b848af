"""What a run leaves for people and programs: tables, the log, the environment, the summary, the report."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import torch
from sklearn.metrics import confusion_matrix

from graylearn import metrics
from graylearn.audit import KINDS, Audit
from graylearn.audit.annotators import Crowd
from graylearn.audit.duplicates import Duplicates
from graylearn.audit.kinds import SURE
from graylearn.audit.slices import sentences, slices
from graylearn.data.atomic import replacing
from graylearn.data.formats import Origin
from graylearn.data.samples import Label
from graylearn.estimator import GrayClassifier
from graylearn.estimator.refine import LEAST_CLASSES
from graylearn.report import ReportData, write_report
from graylearn.report.payload import fingerprint_of
from graylearn.runs.copies import group_column, note_of
from graylearn.runs.crowd import crowd_in_numbers, note_of_crowd
from graylearn.runs.fit import Fitted
from graylearn.runs.folder import RunFolder, write_csv, write_json, write_text
from graylearn.runs.prepare import Encoding, Prepared
from graylearn.runs.report_parts import JUDGES, apply_command, id_word, likeness, looks, table_rows
from graylearn.training.devices import choose

_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "pillow", "safetensors")


def write_environment(folder: RunFolder, device: str | None) -> dict[str, Any]:
    """Versions and hardware, as far as they may change numbers."""
    chosen = choose(device)
    environment = {
        "graylearn": importlib.metadata.version("graylearn"),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in _PACKAGES},
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": str(chosen),
        "gpu": torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else None,
    }
    write_json(folder.environment, environment)
    return environment


def write_data(folder: RunFolder, prepared: Prepared) -> None:
    """What was read, for `predict` and `apply`: data.json and samples.parquet."""
    everything = prepared.everything
    labels = np.array([str(label) for label in everything.classes], dtype=object)
    columns: dict[str, Any] = {
        "id": pa.array([str(value) for value in everything.ids], pa.string()),
        "label": pa.array(labels[everything.y], pa.string()),
        "held_out": pa.array(prepared.held_out),
    }
    if prepared.image_hashes is not None:
        columns["sha256"] = pa.array(prepared.image_hashes, pa.string())
    with replacing(folder.samples) as partial:
        pa.parquet.write_table(pa.table(columns), partial)
    write_source(folder, prepared.source, prepared.fingerprint, prepared.encoding, everything.classes)


def write_source(
    folder: RunFolder,
    source: Origin,
    fingerprint: dict[str, Any],
    encoding: Encoding,
    classes: Sequence[Label],
) -> None:
    """data.json: what was read, and how."""
    write_json(
        folder.data,
        {
            "source": source.to_json(),
            "fingerprint": fingerprint,
            "encoding": asdict(encoding),
            "classes": [str(label) for label in classes],
        },
    )


def write_audit(folder: RunFolder, audit: Audit, copies: Duplicates | None = None) -> None:
    """The verdicts, as CSV and as Parquet; with the group of each sample that has copies."""
    table = audit.table
    if copies is not None:
        table = table.assign(group=group_column(copies))
    with replacing(folder.audit_csv) as partial:
        write_csv(partial, table)
    kind = audit.ids.dtype.kind
    typed = table.assign(
        id=table["id"] if kind in "iu" else table["id"].astype(str),
        suggested=pd.array(table["suggested"].tolist()),  # None beside numbers: a type that can be missing
        detector=table["detector"].astype("string"),  # text, if all are missing too
    )
    with replacing(folder.audit_parquet) as partial:
        typed.to_parquet(partial, index=False)


def write_log(folder: RunFolder, logs: dict[str, list[dict[str, Any]]]) -> None:
    """One row an epoch of every fit, each with the name of the fit."""
    rows = [{"fit": fit, **row} for fit, rows in logs.items() for row in rows]
    write_text(folder.log, "".join(json.dumps(row) + "\n" for row in rows))


def measured(fitted: Fitted) -> dict[str, dict[str, float]]:
    """Accuracy and calibration error on the test set, by way of learning."""
    labels = fitted.test_labels
    if labels is None:
        return {}
    return {
        way: {"accuracy": metrics.accuracy(said, labels), "ece": metrics.ece(said, labels)}
        for way, said in fitted.test_probabilities.items()
    }


def summary_of(
    prepared: Prepared,
    fitted: Fitted,
    folder: RunFolder,
    seconds: float,
    copies: Duplicates | None = None,
    crowd: Crowd | None = None,
) -> dict[str, Any]:
    """What was found and measured, for people and programs."""
    audit, settings = fitted.audit, prepared.settings
    kinds = {kind: int((audit.kind == k).sum()) for k, kind in enumerate(KINDS)}
    per_class = {}
    for index, label in enumerate(audit.classes):
        members = audit.label == index
        per_class[str(label)] = {
            "samples": int(members.sum()),
            **{kind: int((members & (audit.kind == k)).sum()) for k, kind in enumerate(KINDS)},
        }
    return {
        "command": settings.command,
        "run": str(folder.path.absolute()),
        "data": settings.data,
        "samples": len(audit),
        "held_out": int(prepared.held_out.sum()),
        "classes": len(audit.classes),
        "features": prepared.encoding.words,
        "method": fitted.classifier.method_,
        "audit": audit.mode,
        "found": kinds,
        "suspected": int(audit.suspected.sum()),
        "sure": int((audit.level == SURE).sum()),
        "overlap": audit.overlap,
        "contamination": audit.contamination,
        "ranges": {name: list(ends) for name, ends in audit.ranges.items()},
        "per_class": per_class,
        "worst": worst_of(audit),
        "copies": copies_in_numbers(copies),
        "annotators": None if crowd is None else crowd_in_numbers(crowd),
        "id_word": id_word(prepared, audit) or "id",
        "notes": notes_of(prepared, fitted, copies, crowd),
        "refined": fitted.refined,
        "test_samples": 0 if prepared.test is None else len(prepared.test),
        "test": measured(fitted),
        "seconds": round(seconds, 1),
        "report": str(folder.report.absolute()),
        "next": apply_command(prepared, folder.path),
        "model": str(folder.model.absolute()) if settings.command == "fit" else None,
    }


def copies_in_numbers(copies: Duplicates | None) -> dict[str, int] | None:
    """How many copies there are; None where nobody looked."""
    if copies is None:
        return None
    return {
        "groups": len(copies.groups),
        "samples": int((copies.group[: copies.count] >= 0).sum()),
        "contradicting": int(copies.contradicting.sum()),
        "leaked": len(copies.leaked),
    }


def notes_of(
    prepared: Prepared, fitted: Fitted, copies: Duplicates | None = None, crowd: Crowd | None = None
) -> list[str]:
    """What the reader of the findings should know, in plain sentences."""
    notes = [*fitted.audit.notes, *([] if crowd is None else [note_of_crowd(crowd)])]
    held_out = int(prepared.held_out.sum())
    if held_out:
        notes.append(
            f"{held_out:,} samples held out to measure on were not audited; apply keeps them as they are"
        )
    notes += slices_of(prepared, fitted.audit)
    if copies is not None and (told := note_of(copies)):
        notes.append(told)
    why_not = why_not_refined(fitted.classifier) if fitted.classifier.refine else None
    return notes if why_not is None else [*notes, why_not]


def slices_of(prepared: Prepared, audit: Audit) -> list[str]:
    """Where suspects gather, by columns that are no numbers and by folders; one folder a class is none."""
    x = prepared.shown.x
    is_table = isinstance(x, pd.DataFrame)
    frame = x.select_dtypes(exclude="number") if is_table else pd.DataFrame(index=audit.ids)
    folders = prepared.shown.ids if prepared.source.columns.path is not None else None
    if not audit.suspected.any():
        return []
    return sentences(slices(audit.suspected, frame, folders), float(audit.suspected.mean()))


def why_not_refined(classifier: GrayClassifier) -> str | None:
    """Why the second fit did not learn what the audit believes, where there were suspects; or None."""
    audit = classifier.audit_
    if classifier.refined_ or audit is None or not audit.suspected.any():
        return None
    if len(audit.classes) < LEAST_CLASSES:
        reason = (
            f"with fewer than {LEAST_CLASSES} classes a fit on what the audit believes measured no better"
        )
    else:
        reason = (
            "networks that had not seen the samples did not bear the suspects out clearly enough "
            "for a fit on what the audit believes"
        )
    who = "the model" if classifier.members_ == 1 else f"the committee of {classifier.members_}"
    return f"not refined: {who} learned the labels as they are, for {reason}"


def worst_of(audit: Audit, top: int = 5) -> list[dict[str, Any]]:
    """The strongest suspects."""
    rows = audit.table[audit.suspected].sort_values("score", ascending=False, kind="stable").head(top)
    return [
        {
            "id": str(row["id"]),
            "label": str(row["label"]),
            "score": round(row["score"], 4),
            "kind": row["kind"],
            "suggested": None if row["suggested"] is None else str(row["suggested"]),
        }
        for row in rows.to_dict("records")
    ]


def make_report(
    folder: RunFolder,
    prepared: Prepared,
    fitted: Fitted,
    summary: dict[str, Any],
    environment: dict[str, Any],
    data_notes: Sequence[str] = (),
    copies: Duplicates | None = None,
    crowd: Crowd | None = None,
) -> str:
    """The page a person opens; `data_notes` is what reading and encoding the data told.

    Gives its fingerprint, which decisions made in it carry.
    """
    audit, settings = fitted.audit, prepared.settings
    table = audit.table.assign(
        id=audit.ids if audit.ids.dtype.kind in "iu" else audit.ids.astype(str),
        label=[str(label) for label in audit.table["label"]],
        suggested=pd.Series(
            [None if label is None else str(label) for label in audit.table["suggested"]], dtype=object
        ),
    )
    facts = {
        "Data": Path(settings.data).name,
        "Samples": summary["samples"],
        "Classes": len(audit.classes),
        "Label": prepared.source.columns.label or "the folder of each image",
        "Learned from": prepared.encoding.words,
        "Method": f"{fitted.classifier.method_}" + (", refined" if fitted.refined else ""),
        "Audited by": {"held-out": "networks that did not see the sample"}.get(audit.mode, audit.mode),
        "Classes may overlap": "no: each sample has one true class" if audit.overlap == "none" else "yes",
        "Seed": str(settings.seed),
        "Seconds": summary["seconds"],
        "graylearn": environment["graylearn"],
        "Device": environment["gpu"] or environment["device"],
    }
    if prepared.source.columns.label is None and prepared.source.form != "folder":
        del facts["Label"]
    reliability = confusion = None
    if fitted.test_labels is not None:
        said = list(fitted.test_probabilities.values())[-1]  # of the model that was kept
        reliability = metrics.reliability(said, fitted.test_labels)
        confusion = confusion_matrix(
            fitted.test_labels, said.argmax(axis=1), labels=np.arange(len(audit.classes))
        )
    shown = ReportData(
        title=Path(settings.data).name,
        table=table,
        classes=tuple(str(label) for label in audit.classes),
        created=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        run=str(folder.path.absolute()),
        facts=facts,
        threshold=threshold_of(audit),
        notes=[*summary["notes"], *(note for note in data_notes if note not in summary["notes"])],
        contamination=summary["contamination"],
        ranges={name: (low, high) for name, (low, high) in summary["ranges"].items()},
        curves=fitted.curves,
        previews=looks(prepared),
        probabilities=audit.probabilities,
        judge=JUDGES[audit.mode],
        found_by=audit.found_by,
        confusions=audit.confusions,
        features=likeness(prepared, fitted.classifier),
        rows=table_rows(prepared, fitted.classifier),
        command=apply_command(prepared, folder.path),
        id_word=id_word(prepared, audit),
        reliability=reliability,
        confusion=confusion,
        accuracies={way: (values["accuracy"], None) for way, values in summary["test"].items()} or None,
        training_log=fitted.logs.get("first"),
        copies=copies,
        crowd=crowd,
    )
    write_report(folder.report, shown)
    return fingerprint_of(shown)


def threshold_of(audit: Audit) -> float | None:
    """The score from which on samples are flagged, where one score is the border."""
    flagged, rest = audit.score[audit.suspected], audit.score[~audit.suspected]
    if not len(flagged) or (len(rest) and rest.max() >= flagged.min()):
        return None
    return float(flagged.min())
