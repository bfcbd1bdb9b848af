"""The fits of a run, stage by stage: first fit, audit, refined fit, and cross entropy to compare with.

Each stage leaves its result in the run folder, so that a run that was interrupted or killed goes on where it
stopped: single networks from their last checkpoint, the audit and the finished classifier from their files.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graylearn.audit import Audit
from graylearn.data.atomic import replacing
from graylearn.data.samples import Samples
from graylearn.errors import DataError
from graylearn.estimator import GrayClassifier
from graylearn.estimator.trainset import TrainingSet
from graylearn.runs.folder import write_json
from graylearn.runs.prepare import Prepared
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings
from graylearn.training import Result, Settings

CHECKPOINTS = 10
"""Checkpoints of one training; more would cost small tables more time than the training itself."""

Phase = Literal["first", "audit", "refined", "standard"]
_TITLES: dict[Phase, str] = {
    "first": "first fit",
    "audit": "audit of the training set",
    "refined": "refined fit",
    "standard": "cross entropy, to compare with",
}


@dataclass
class Stages:
    """Where the stages of one classifier keep their results, and what they leave for the log."""

    folder: Path
    """The stages of the run folder."""
    progress: RunProgress
    """Who is told."""
    phase: Phase
    """The stage at work."""
    after_first: Callable[[GrayClassifier], None] = lambda _: None
    """Called with the classifier between its first fit and its refined one."""
    logs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """One row an epoch, by stage."""
    trainings: int = 0
    """Of the stage at work, so far."""
    checkpoint: Path | None = None
    """Of the training at work; None where it cannot keep any."""

    def start(self, phase: Phase) -> None:
        """Go on to another stage."""
        self.phase, self.trainings = phase, 0


class StagedClassifier(GrayClassifier):
    """A GrayClassifier whose `fit` keeps what it has finished, and goes on from it."""

    stages: Stages

    def _settings(self, *given: Any, **options: Any) -> Settings:
        """How to train, with checkpoints where one network is trained alone."""
        stages, settings = self.stages, super()._settings(*given, **options)
        settings = dataclasses.replace(settings, log=stages.progress.engine_log)
        if stages.checkpoint is None:
            return settings
        every = math.ceil(settings.epochs / CHECKPOINTS)
        return dataclasses.replace(
            settings, checkpoint=stages.checkpoint, checkpoint_epochs=every, resume=True
        )

    def _run(self, *given: Any, **options: Any) -> tuple[Result, int]:
        """One network, from its checkpoint where there is one."""
        stages = self.stages
        stages.checkpoint = stages.folder / f"{stages.phase}-{stages.trainings}"
        stages.trainings += 1
        try:
            with stages.progress.training(_TITLES[stages.phase]) as done:
                result, epochs = super()._run(*given, **options)
                done(result.log)
        finally:
            stages.checkpoint = None
        if stages.phase != "audit":
            stages.logs[stages.phase] = result.log
        return result, epochs

    def _audited(self, training_set: TrainingSet, ids: NDArray[Any], seed: int) -> Audit | None:
        """The audit, from its file where it was made before."""
        stages = self.stages
        stages.after_first(self)
        if self.audit is None:
            return None
        stages.start("audit")
        folder = stages.folder / "audit"
        if (folder / "audit.json").exists():
            audit = Audit.load(folder)
        else:
            with stages.progress.working(_TITLES["audit"]):
                found = super()._audited(training_set, ids, seed)
            assert found is not None
            audit = found
            audit.save(folder)
        stages.start("refined")
        return audit

    def _fit_again(self, *given: Any, **options: Any) -> None:
        """The second fit."""
        with self.stages.progress.working(_TITLES["refined"]):
            super()._fit_again(*given, **options)


@dataclass(frozen=True)
class Fitted:
    """What the fits of a run gave."""

    classifier: GrayClassifier
    """The last fit, with its audit and history."""
    audit: Audit
    """The verdict on the training set."""
    test_probabilities: dict[str, NDArray[np.float64]]
    """(N, K) of the test set by way of learning, in the order of the classifier's classes; the model last."""
    test_places: NDArray[np.int64] | None
    """(N,) labels of the test set, places in the classifier's classes."""
    logs: dict[str, list[dict[str, Any]]]
    """One row an epoch, by stage."""


def fit_stages(prepared: Prepared, folder: Path, progress: RunProgress) -> Fitted:
    """Run every stage that is not finished yet."""
    settings, test = prepared.settings, prepared.test
    classifier, first_said, logs = _fitted(prepared, folder, progress)
    audit = classifier.audit_
    assert audit is not None
    said: dict[str, NDArray[np.float64]] = {}
    places = None
    if test is not None:
        places = places_of(test, classifier)
        if settings.method != "standard":
            standard = make_classifier(settings, method="standard", audit=None, refine=False)
            standard.stages = Stages(folder, progress, "standard", logs=logs)
            said["standard"] = standard.fit(prepared.train).predict_proba(test)
        said["gray" if settings.method in ("auto", "gl") else settings.method] = first_said
        if classifier.refined_ or classifier.members_ > 1:
            way = "refined" if classifier.refined_ else f"committee of {classifier.members_}"
            said[way] = classifier.predict_proba(test)
    return Fitted(classifier, audit, said, places, logs)


def _fitted(
    prepared: Prepared, folder: Path, progress: RunProgress
) -> tuple[GrayClassifier, NDArray[np.float64], dict[str, list[dict[str, Any]]]]:
    """The classifier, what its first fit said of the test set, and the logs; from files where finished."""
    finished, said_file, log_file = folder / "fitted", folder / "said.npy", folder / "logs.json"
    if (finished / "model.json").exists():
        logs: dict[str, list[dict[str, Any]]] = json.loads(log_file.read_text(encoding="utf-8"))
        return GrayClassifier.load(finished), np.load(said_file), logs
    said: list[NDArray[np.float64]] = []

    def after_first(fitted: GrayClassifier) -> None:
        if prepared.test is not None:
            said.append(fitted.predict_proba(prepared.test))

    classifier = make_classifier(prepared.settings)
    classifier.stages = Stages(folder, progress, "first", after_first)
    classifier.fit(prepared.train)
    with replacing(said_file) as partial, partial.open("wb") as file:
        np.save(file, said[0] if said else np.empty((0, len(classifier.classes_))))
    write_json(log_file, classifier.stages.logs)
    classifier.save(finished)  # last: a folder that has it has the others
    return classifier, np.load(said_file), classifier.stages.logs


def make_classifier(settings: RunSettings, **others: Any) -> StagedClassifier:
    """The classifier that the settings ask for."""
    parameters: dict[str, Any] = {
        "method": settings.method,
        "network": settings.network,
        "epochs": settings.epochs,
        "batch_size": settings.batch_size,
        "learning_rate": settings.learning_rate,
        "augment": settings.augment or None,
        "audit": settings.mode,
        "refine": settings.refine and settings.command == "fit",
        "precision": settings.precision,
        "device": settings.device,
        "random_state": settings.seed,
    }
    return StagedClassifier(**(parameters | others))


def places_of(test: Samples, classifier: GrayClassifier) -> NDArray[np.int64]:
    """The labels of the test set as places in the classes of the classifier."""
    place = {label: position for position, label in enumerate(classifier.classes_.tolist())}
    strange = [test.classes[k] for k in np.unique(test.y) if test.classes[k] not in place]
    if strange:
        raise DataError(f"the test set has the label {strange[0]!r}, which no training sample bears")
    return np.array([place[test.classes[k]] for k in test.y], dtype=np.int64)
