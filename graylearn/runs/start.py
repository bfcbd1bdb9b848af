"""`run`: one dataset from file to report. Read here first: every step is one call, in order."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from graylearn.data.formats import NAMELESS
from graylearn.data.inputs import is_hugging_face
from graylearn.errors import SettingsError
from graylearn.estimator.parameters import method_for
from graylearn.integrations.onnx import unexportable
from graylearn.methods import as_method
from graylearn.nets.registry import check_name
from graylearn.runs import outputs, report
from graylearn.runs.copies import copies_of
from graylearn.runs.crowd import has_annotators, prepare_crowd
from graylearn.runs.fit import fit_stages
from graylearn.runs.folder import RunFolder, check_same_data, writing
from graylearn.runs.large import audited_in_parts, is_large
from graylearn.runs.memory import tight
from graylearn.runs.pictures import odd_pictures
from graylearn.runs.prepare import prepare
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings, absolute
from graylearn.runs.summary import Outcome, summary_of
from graylearn.training import train
from graylearn.training.devices import choose
from graylearn.training.processes import led


def run(
    settings: RunSettings,
    out: str | Path,
    *,
    overwrite: bool = False,
    progress: RunProgress | None = None,
    source: Any = None,
) -> dict[str, Any]:
    """Read, fit, audit, fit again, report; gives the summary of the run that is now in the folder `out`.

    A folder that holds an unfinished run of the same settings is gone on with: what was finished is not
    done again, and the result is the same. A finished run is kept unless `overwrite`. `source` is a dataset
    of Hugging Face, streamed or not, that is read in blocks, several times over and each time in the same
    order, in place of the data of the settings, which then only name it.
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
        environment = outputs.write_environment(folder, settings.device)
        if source is not None or is_large(settings):
            summary = audited_in_parts(settings, folder, progress, environment, source)
        else:
            summary = _as_a_whole(settings, folder, progress, environment)
        folder.finish(summary)
    return summary


def _as_a_whole(
    settings: RunSettings, folder: RunFolder, progress: RunProgress, environment: dict[str, Any]
) -> dict[str, Any]:
    """The run of data that fit into memory; gives the summary."""
    began = time.perf_counter()
    if (words := tight(settings)) is not None:
        progress.say(words)
    crowd = None
    if has_annotators(settings):
        prepared, crowd = prepare_crowd(settings, folder, progress)
    else:
        prepared = prepare(settings, folder.stages, progress)
    check_same_data(folder, settings.data, prepared.fingerprint)
    folder.write_settings(prepared.settings)
    outputs.write_data(folder, prepared)
    fitted = fit_stages(prepared, folder.stages, progress)
    copies = copies_of(prepared, progress)
    pictures = odd_pictures(prepared.shown, prepared.origin)
    outputs.write_verdicts(folder, fitted.audit, copies, pictures)
    outputs.write_log(folder, fitted.logs)
    if settings.command == "fit":
        outputs.write_model(folder, fitted.classifier)
        if (why := unexportable(fitted.classifier)) is not None:
            progress.say(why)
    outcome = Outcome(prepared, fitted, copies, crowd, pictures)
    summary = summary_of(outcome, folder, time.perf_counter() - began)
    summary["data_notes"] = progress.notes
    with progress.working("writing the report"):
        summary["fingerprint"] = report.make_report(folder, outcome, summary, environment)
    return summary
