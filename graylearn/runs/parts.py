"""A set that is audited in parts, and where told so learned from: read in blocks, in memory that does not
grow with it.

The data are read to count labels, to encode and deal the samples to parts, and to write the verdicts in the
order of the data; a table once more, to learn how its columns are encoded. What was dealt and audited is
kept, so that a run that was stopped goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Ints
from graylearn.audit.duplicates import Duplicates, grouped
from graylearn.audit.parts import (
    Dealing,
    PartFiles,
    audit_part,
    of_part,
    part_size,
    whole_of,
)
from graylearn.data.formats import FORMATS
from graylearn.data.read import Blocks
from graylearn.data.samples import Samples
from graylearn.data.splits import row_numbers
from graylearn.errors import DataError, Hint
from graylearn.estimator.inputs import InputEncoder
from graylearn.lazy import require
from graylearn.runs.fit import OF_A_FIT, Fitted, FolderStages, fit_parts, make_classifier, tell_unused
from graylearn.runs.pictures import looks_of, odd_pictures
from graylearn.runs.prepare import (
    Prepared,
    check_ids,
)
from graylearn.runs.progress import RunProgress
from graylearn.runs.verdicts import Found
from graylearn.training.devices import choose

_LOOK = 5 * 8
"""Bytes that are kept of what a picture looks like."""


def find_in_parts(opened: Prepared, reading: Blocks, stages: Path, progress: RunProgress) -> Found:
    """Deal the samples to parts, audit these, and learn from them if the settings say so."""
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
    """Refuse groups so large that a part would hold one class alone, of which nothing can be said."""
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
    """Encode all samples into the files of their parts, from where an earlier run stopped."""
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
    """Carry out a function on the folders of parts, each a task of one core; gives each when it is done."""
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
    """The samples of all parts whose features are the same, by their number in the order of the data; those
    with the features `test` follow."""
    folders = files.having("rows")
    order = np.argsort(np.concatenate([of_part(folder, "rows") for folder in folders]))
    label = np.concatenate([of_part(folder, "label") for folder in folders])[order]
    digests = np.concatenate([row_numbers(of_part(folder, "features")) for folder in folders])[order]
    return grouped(digests if test is None else np.concatenate([digests, row_numbers(test)]), label)
