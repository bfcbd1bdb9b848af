"""The audit of a set larger than memory, and where told so its fit: blocks of rows, parts, and the same run
folder as any.

The data are read to count labels, to encode and deal the samples to parts, and to write the verdicts in the
order of the data; a table once more, to learn how its columns are encoded. What was dealt and audited is
kept, so that a run that was stopped goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.audit.parts import Dealing, PartFiles, Whole, audit_part, part_size, whole_of
from graylearn.data.blocks import Blocks, are_large, open_blocks
from graylearn.data.encoding.label_notes import note_labels
from graylearn.data.formats import FORMATS, NAMELESS, Origin
from graylearn.data.options import EMBED_SIZE, can_embed_images
from graylearn.data.samples import Label, Samples
from graylearn.errors import DataError, Hint, SettingsError
from graylearn.estimator.inputs import InputEncoder
from graylearn.runs import report
from graylearn.runs.changed import LABELS
from graylearn.runs.crowd import has_annotators
from graylearn.runs.fit import OF_A_FIT, Fitted, FolderStages, make_classifier, tell_unused
from graylearn.runs.folder import RunFolder, check_same_data
from graylearn.runs.large_copies import PartedCopies, copies_in_parts
from graylearn.runs.large_fit import FITTED, fit_parts
from graylearn.runs.large_verdicts import Written, gathered, write_verdicts
from graylearn.runs.outputs import write_log, write_model
from graylearn.runs.prepare import (
    Prepared,
    check_kind,
    encoded,
    encoding_of,
    options_of,
    tell_left_out,
)
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings
from graylearn.runs.source import Encoding, write_source
from graylearn.runs.summary import Outcome, counts_of, summary_of
from graylearn.training.devices import choose

Encode = Callable[[Samples], NDArray[np.float32]]
Engine = Callable[[list[Path], Callable[[Path], None]], Iterator[Path]]
"""An engine: carries out a function on the folders of parts, and gives each when it is done."""

NOT_REFINED = "not refined: the model learned the labels as they are, for a fit in parts learns no beliefs"


def is_large(settings: RunSettings) -> bool:
    """Whether the data are read in parts: where told so, and of an audit by their number of rows too."""
    told = settings.part_size is not None or settings.engine == "ray"
    return told or (settings.command == "audit" and are_large(settings.data))


@dataclass(frozen=True)
class Opened:
    """A large set that was looked at, before its samples are read."""

    blocks: Blocks
    counts: dict[Label, int]
    """Samples of each class, in the order of the classes."""
    encoding: Encoding
    encode: Encode
    columns: int
    """Features of a sample."""
    table: InputEncoder | None
    """How a table is encoded; None of samples that are embedded."""
    example: Samples
    """Some samples, as they were read."""
    settings: RunSettings

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes in order."""
        return tuple(self.counts)

    @property
    def samples(self) -> int:
        """How many there are."""
        return sum(self.counts.values())


