"""What a run leaves in its folder for programs beside its verdicts: the model, the log, the environment."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from typing import Any

import torch

import graylearn
from graylearn.data.atomic import replacing_folder, write_text
from graylearn.estimator import GrayClassifier
from graylearn.estimator.saving import write_classifier
from graylearn.runs.files import write_json
from graylearn.runs.folder import RunFolder
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


def write_model(folder: RunFolder, classifier: GrayClassifier) -> None:
    """The classifier, in place of one that a killed run may have left."""
    with replacing_folder(folder.model) as partial:
        write_classifier(classifier, partial)


def write_log(folder: RunFolder, logs: dict[str, list[dict[str, Any]]]) -> None:
    """One row an epoch of every fit, each with the name of the fit."""
    rows = [{"fit": fit, **row} for fit, rows in logs.items() for row in rows]
    write_text(folder.log, "".join(json.dumps(row) + "\n" for row in rows))
