"""The fits of a run, stage by stage: first fit, audit, refined fit, and cross entropy to compare with.

Each stage leaves its result in the run folder, so that a run that was interrupted or killed goes on where it
stopped: single networks from their last checkpoint, the audit from its file.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from graylearn.audit import Audit
from graylearn.audit.parts import PartFiles, Whole, of_part
from graylearn.data.atomic import replacing_folder
from graylearn.data.samples import Samples
from graylearn.errors import DataError
from graylearn.estimator import GrayClassifier
from graylearn.estimator.fitting import fit_set
from graylearn.estimator.inputs import InputEncoder, is_images
from graylearn.estimator.pipeline import Made, Run, Stage, Stages
from graylearn.estimator.trainset import InParts, TrainingSet
from graylearn.options import Learning
from graylearn.runs.prepare import FITTED, Prepared, encoded
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import CALLED, RunSettings
from graylearn.training import Result, Settings

OF_A_FIT = (
    "method", "network", "epochs", "batch_size", "learning_rate", "clip_norm", "accumulate", "average",
)  # fmt: skip
"""Settings of the network that a fit makes, which an audit by views does not train."""
CHECKPOINTS = 10
"""Checkpoints of one training; more would cost small tables more time than the training itself."""

_TITLES: dict[str, str] = {
    "features": "making features of the samples",
    "first": "first fit",
    "audit": "audit of the training set",
    "refined": "second fit",  # which may learn the labels as they are: a note says so
    "standard": "cross entropy, to compare with",
}


@dataclass
class FolderStages(Stages):
    """Stages that keep what they have finished in a folder, go on from it, and tell of it."""

    folder: Path
    """The stages of the run folder."""
    progress: RunProgress
    """Shows how far each stage is."""
    first: str = "first"
    """What the first fit is called."""
    logs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """One row per epoch, by stage."""
    first_network: nn.Module | None = None
    """Of the first fit, once it is trained."""
    trainings: Counter[str] = field(default_factory=Counter)
    """So far, by stage."""

    def train(self, stage: Stage, settings: Settings, run: Run) -> Result:
        """One network, from its checkpoint where there is one."""
        name = self.first if stage == "first" else stage
        checkpoint = self.folder / f"{name}-{self.trainings[name]}"
        self.trainings[name] += 1
        settings = dataclasses.replace(
            settings,
            log="bar" if self.progress.shows else "none",
            checkpoint=checkpoint,
            checkpoint_epochs=math.ceil(settings.epochs / CHECKPOINTS),
            resume=True,
        )
        began = time.perf_counter()
        result = run(settings)
        self.progress.trained(_TITLES[name], result.log, time.perf_counter() - began)
        if stage != "audit":
            self.logs[name] = result.log
        if stage == "first":
            self.first_network = result.model
        return result

    def keep(self, stage: Stage, make: Callable[[], Made]) -> Made:
        """The audit, from its file where it was made before; features and the refined fit are made."""
        folder = self.folder / "audit"
        if stage == "audit" and (folder / "audit.json").exists():
            return cast("Made", Audit.load(folder))
        with self.progress.working(_TITLES[stage]):
            made = make()
        if isinstance(made, Audit):
            with replacing_folder(folder) as partial:
                made.write(partial)
        return made


@dataclass(frozen=True)
class Fitted:
    """What the fits of a run gave."""

    classifier: GrayClassifier
    """The last fit, with its audit and history; not fitted where an audit alone needed no fit."""
    audit: Audit
    """The verdict on the training set."""
    test_probabilities: dict[str, NDArray[np.float64]]
    """(N, K) of the test set by way of learning, in the order of the classifier's classes; the model last."""
    test_labels: NDArray[np.int64] | None
    """(N,) labels of the test set, as indices into the classifier's classes."""
    logs: dict[str, list[dict[str, Any]]]
    """One row per epoch, by stage."""

    @property
    def refined(self) -> bool:
        """Whether the classifier learned what the audit believes."""
        return bool(getattr(self.classifier, "refined_", False))

    @property
    def curves(self) -> NDArray[np.float16] | None:
        """(epochs, N) confidence of the first fit in the given labels, where there was one."""
        history = getattr(self.classifier, "history_", None)
        return None if history is None else history.label_confidence


def fit_stages(prepared: Prepared, folder: Path, progress: RunProgress) -> Fitted:
    """Run every stage that is not finished yet, on samples in memory.

    An audit alone trains no network that it does not ask: only the audit by history reads the confidences of
    a first fit.
    """
    settings, stages = prepared.settings, FolderStages(folder, progress)
    by_history = settings.mode == "history" or (settings.mode == "auto" and is_images(prepared.train.x))
    if settings.command == "audit" and not by_history:
        tell_unused(settings, progress, OF_A_FIT, "; --mode history asks one that is trained as you say")
        alone = make_classifier(settings)
        return Fitted(alone, alone.audit_only(prepared.train, stages=stages), {}, None, stages.logs)

    def fit(classifier: GrayClassifier, stages: FolderStages) -> None:
        classifier.fit(prepared.train, stages=stages)

    return fit_and_measure(prepared, stages, fit)


