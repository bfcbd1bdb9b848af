"""The model of a finished run, with what is needed to ask it: how data like its own are read and encoded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graylearn.data.formats import Origin
from graylearn.errors import SettingsError
from graylearn.estimator import GrayClassifier
from graylearn.runs.folder import RunFolder
from graylearn.runs.settings import RunSettings
from graylearn.runs.source import Encoding, read_source


@dataclass(frozen=True)
class RunModel:
    """What a run folder of `fit` holds for new samples."""

    settings: RunSettings
    origin: Origin
    """What was read."""
    encoding: Encoding
    """How samples become features."""
    classifier: GrayClassifier


def load_model(run: str | Path) -> RunModel:
    """The model of the run in this folder; a run that is not finished, or an audit, is an error."""
    folder = RunFolder(run)
    folder.check_finished()
    settings = folder.settings()
    if settings.command == "audit":
        raise SettingsError(f"{folder.path} holds an audit without a model; make one with graylearn fit")
    saved = read_source(folder)
    return RunModel(settings, saved.origin, saved.encoding, GrayClassifier.load(folder.model))