def audited_in_parts(
    settings: RunSettings,
    folder: RunFolder,
    progress: RunProgress,
    environment: dict[str, Any],
    source: Any = None,
) -> dict[str, Any]:
    """Audit the data of `settings`, or `source`, a dataset of Hugging Face; gives the summary."""
    began = time.perf_counter()
    if has_annotators(settings):
        raise SettingsError(
            "labels of several annotators are not brought together in parts: leave out part_size and engine, "
            "or give one column of labels"
        )
    if settings.command == "audit":
        tell_unused(settings, progress, (name for name in OF_A_FIT if name != "epochs"))
    opened = open_large(settings, progress, source)
    origin = opened.blocks.origin
    fingerprint = data_fingerprint(opened)
    check_same_data(folder, origin.path, fingerprint)
    folder.write_settings(opened.settings)
    write_source(folder, origin, fingerprint, opened.encoding, opened.classes)
    size = settings.part_size or part_size(len(opened.counts), opened.columns)
    dealing = Dealing.of(list(opened.counts.values()), size, settings.seed)
    check_groups(opened, dealing, size)
    progress.say(f"{opened.samples:,} samples in {dealing.parts} parts of about {size:,}")
    files = PartFiles(folder.stages / "parts", dealing.parts)
    deal(opened, dealing, files, progress)
    audit_all(opened, files, progress)
    if settings.command == "fit":
        _fit(opened, files, folder, progress)
    whole = whole_of(files)
    scores = gathered(files, folder.stages / "scores")
    copies = None
    if settings.duplicates != "off":
        with progress.working("looking for copies"):
            copies = copies_in_parts(files)
    with progress.steps("writing the verdicts", opened.samples) as advance:
        written = write_verdicts(
            opened.blocks, opened.classes, folder, scores, whole.kept.ids, copies, advance
        )
    if written.left_out:
        if origin.form == "folder":  # apply compares those that are samples
            fingerprint = FORMATS[origin.form].fingerprint(Path(origin.path), written.names)[0]
        else:
            origin = replace(origin, left_out=written.left_out)
            tell_left_out(origin, progress)
        write_source(folder, origin, fingerprint, opened.encoding, opened.classes)
    outcome = _shown_of(opened, origin, fingerprint, written.shown, whole)
    summary = summary_of(outcome, folder, time.perf_counter() - began)
    summary |= _of_all_parts(opened, written, whole, copies)
    told = None if copies is None else copies.note(opened.samples)
    shown = int(whole.kept.suspected.sum())
    strongest = f"the {shown:,} strongest of {summary['suspected']:,} suspects and " if shown else ""
    summary["notes"] += [
        *([told] if told else []),
        *([NOT_REFINED] if settings.command == "fit" else []),
        f"audited in {files.parts} parts; the page shows {strongest}some "
        f"{'other ' if strongest else ''}samples, audit.csv and audit.parquet have all",
    ]
    summary["data_notes"] = progress.notes
    with progress.working("writing the report"):
        summary["fingerprint"] = report.make_report(folder, outcome, summary, environment)
    return summary


def _shown_of(
    opened: Opened, origin: Origin, fingerprint: dict[str, Any], shown: Samples, whole: Whole
) -> Outcome:
    """The samples that the page shows, as if the run had been of these."""
    features = replace(shown, x=whole.features, kind="array")
    nobody = np.zeros(len(shown), dtype=bool)
    prepared = Prepared(
        opened.settings, origin, opened.encoding, shown, features, None, shown, nobody, fingerprint, None
    )
    classifier = make_classifier(opened.settings, refine=False)
    classifier.encoder_ = InputEncoder.fitted(whole.features, "keep")
    return Outcome(prepared, Fitted(classifier, replace(whole.kept, ids=shown.ids), {}, None, {}))


def _of_all_parts(
    opened: Opened, written: Written, whole: Whole, copies: PartedCopies | None
) -> dict[str, Any]:
    """What the summary says of all samples, and not of those alone that the page shows."""
    return counts_of(opened.classes, written.kinds) | {
        "sure": written.sure,
        "first": [],
        "look_first": 0,  # the page does not hold the largest scores of all parts
        "contamination": whole.contamination,
        "ranges": {name: list(ends) for name, ends in whole.ranges.items()},
        "copies": None if copies is None else copies.in_numbers(),
    }


def _fit(opened: Opened, files: PartFiles, folder: RunFolder, progress: RunProgress) -> None:
    """The model of the run, and the log of its training."""
    stages = FolderStages(folder.stages, progress)
    classifier = fit_parts(files, opened.table, opened.example, opened.classes, opened.settings, stages)
    write_log(folder, stages.logs)
    write_model(folder, classifier)


def data_fingerprint(opened: Opened) -> dict[str, Any]:
    """What to know the data again by: their files, or of data in none the number of each label."""
    origin = opened.blocks.origin
    if origin.path == NAMELESS:
        return {LABELS: {str(label): count for label, count in opened.counts.items()}}
    return FORMATS[origin.form].fingerprint(Path(origin.path), getattr(opened.blocks, "names", ()))[0]