def fit_and_measure(
    prepared: Prepared,
    stages: FolderStages,
    fit: Callable[[GrayClassifier, FolderStages], None],
    audit: Audit | None = None,
) -> Fitted:
    """Fit the classifier that the settings ask for, and measure it on the test set, if any, beside one that
    learned by cross entropy.

    audit: of the training set, where it was made before.
    """
    settings = prepared.settings
    fit(classifier := make_classifier(settings), stages)
    audit = audit or classifier.audit_
    assert audit is not None
    said: dict[str, NDArray[np.float64]] = {}
    if prepared.test is None or settings.command == "audit":
        return Fitted(classifier, audit, said, None, stages.logs)
    test = encoded(prepared.test, prepared.encoding, settings, stages.folder)
    labels = test_labels(test, classifier)
    if settings.method != "standard":
        standard = make_classifier(settings, method="standard", audit=None, refine=False)
        fit(standard, dataclasses.replace(stages, first="standard", trainings=Counter()))
        said["standard"] = standard.predict_proba(test)
    first = copy.copy(classifier)
    first.network_ = cast("nn.Module", stages.first_network)
    said["gray" if settings.method in ("auto", "gl") else settings.method] = first.predict_proba(test)
    if classifier.refined_ or classifier.members_ > 1:
        way = "refined" if classifier.refined_ else f"committee of {classifier.members_}"
        said[way] = classifier.predict_proba(test)
    return Fitted(classifier, audit, said, labels, stages.logs)


def tell_unused(
    settings: RunSettings, progress: RunProgress, names: Iterable[str], instead: str = ""
) -> None:
    """Say which of these settings an audit passes over, and what to do instead."""
    if unused := [name for name in names if getattr(settings, name) != getattr(RunSettings, name)]:
        progress.note(f"passing over {', '.join(unused)}: this audit trains no network{instead}")


def make_classifier(settings: RunSettings, **others: Any) -> GrayClassifier:
    """The classifier that the settings ask for."""
    called = {setting: option for option, setting in CALLED.items()}
    learning = dataclasses.fields(Learning)
    parameters = {called.get(each.name, each.name): getattr(settings, each.name) for each in learning}
    parameters |= {
        "augment": settings.augment or None,
        "refine": settings.refine and settings.command == "fit",
    }
    return GrayClassifier(**(parameters | others))


def test_labels(test: Samples, classifier: GrayClassifier) -> NDArray[np.int64]:
    """The labels of the test set as indices into the classes of the classifier."""
    index = {label: number for number, label in enumerate(classifier.classes_.tolist())}
    strange = [test.classes[k] for k in np.unique(test.y) if test.classes[k] not in index]
    if strange:
        raise DataError(f"the test set has the label {strange[0]!r}, which no training sample bears")
    return np.array([index[test.classes[k]] for k in test.y], dtype=np.int64)


def fit_parts(prepared: Prepared, whole: Whole, files: PartFiles, stages: FolderStages) -> Fitted:
    """The same of samples in the files of audited parts."""
    folders = files.having("rows")
    parts, given = [of_part(folder, "features") for folder in folders], prepared.shown.x
    encode: Callable[[NDArray[Any]], NDArray[np.float32]] = np.asarray
    if (encoder := prepared.table) is None:
        encoder = InputEncoder.fitted(np.array(parts[0][:FITTED]), "keep")
        encode, given = encoder.transform, np.array(parts[0][:2])
    groups = [of_part(folder, "groups") for folder in files.having("groups")]
    rows = np.searchsorted(whole.rows, np.concatenate([of_part(folder, "rows") for folder in folders]))
    labels = np.array(whole.verdicts["label"])
    samples = TrainingSet(
        x=InParts(parts, encode),
        y=labels[rows],
        weight=np.ones(len(rows)),
        rows=rows,
        features=None,
        labels=labels,
        ids=whole.rows,
        classes=np.asarray(prepared.classes),
        groups=np.concatenate(groups)[np.argsort(rows)] if groups else None,
        audits=lambda: (Audit.load(folder / "audit") for folder in folders),
    )

    def fit(classifier: GrayClassifier, stages: FolderStages) -> None:
        fit_set(classifier, samples, encoder, given, stages)

    return fit_and_measure(prepared, stages, fit, whole.kept)
