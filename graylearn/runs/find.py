"""`find`: audit the data of a run and fit a model if asked to, in memory or part by part in files.

The fits go stage by stage: first fit, audit, refined fit, and cross entropy to compare with. Each leaves its
result in the run folder, so that an interrupted or killed run resumes where it stopped: networks from their
last checkpoint, audits and parts from their files.

A set in parts is read in blocks, in memory that does not grow with it: to count labels, to encode and deal
the samples to parts, and to write the verdicts in the order of the data; a table once more, to learn how its
columns are encoded.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from graylearn.array_types import Ints
from graylearn.audit import Audit
from graylearn.audit.duplicates import Duplicates, grouped
from graylearn.audit.parts import Dealing, PartFiles, Whole, audit_part, of_part, part_size, whole_of
from graylearn.data.atomic import replacing_folder
from graylearn.data.formats import FORMATS
from graylearn.data.read import Blocks
from graylearn.data.samples import Samples
from graylearn.data.splits import row_numbers
from graylearn.errors import DataError, Hint
from graylearn.estimator import GrayClassifier
from graylearn.estimator.fitting import fit_set
from graylearn.estimator.inputs import InputEncoder, is_images
from graylearn.estimator.pipeline import Made, Run, Stage, Stages
from graylearn.estimator.trainset import InParts, TrainingSet
from graylearn.lazy import require
from graylearn.options import Learning
from graylearn.runs.oddities import copies_among, looks_of, odd_pictures
from graylearn.runs.prepare import FITTED, Prepared, check_ids, encoded
from graylearn.runs.progress import RunProgress
from graylearn.runs.results import FOUND, Fitted, Found
from graylearn.runs.settings import CALLED, RunSettings
from graylearn.training import Result, Settings
from graylearn.training.devices import choose

OF_A_FIT = (
    "method", "network", "epochs", "batch_size", "learning_rate", "clip_norm", "accumulate", "average",
)  # fmt: skip
"""Settings of a fitted network; an audit by views trains none and ignores them."""
CHECKPOINTS = 10
"""Checkpoints of one training; more would cost small tables more time than the training itself."""

_TITLES: dict[str, str] = {
    "features": "making features of the samples",
    "first": "first fit",
    "audit": "audit of the training set",
    "refined": "second fit",  # which may learn the labels as they are: a note says so
    "standard": "cross entropy, to compare with",
}


def find(prepared: Prepared, stages: Path, progress: RunProgress) -> Found:
    """Audit the data, and fit if the settings say so, as a whole in memory or in parts in files."""
    if prepared.blocks is not None:
        return find_in_parts(prepared, prepared.blocks, stages, progress).with_solid_of_no_class()
    fitted, shown = fit_stages(prepared, stages, progress), prepared.shown
    return Found(
        prepared=prepared,
        fitted=fitted,
        verdicts={name: getattr(fitted.audit, name) for name in FOUND},
        contamination=fitted.audit.contamination,
        ranges=fitted.audit.ranges,
        copies=copies_among(shown, prepared.test, prepared.settings.duplicates, progress),
        pictures=odd_pictures(looks_of(shown, prepared.origin)),
    ).with_solid_of_no_class()


@dataclass
class FolderStages(Stages):
    """Stages that keep finished work in a folder, resume from it, and report progress."""

    folder: Path
    """`stages/` of the run folder."""
    progress: RunProgress
    """Shows how far each stage is."""
    first: str = "first"
    """What the first fit is called."""
    logs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """One row per epoch, by stage."""
    first_network: nn.Module | None = None
    """The network of the first fit, once trained."""
    trainings: Counter[str] = field(default_factory=Counter)
    """Number of trainings so far, by stage."""

    def train(self, stage: Stage, settings: Settings, run: Run) -> Result:
        """Train one network, from its checkpoint if there is one."""
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
        """Load the audit if it was made before; features and the refined fit are always made."""
        folder = self.folder / "audit"
        if stage == "audit" and (folder / "audit.json").exists():
            return cast("Made", Audit.load(folder))
        with self.progress.working(_TITLES[stage]):
            made = make()
        if isinstance(made, Audit):
            with replacing_folder(folder) as partial:
                made.write(partial)
        return made


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
    """Note which of these settings the audit ignores, and what to do instead."""
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
    """`fit_stages` for samples in the files of audited parts."""
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


_LOOK = 5 * 8
"""Bytes kept per picture: what `looks_of` returns."""


def find_in_parts(opened: Prepared, reading: Blocks, stages: Path, progress: RunProgress) -> Found:
    """Deal the samples to parts, audit each part, and fit if the settings say so."""
    settings = opened.settings
    if settings.command == "audit":
        tell_unused(settings, progress, (name for name in OF_A_FIT if name != "epochs"))
    columns = opened.encode(opened.shown.take(slice(0, 2))).shape[1]
    size = settings.part_size or part_size(len(opened.counts), columns)
    dealing = Dealing.of(opened.counts, size, settings.seed)
    check_groups(reading.groups(opened.classes), len(opened.classes), dealing, size)
    progress.say(f"{sum(opened.counts):,} samples in {dealing.parts} parts of about {size:,}")
    files = PartFiles(stages / "parts", dealing.parts)
    deal(opened, reading, dealing, files, progress)
    audit_all(opened, files, progress)
    whole = whole_of(files)
    if settings.command == "fit":
        fitted = fit_parts(opened, whole, files, FolderStages(stages, progress))
    else:
        fitted = Fitted(make_classifier(settings), whole.kept, {}, None, {})
        fitted.classifier.encoder_ = opened.table or InputEncoder.fitted(whole.features, "keep")
    rows, origin, fingerprint = whole.rows, opened.origin, opened.fingerprint
    left_out = np.setdiff1d(np.arange(reading.rows), rows)
    if len(left_out) and origin.form == "folder":  # apply compares those that are samples
        names = [reading.names[row] for row in rows]
        fingerprint = FORMATS[origin.form].fingerprint(Path(origin.path), names)[0]
        origin = replace(origin, unread=tuple(reading.names[row] for row in left_out))
    elif len(left_out):
        origin = replace(origin, left_out=tuple(left_out.tolist()))
    looks = np.fromfile(stages / "looks").reshape(-1, _LOOK // 8)
    copies = None
    if settings.duplicates != "off":
        with progress.working("looking for copies"):
            test = None if opened.test is None else opened.encode(opened.test)
            copies = copies_in_parts(files, test)
    kept = whole.kept
    features = Samples(whole.features, kept.label, opened.classes, kept.ids, "array")
    return Found(
        prepared=replace(opened, origin=origin, fingerprint=fingerprint, train=features),
        fitted=fitted,
        verdicts=whole.verdicts,
        contamination=whole.contamination,
        ranges=whole.ranges,
        copies=copies,
        pictures=odd_pictures(looks if len(looks) else None),
        shown=np.searchsorted(rows, kept.ids),
        parts=files.parts,
    )


def check_groups(blocks: Iterable[tuple[Ints, Ints]], classes: int, dealing: Dealing, size: int) -> None:
    """Refuse groups so large that a part would hold a single class, which cannot be audited."""
    held = np.zeros((dealing.parts, classes), dtype=bool)
    for groups, y in blocks:
        held[dealing(groups, y), y] = True
    if (alone := int((held.sum(axis=1) == 1).sum())) and dealing.parts > 1:
        raise DataError(
            f"groups stay together in parts of about {size:,} samples, so that {alone} of {dealing.parts} "
            "parts would hold one class alone, of which nothing can be said;",
            Hint("part_size", 4 * size, "or more"),
        )


def deal(
    opened: Prepared, reading: Blocks, dealing: Dealing, files: PartFiles, progress: RunProgress
) -> None:
    """Encode all samples into the files of their parts, resuming where an earlier run stopped."""
    state = files.dealt()
    if state["whole"]:
        return
    looks = (files.folder.parent / "looks").open("ab", buffering=0)
    with looks, progress.working("encoding samples", sum(opened.counts)) as advance:
        advance(done := sum(state["sizes"]))
        looks.truncate(done * _LOOK)
        for block in reading.read(opened.classes, state["end"]):
            features, y, groups = opened.encode(block.samples), block.samples.y, block.samples.groups
            check_ids(block.samples, Path(opened.origin.path))
            part = dealing(block.rows if groups is None else groups, y)
            if (seen := looks_of(block.samples, opened.origin)) is not None:
                looks.write(seen.tobytes())
            files.deal(state, block.end, block.rows, y, features, part, groups)
            advance(len(y))
    files.remember(state | {"whole": True})


def audit_all(opened: Prepared, files: PartFiles, progress: RunProgress) -> None:
    """Audit the remaining parts, in this process or on a Ray cluster."""
    settings = opened.settings
    # Tasks of Ray go by cores: several at once would share a GPU that nobody asked for.
    device = "cpu" if settings.device is None and settings.engine == "ray" else choose(settings.device)
    options: dict[str, Any] = {
        "mode": "history" if settings.mode == "history" else "held-out",
        "overlap": settings.overlap,
        "keep_labels": settings.keep_labels,
        "epochs": settings.epochs,
        "seed": settings.seed,
        "device": str(device),
    }
    todo = files.open_parts()
    classes = opened.classes

    def one(folder: Path) -> None:
        audit_part(folder, classes, **options)

    with progress.working("auditing parts", files.parts) as advance:
        advance(files.parts - len(todo))
        done: Iterator[Any] = map(one, todo)
        if settings.engine == "ray":
            done = on_ray(settings.address, todo, one)
        for _ in done:
            advance(1)


def on_ray(address: str | None, folders: list[Path], work: Callable[[Path], None]) -> Iterator[Path]:
    """Run `work` on the folder of each part as a Ray task of one core; yields each folder when done."""
    ray = require("ray", "ray")
    ours = not ray.is_initialized()
    if ours and folders:
        ray.init(address=address, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        task = ray.remote(max_retries=3)(work)
        waiting = {task.remote(folder.absolute()): folder for folder in folders}
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            ray.get(done)  # raises what the task raised
            yield waiting.pop(done)
    finally:
        if ours and folders:
            ray.shutdown()


def copies_in_parts(files: PartFiles, test: NDArray[np.float32] | None = None) -> Duplicates:
    """Groups of samples with equal features, over all parts, numbered in the order of the data; the test
    samples, with features `test`, follow."""
    folders = files.having("rows")
    order = np.argsort(np.concatenate([of_part(folder, "rows") for folder in folders]))
    label = np.concatenate([of_part(folder, "label") for folder in folders])[order]
    digests = np.concatenate([row_numbers(of_part(folder, "features")) for folder in folders])[order]
    return grouped(digests if test is None else np.concatenate([digests, row_numbers(test)]), label)