def open_large(settings: RunSettings, progress: RunProgress, source: Any = None) -> Opened:
    """Count the labels, and learn how samples become features."""
    size = settings.size or EMBED_SIZE
    blocks = open_blocks(
        settings.data if source is None else source, options_of(settings, size, settings.split)
    )
    check_kind(settings, blocks.origin, progress)
    if blocks.origin.kind == "image" and (settings.features == "pixels" or not can_embed_images()):
        raise SettingsError("images of a large set are audited by features=embed: install graylearn[images]")
    with progress.working("counting labels"):
        counts = blocks.label_counts()
    if sum(count > 0 for count in counts.values()) < 2:
        raise DataError("all samples bear one label: an audit needs two classes or more")
    note_labels(tuple(counts), list(counts.values()))
    settings = replace(settings, label=blocks.origin.columns.label or settings.label)
    if blocks.origin.kind == "image":
        settings = replace(settings, features="embed")
    with progress.working("learning how samples become features"):
        if blocks.origin.kind == "table":
            some = blocks.spread(FITTED, counts)
        else:
            some = next(blocks.read(tuple(counts))).samples.take(slice(0, 8))
        encoding = encoding_of(some, settings, size)
        table = None
        if encoding.way == "columns":
            table = InputEncoder.fitted(some.x, "keep", settings.id_like, some.y)

        def encode(samples: Samples) -> NDArray[np.float32]:
            if table is not None:
                return np.asarray(table.transform(samples.x), dtype=np.float32)
            return np.asarray(encoded(samples, encoding, settings, None).x, dtype=np.float32)

        columns = encode(some.take(slice(0, 2))).shape[1]
    return Opened(blocks, counts, encoding, encode, columns, table, some.take(slice(0, 8)), settings)


def check_groups(opened: Opened, dealing: Dealing, size: int) -> None:
    """Refuse groups so large that a part would hold one class alone, of which nothing can be said."""
    held = np.zeros((dealing.parts, len(opened.classes)), dtype=bool)
    for groups, y in opened.blocks.groups(opened.classes):
        held[dealing(groups, y), y] = True
    if (alone := int((held.sum(axis=1) == 1).sum())) and dealing.parts > 1:
        raise DataError(
            f"groups stay together in parts of about {size:,} samples, so that {alone} of {dealing.parts} "
            "parts would hold one class alone, of which nothing can be said;",
            Hint("part_size", 4 * size, "or more"),
        )


def deal(opened: Opened, dealing: Dealing, files: PartFiles, progress: RunProgress) -> None:
    """Encode all samples into the files of their parts, from where an earlier run stopped."""
    state = files.dealt()
    if state["whole"]:
        return
    with progress.steps("encoding samples", opened.samples) as advance:
        advance(sum(state["sizes"]))
        for block in opened.blocks.read(opened.classes, state["end"]):
            features, y, groups = opened.encode(block.samples), block.samples.y, block.samples.groups
            part = dealing(block.rows if groups is None else groups, y)
            files.deal(state, block.end, block.rows, y, features, part, groups)
            advance(len(y))
    files.remember(state | {"whole": True})


def audit_all(opened: Opened, files: PartFiles, progress: RunProgress) -> None:
    """Audit the parts that are not yet, here or on a cluster."""
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
    classes, parts = opened.classes, files.parts

    def one(folder: Path) -> None:
        audit_part(folder, classes, parts, **options)

    with progress.steps("auditing parts", files.parts) as advance:
        advance(files.parts - len(todo))
        for _ in _engine(settings)(todo, one):
            advance(1)


def _engine(settings: RunSettings) -> Engine:
    if settings.engine == "ray":
        from graylearn.runs.ray_engine import on_ray

        return on_ray(settings.address)

    def here(folders: list[Path], work: Callable[[Path], None]) -> Iterator[Path]:
        for folder in folders:
            work(folder)
            yield folder

    return here
