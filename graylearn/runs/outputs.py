"""What a run leaves in its folder for programs: what was read, the verdicts, the log, the environment."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import torch

import graylearn
from graylearn.audit import Audit
from graylearn.audit.duplicates import Duplicates
from graylearn.data.atomic import replacing, replacing_folder, write_text
from graylearn.data.csv_files import write_csv
from graylearn.estimator import GrayClassifier
from graylearn.estimator.saving import write_classifier
from graylearn.runs.copies import group_column
from graylearn.runs.files import write_json
from graylearn.runs.folder import RunFolder
from graylearn.runs.pictures import Checks, column
from graylearn.runs.prepare import Prepared
from graylearn.runs.source import write_source
from graylearn.training.devices import choose

_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "pillow", "safetensors")


def write_environment(folder: RunFolder, device: str | None) -> dict[str, Any]:
    """Versions and hardware, as far as they may change numbers."""
    chosen = choose(device)
    environment = {
        "graylearn": graylearn.__version__,
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
    write_source(folder, prepared.origin, prepared.fingerprint, prepared.encoding, everything.classes)


def write_verdicts(
    folder: RunFolder, audit: Audit, copies: Duplicates | None, pictures: Checks | None = None
) -> None:
    """audit.csv and audit.parquet: one row per sample, with its group if copies were looked for, and what is
    odd about its picture if some are."""
    table = audit.table
    if copies is not None:
        table = table.assign(group=group_column(copies))
    if pictures:
        table = table.assign(picture=pd.array(column(pictures, len(table)), dtype="string"))
    write_csv(folder.audit_csv, table)
    kind = audit.ids.dtype.kind
    typed = table.assign(
        id=table["id"] if kind in "iu" else table["id"].astype(str),
        suggested=pd.array(table["suggested"].tolist()),  # None beside numbers: a type that can be missing
    )
    with replacing(folder.audit_parquet) as partial:
        typed.to_parquet(partial, index=False)


def write_model(folder: RunFolder, classifier: GrayClassifier) -> None:
    """The classifier, in place of one that a killed run may have left."""
    with replacing_folder(folder.model) as partial:
        write_classifier(classifier, partial)


def write_log(folder: RunFolder, logs: dict[str, list[dict[str, Any]]]) -> None:
    """One row an epoch of every fit, each with the name of the fit."""
    rows = [{"fit": fit, **row} for fit, rows in logs.items() for row in rows]
    write_text(folder.log, "".join(json.dumps(row) + "\n" for row in rows))
