"""The fits of a run, stage by stage: first fit, audit, refined fit, and cross entropy to compare with.

Each stage leaves its result in the run folder, so that a run that was interrupted or killed goes on where it
stopped: trainings from their last checkpoint, the audit from its file.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from graylearn.audit import Audit
from graylearn.data.samples import Samples
from graylearn.errors import DataError
from graylearn.estimator import GrayClassifier
from graylearn.estimator.networks import training_settings
from graylearn.estimator.trainset import TrainingSet
from graylearn.methods import Method
from graylearn.runs.news import News
from graylearn.runs.prepare import Prepared
from graylearn.runs.settings import RunSettings
from graylearn.training import EpochEnd, Result, train
from graylearn.training.devices import choose

CHECKPOINTS = 10
"""Checkpoints of one training; more would cost small tables more time than the training itself."""

Phase = Literal["first", "audit", "refined", "standard"]
_TITLES: dict[Phase, str] = {
    "first": "first fit",
    "audit": "audit: a fit without half of the samples",
    "refined": "refined fit",
    "standard": "cross entropy, to compare with",
}


@dataclass
class Stages:
    """Where the stages of one classifier keep their results, and what they leave for the log."""

    folder: Path
    """The stages of the run folder."""
    news: News
    """Who is told."""
    phase: Phase
    """The stage at work."""
    after_first: Callable[[GrayClassifier], None] = lambda _: None
    """Called with the classifier between its first fit and its refined one."""
    logs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """One row an epoch, by stage."""
    trainings: int = 0
    """Of the stage at work, so far."""

    def start(self, phase: Phase) -> None:
        """Go on to another stage."""
        self.phase, self.trainings = phase, 0


class StagedClassifier(GrayClassifier):
    """A GrayClassifier whose `fit` keeps what it has finished, and goes on from it."""

    stages: Stages

    def _run(
        self,
        training_set: TrainingSet,
        network: nn.Module,
        method: str | Method,
        seed: int,
        validation: Any,
        *,
        weight: NDArray[np.float64] | None = None,
        one_epoch: bool = False,
    ) -> tuple[Result, int]:
        """One training run, as GrayClassifier makes it, with checkpoints."""
        stages = self.stages
        weight = training_set.weight if weight is None else weight
        folder = stages.folder / f"{stages.phase}-{stages.trainings}"
        stages.trainings += 1
        settings = training_settings(
            len(training_set.y),
            self.encoder_.shape,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            optimizer=self.optimizer,
            augment=self.augment,
            device=choose(self.device),
            precision=self.precision,
            seed=seed,
            log="none",
            checkpoint=folder,
            resume=True,
        )
        epochs = settings.epochs
        settings = dataclasses.replace(settings, checkpoint_epochs=math.ceil(epochs / CHECKPOINTS))
        with stages.news.working(_TITLES[stages.phase], epochs) as advance:

            def tell(end: EpochEnd) -> None:
                row = end.row
                words = (
                    f"epoch {end.epoch + 1}/{epochs}, loss {row['loss']:.4f}, accuracy {row['accuracy']:.3f}"
                )
                advance(end.epoch + 1, words)

            result = train(
                network,
                (training_set.x, training_set.y),
                method=method,
                settings=settings,
                sample_weight=weight if (weight != weight[0]).any() else None,
                callbacks=(tell,),
            )
            if result.interrupted:
                raise KeyboardInterrupt
        if stages.phase != "audit":
            stages.logs[stages.phase] = result.log
        return result, len(result.log)

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
            with stages.news.working("audit of the training set"):
                found = super()._audited(training_set, ids, seed)
            assert found is not None
            audit = found
            audit.save(folder)
        stages.start("refined")
        return audit


@dataclass(frozen=True)
class Fitted:
    """What the fits of a run gave."""

    classifier: GrayClassifier
    """The last fit, with its audit and history."""
    audit: Audit
    """The verdict on the training set."""
    test_probabilities: dict[str, NDArray[np.float64]]
    """(N, K) of the test set by way of learning, in the order of the classifier's classes."""
    test_places: NDArray[np.int64] | None
    """(N,) labels of the test set, places in the classifier's classes."""
    logs: dict[str, list[dict[str, Any]]]
    """One row an epoch, by stage."""


def fit_stages(prepared: Prepared, folder: Path, news: News) -> Fitted:
    """Run every stage that is not finished yet."""
    settings, test = prepared.settings, prepared.test
    said: dict[str, NDArray[np.float64]] = {}

    def after_first(classifier: GrayClassifier) -> None:
        if test is not None:
            said["gray" if settings.method == "gl" else settings.method] = classifier.predict_proba(test)

    classifier = make_classifier(settings)
    classifier.stages = Stages(folder, news, "first", after_first)
    classifier.fit(prepared.train)
    logs = classifier.stages.logs
    audit = classifier.audit_
    assert audit is not None
    places = None
    if test is not None:
        places = places_of(test, classifier)
        if classifier.refined_:
            said["refined"] = classifier.predict_proba(test)
        if settings.method != "standard":
            standard = make_classifier(settings, method="standard", audit=None, refine=False)
            standard.stages = Stages(folder, news, "standard", logs=logs)
            standard.fit(prepared.train)
            said = {"standard": standard.predict_proba(test), **said}
    return Fitted(classifier, audit, said, places, logs)


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
        "refine": settings.refine and settings.word == "fit",
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
