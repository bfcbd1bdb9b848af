"""`run`: one dataset from file to report. Read here first: every step is one call, in order."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import graylearn
from graylearn.data.atomic import replacing_folder, write_json, write_text
from graylearn.data.formats import NAMELESS
from graylearn.data.inputs import is_hugging_face
from graylearn.errors import SettingsError
from graylearn.estimator.networks import method_for
from graylearn.estimator.saving import write_classifier
from graylearn.integrations.onnx import unexportable
from graylearn.methods import as_method
from graylearn.nets import check_name
from graylearn.runs.crowd import crowd_of_samples, with_consensus
from graylearn.runs.find import find
from graylearn.runs.folder import RunFolder, check_same_data, writing
from graylearn.runs.prepare import prepare
from graylearn.runs.progress import RunProgress
from graylearn.runs.results import make_report, summary_of, write_verdicts
from graylearn.runs.settings import RunSettings, absolute
from graylearn.training import train
from graylearn.training.devices import choose
from graylearn.training.processes import led

_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "pillow", "safetensors")


def run(
    settings: RunSettings,
    out: str | Path,
    *,
    overwrite: bool = False,
    progress: RunProgress | None = None,
    source: Any = None,
) -> dict[str, Any]:
    """Read, fit, audit, fit again and report into the folder `out`; returns the summary.

    An unfinished run of the same settings in the folder is resumed, with the same result. A finished run is
    kept unless `overwrite`. `source` is a Hugging Face dataset, streamed or not, that takes the place of the
    data of the settings, which then only name it; it is read in blocks, several times in the same order.
    """
    with led(settings.device, train) as goes_the_way:
        return _run(settings, out, overwrite, progress or RunProgress(), source) if goes_the_way else {}


def _run(
    settings: RunSettings, out: str | Path, overwrite: bool, progress: RunProgress, source: Any
) -> dict[str, Any]:
    if source is not None:
        if not is_hugging_face(source):
            raise SettingsError(
                f"source is {type(source).__name__}, expected a dataset of Hugging Face: name files with data"
            )
        settings = replace(settings, data=settings.data or NAMELESS)
    settings.check_data()
    # refuse a name or a device that is not there before any work is done
    as_method(method_for(settings.method, ()))
    choose(settings.device)
    if settings.network != "auto":
        check_name(settings.network)
    if source is None:
        settings = replace(settings, **absolute(vars(settings), Path()))
    with writing(out, settings, overwrite=overwrite) as folder, progress.of_warnings():
        progress.also_to(folder.run_log)
        if folder.is_started:
            progress.say(f"going on with the unfinished run in {folder.path}")
        folder.stages.mkdir(exist_ok=True)
        environment = write_environment(folder, settings.device)
        summary = _made(settings, folder, progress, environment, source)
        folder.finish(summary)
    return summary


def _made(
    settings: RunSettings, folder: RunFolder, progress: RunProgress, environment: dict[str, Any], source: Any
) -> dict[str, Any]:
    """Write all files of the run; returns its summary."""
    began, crowd = time.perf_counter(), None
    reading = settings
    if settings.annotators or settings.annotations is not None:  # whose labels are brought together first
        reading, crowd = with_consensus(settings, folder, progress)
    data = prepare(reading, folder.stages, progress, source)
    if crowd is not None:  # with the settings that would repeat the run, not those that read the consensus
        data = replace(data, settings=replace(settings, features=data.settings.features))
    check_same_data(folder, data.origin.path, data.fingerprint)
    folder.write_settings(data.settings)
    folder.write_source(data)
    found = find(data, folder.stages, progress)
    with progress.working("writing the verdicts", found.samples) as advance:
        found = found.showing(write_verdicts(folder, found, advance))
    rows = [{"fit": fit, **row} for fit, rows in found.fitted.logs.items() for row in rows]
    write_text(folder.log, "".join(json.dumps(row) + "\n" for row in rows))
    if found.model is not None:
        with replacing_folder(folder.model) as partial:  # in place of one that a killed run may have left
            write_classifier(found.model, partial)
        if (why := unexportable(found.model)) is not None:
            progress.say(why)
    if crowd is not None:
        crowd = crowd_of_samples(crowd, folder, found.prepared.origin)
    summary = summary_of(found, crowd, folder, time.perf_counter() - began)
    summary["data_notes"] = progress.notes
    with progress.working("writing the report"):
        summary["fingerprint"] = make_report(folder, found, crowd, summary, environment)
    folder.write_source(found.prepared)
    return summary


def write_environment(folder: RunFolder, device: str | None) -> dict[str, Any]:
    """environment.json: versions and hardware that may change results."""
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
