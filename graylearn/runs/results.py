"""What came out of a run: the verdicts in its folder, a block at a time, the summary, notes, and the page."""

from __future__ import annotations

import datetime
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from graylearn import metrics
from graylearn.array_types import Ints
from graylearn.audit import Audit
from graylearn.audit.annotators import Crowd
from graylearn.audit.duplicates import Duplicates
from graylearn.audit.kinds import KINDS, LEVELS, OOD, SURE
from graylearn.audit.scaling import reduced, scaled
from graylearn.audit.slices import sentences, slices
from graylearn.data.atomic import replacing
from graylearn.data.csv_files import added_to
from graylearn.data.formats import COMPRESSIONS, FORMATS
from graylearn.data.samples import Label, Samples, joined
from graylearn.errors import counted
from graylearn.estimator import GrayClassifier
from graylearn.estimator.networks import outputs_of
from graylearn.paths import matching
from graylearn.report import Preview, image_preview, preview_samples
from graylearn.report.payload import fingerprint_of
from graylearn.report.write import data_of, render, rows_of
from graylearn.runs.crowd import crowd_among, crowd_in_numbers, note_of_crowd
from graylearn.runs.folder import RunFolder
from graylearn.runs.oddities import (
    SOLID_WORDS,
    Checks,
    among,
    copies_in_numbers,
    group_column,
    note_of,
    note_of_pictures,
    picture_column,
)
from graylearn.runs.prepare import Prepared

FOUND = ("label", "confidence", "score", "suspected", "level", "kind", "suggested", "because")
"""What an audit says of each sample, with the names and codes of `Audit`."""


@dataclass(frozen=True)
class Fitted:
    """The results of the fits of a run."""

    classifier: GrayClassifier
    """The last fit, with its audit and history; unfitted if the audit alone needed no fit."""
    audit: Audit
    """The verdict on the training set."""
    test_probabilities: dict[str, NDArray[np.float64]]
    """(N, K) test set probabilities by way of learning, classes in the classifier's order; the model last."""
    test_labels: NDArray[np.int64] | None
    """(N,) labels of the test set, as indices into the classifier's classes."""
    logs: dict[str, list[dict[str, Any]]]
    """One row per epoch, by stage."""

    @property
    def refined(self) -> bool:
        """Whether the classifier learned the beliefs of the audit."""
        return bool(getattr(self.classifier, "refined_", False))

    @property
    def curves(self) -> NDArray[np.float16] | None:
        """(epochs, N) confidence of the first fit in the given labels; None without a fit."""
        history = getattr(self.classifier, "history_", None)
        return None if history is None else history.label_confidence


@dataclass(frozen=True, eq=False)
class Judged:
    """A block of consecutive samples with their verdicts."""

    samples: Samples
    """As a person knows them."""
    found: Mapping[str, NDArray[Any]]
    """(n,) each name in FOUND, for the samples that were not held out."""
    held_out: NDArray[np.bool_]
    """(N,) which of them were held out to measure on."""
    hashes: Sequence[str] | None = None
    """(N,) SHA-256 of each image, for a folder of images."""
    shown: Ints | None = None
    """Which of them the page shows; None: all that were not held out."""


@dataclass(frozen=True, eq=False)
class Found:
    """The result of `find`, whatever the number of parts."""

    prepared: Prepared
    """The data; the samples that the page shows are in memory."""
    fitted: Fitted
    """The fits, and the audit of the samples in memory."""
    verdicts: Mapping[str, NDArray[Any]]
    """(N,) each name in FOUND, for all audited samples in the order of the data."""
    contamination: Mapping[str, float | None]
    ranges: Mapping[str, tuple[float, float]]
    """As in `Audit`, for all samples."""
    copies: Duplicates | None
    """Copies among all samples; None if not looked for."""
    pictures: Checks
    """Pictures that show little."""
    shown: Ints | None = None
    """Index of the samples on the page; None: all that were not held out."""
    parts: int = 1
    """The number of parts in which the samples were audited."""

    @property
    def classes(self) -> Sequence[Label]:
        """The classes that label codes refer to."""
        return self.fitted.audit.classes

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """(K, 3) samples by class and kind."""
        kinds = np.zeros((len(self.classes), len(KINDS)), dtype=np.int64)
        np.add.at(kinds, (self.verdicts["label"], self.verdicts["kind"]), 1)
        return kinds

    @property
    def samples(self) -> int:
        """The number of audited samples."""
        return len(self.verdicts["label"])

    @property
    def model(self) -> GrayClassifier | None:
        """The fitted classifier; None for an audit alone."""
        return self.fitted.classifier if self.prepared.settings.command == "fit" else None

    def blocks(self) -> Iterator[Judged]:
        """All samples with their verdicts, block by block in the order of the data."""
        begin, because = 0, self.fitted.audit.because
        for samples, held_out, hashes in self.prepared.read():
            end = begin + int((~held_out).sum())
            found, shown = {name: values[begin:end] for name, values in self.verdicts.items()}, None
            if self.shown is not None:
                first, last = np.searchsorted(self.shown, [begin, end])
                shown = self.shown[first:last] - begin
                found["because"] = np.full(end - begin, "", dtype=object)
                found["because"][shown] = because[first:last]
            yield Judged(samples, found, held_out, hashes, shown)
            begin = end

    def with_solid_of_no_class(self) -> Found:
        """The same where a suspect whose picture is of one colour is of no class: it shows none."""
        solid = np.zeros(self.samples, dtype=bool)
        solid[self.pictures.get(SOLID_WORDS, [])] = True
        solid &= self.verdicts["suspected"]
        kind = np.where(solid, OOD, self.verdicts["kind"])
        suggested = np.where(solid, -1, self.verdicts["suggested"])
        shown = slice(None) if self.shown is None else self.shown
        audit = replace(self.fitted.audit, kind=kind[shown], suggested=suggested[shown])
        verdicts = {**self.verdicts, "kind": kind, "suggested": suggested}
        return replace(self, fitted=replace(self.fitted, audit=audit), verdicts=verdicts)

    def showing(self, shown: Samples | None) -> Found:
        """The same with these samples, those of the page, in memory; None: they already are."""
        if shown is None:
            return self
        prepared = replace(
            self.prepared,
            everything=shown,
            held_out=np.zeros(len(shown), dtype=bool),
            train=self.prepared.train if self.prepared.table is None else shown,
        )
        audit = replace(self.fitted.audit, ids=shown.ids)
        return replace(self, prepared=prepared, fitted=replace(self.fitted, audit=audit))


def write_verdicts(folder: RunFolder, found: Found, advance: Callable[[int], None]) -> Samples | None:
    """Write samples.parquet, audit.parquet and audit.csv, with the copy group of each sample if copies were
    looked for, and what is odd about its picture; returns the samples of the page, None if these are all."""
    groups = None if found.copies is None else group_column(found.copies)
    odd, begin = picture_column(found.pictures), 0
    shown: list[Samples] = []
    with ExitStack() as stack:
        files = [folder.samples, folder.audit_parquet, folder.audit_csv]
        samples, *audit = (
            stack.enter_context(added_to(stack.enter_context(replacing(path)))) for path in files
        )
        for block in found.blocks():
            samples(_known(block))
            table = _table(block, found.classes)
            at = range(begin, begin + len(table))
            if groups is not None:
                table["group"] = groups.array[at.start : at.stop]
            if odd:
                table["picture"] = pd.array([odd.get(index) for index in at], dtype="string")
            for add in audit:
                add(table)
            begin += len(table)
            if block.shown is not None and len(block.shown):
                shown.append(block.samples.take(block.shown))
            advance(len(table))
    return joined(shown) if shown else None


def _known(block: Judged) -> pd.DataFrame:
    """The rows of samples.parquet for a block."""
    labels = np.array([str(label) for label in block.samples.classes], dtype=object)
    known = {
        "id": pd.array([str(name) for name in block.samples.ids], dtype="string"),
        "label": pd.array(labels[block.samples.y], dtype="string"),
        "held_out": block.held_out,
    }
    return pd.DataFrame(known if block.hashes is None else {**known, "sha256": block.hashes})


def _table(block: Judged, classes: Sequence[Label]) -> pd.DataFrame:
    """The rows of audit.csv and audit.parquet for a block, with the same types in every block."""
    ids, found = block.samples.ids[~block.held_out], block.found
    names = pd.array(list(classes))  # of a type that can be missing
    columns = {
        "id": ids if ids.dtype.kind in "iu" else ids.astype(str).astype(object),
        **{name: found[name] for name in FOUND},
        "label": pd.Series(list(classes)).to_numpy()[found["label"]],
        "level": np.array(LEVELS, dtype=object)[found["level"]],
        "kind": np.array(KINDS, dtype=object)[found["kind"]],
        "suggested": names.take(np.asarray(found["suggested"]), allow_fill=True),
    }
    return pd.DataFrame(columns)


def summary_of(found: Found, crowd: Crowd | None, folder: RunFolder, seconds: float) -> dict[str, Any]:
    """summary.json: what was found and measured, for people and programs."""
    prepared, fitted = found.prepared, found.fitted
    audit, settings, labels = fitted.audit, prepared.settings, fitted.test_labels
    is_whole = found.parts == 1  # else the page does not hold the largest scores of all parts
    of_kind = dict(zip(KINDS, found.kinds.sum(axis=0).tolist(), strict=True))
    return {
        "command": settings.command,
        "run": str(folder.path.absolute()),
        "data": settings.data,
        "samples": found.samples,
        "found": of_kind,
        "suspected": found.samples - of_kind["ok"],
        "per_class": {
            str(label): {"samples": int(row.sum()), **dict(zip(KINDS, row.tolist(), strict=True))}
            for label, row in zip(found.classes, found.kinds, strict=True)
        },
        "held_out": int(prepared.held_out.sum()),
        "classes": len(found.classes) - audit.misspelt,
        "misspelt": audit.misspelt,
        "features": prepared.encoding.words,
        "method": fitted.classifier.method_ if hasattr(fitted.classifier, "network_") else None,
        "audit": audit.mode,
        "sure": int((found.verdicts["level"] == SURE).sum()),
        "overlap": audit.overlap,
        "judge": audit.judge,
        "contamination": found.contamination,
        "ranges": {name: list(ends) for name, ends in found.ranges.items()},
        "worst": worst_of(audit),
        "first": first_of(audit) if is_whole else [],
        "look_first": audit.look_first if is_whole else 0,
        "copies": None if found.copies is None else copies_in_numbers(found.copies),
        "pictures": {words: len(which) for words, which in found.pictures.items()},
        "annotators": None if crowd is None else crowd_in_numbers(crowd),
        "id_word": id_word(prepared, audit) or str(prepared.origin.columns.id or "id"),
        "notes": notes_of(found, crowd),
        "refined": fitted.refined,
        "test_samples": 0 if labels is None else len(labels),
        "test": {
            way: {"accuracy": metrics.accuracy(said, labels), "ece": metrics.ece(said, labels)}
            for way, said in fitted.test_probabilities.items()
            if labels is not None
        },
        "seconds": round(seconds, 1),
        "report": str(folder.report.absolute()),
        "next": apply_command(prepared, folder.path),
        "model": str(folder.model.absolute()) if settings.command == "fit" else None,
    }


def worst_of(audit: Audit) -> list[dict[str, Any]]:
    """The five strongest suspects."""
    rows: Any = np.flatnonzero(audit.suspected)
    return _listed(audit, rows[np.argsort(-audit.score[rows], kind="stable")][:5])


def first_of(audit: Audit) -> list[dict[str, Any]]:
    """Up to five samples with the largest scores, if nothing is flagged but some are worth a look."""
    return _listed(audit, np.argsort(-audit.score, kind="stable")[: min(5, audit.look_first)])


def _listed(audit: Audit, rows: Iterable[int]) -> list[dict[str, Any]]:
    """Samples for summary.json; `resembles` is the suggested class, or else the most probable one."""
    listed = []
    for row in rows:
        kind, other = KINDS[audit.kind[row]], int(audit.suggested[row])
        likeliest = audit.classes[audit.probabilities[row].argmax()]
        is_wrong = kind == "mislabelled"
        listed.append(
            {
                "id": str(audit.ids[row]),
                "label": str(audit.classes[audit.label[row]]),
                "score": round(float(audit.score[row]), 4),
                "kind": kind,
                "suggested": str(audit.classes[other]) if is_wrong else None,
                "resembles": str(audit.classes[other] if is_wrong else likeliest),
            }
        )
    return listed


def notes_of(found: Found, crowd: Crowd | None) -> list[str]:
    """What a reader should know about the findings, in plain sentences."""
    prepared, fitted = found.prepared, found.fitted
    notes = [*fitted.audit.notes, *([] if crowd is None else [note_of_crowd(crowd)])]
    if rows := len(prepared.origin.left_out):
        what = "label or an image that can be read" if prepared.origin.kind == "image" else "label"
        notes.append(f"{counted(rows, 'row')} without a {what}: not judged, and kept by apply")
    if images := len(prepared.origin.unread):
        notes.append(f"{counted(images, 'image')} that cannot be read: not judged, and not copied by apply")
    held_out = int(prepared.held_out.sum())
    if held_out:
        notes.append(
            f"{counted(held_out, 'sample')} held out to measure on {'was' if held_out == 1 else 'were'} not "
            "audited; apply keeps them as they are"
        )
        notes.append(
            "the labels that were held out are as dirty as the others: where they are wrong, a right answer "
            "counts as an error; --test with clean labels measures better"
        )
    notes += gathered_in(prepared, fitted.audit)
    if found.copies is not None and (said := note_of(found.copies)):
        notes.append(said)
    if found.pictures:
        notes.append(note_of_pictures(found.pictures))
    if fitted.classifier.refine and (why_not := why_not_refined(fitted)) is not None:
        notes.append(why_not)
    if found.parts > 1:
        suspects = int(found.kinds[:, 1:].sum())
        shown = int(fitted.audit.suspected.sum())
        strongest = f"the {shown:,} strongest of {suspects:,} suspects and " if shown else ""
        notes.append(
            f"audited in {found.parts} parts; the page shows {strongest}some "
            f"{'other ' if strongest else ''}samples, audit.csv and audit.parquet have all"
        )
    return notes


def gathered_in(prepared: Prepared, audit: Audit) -> dict[str, tuple[str, str]]:
    """Sentences on column values and image folders in which suspects are concentrated, each with its column
    and value. Tests all columns that are not numeric, also those that nothing is learned from."""
    if not audit.suspected.any():
        return {}
    tables = [each for each in (prepared.shown.x, prepared.others) if isinstance(each, pd.DataFrame)]
    every = [pd.DataFrame(index=range(len(audit))), *(each.reset_index(drop=True) for each in tables)]
    frame = pd.concat(every, axis=1).select_dtypes(exclude="number")
    folders = prepared.shown.ids if prepared.origin.columns.path is not None else None
    return sentences(slices(audit.suspected, frame, folders), float(audit.suspected.mean()))


def why_not_refined(fitted: Fitted) -> str | None:
    """Why the second fit kept the given labels although there were suspects; None otherwise."""
    classifier, audit = fitted.classifier, fitted.audit
    if classifier.refined_ or not audit.suspected.any():
        return None
    who = "the model" if classifier.members_ == 1 else f"the committee of {classifier.members_}"
    reason = "networks that had not seen the suspects did not confirm them"
    return f"not refined, so {who} learned the labels as they are: {reason}"


def apply_command(prepared: Prepared, run: Path) -> str:
    """The command that writes the cleaned dataset once the decisions are downloaded."""
    data = Path(prepared.settings.data)
    source = Path(prepared.origin.path)  # of several annotators' labels it is not the data themselves
    stem = re.sub(r"\W*[*?[].*", "", data.name) or "data" if matching(data) else data.name
    form = FORMATS[prepared.origin.form]
    clean = f"{stem.removesuffix(_ending(data))[:60]}-clean"
    whole = Path(f"{clean}{_ending(source)}")
    # a folder of tables becomes one file, and of a workbook a copy is written
    clean = str(whole) if form.may_become(source, whole) else f"{clean}{form.endings(source)[0]}"
    return shlex.join(["graylearn", "apply", str(run), "decisions.csv", "--out", clean])


def _ending(path: Path) -> str:
    """The file name ending with its capitals, including a compression suffix; "" for a folder."""
    if path.is_dir():
        return ""
    packed = path.suffix if path.suffix.lower() in COMPRESSIONS else ""
    return Path(path.name.removesuffix(packed)).suffix + packed


def id_word(prepared: Prepared, audit: Audit) -> str:
    """What the ids count, such as "line", if they are row numbers and not from a column; else ""."""
    origin = prepared.origin
    are_counted = audit.ids.dtype.kind in "iu" and origin.columns.id is None
    return ("sample" if origin.form == "npz" else origin.unit) if are_counted else ""


OVERLAP = {"none": "no: each sample has one true class", "possible": "yes", "auto": "not said"}


def make_report(
    folder: RunFolder,
    found: Found,
    crowd: Crowd | None,
    summary: dict[str, Any],
    environment: dict[str, Any],
) -> str:
    """Write report.html; returns its fingerprint, which decisions made in it carry."""
    prepared, fitted, audit = found.prepared, found.fitted, found.fitted.audit
    reliability, confusion = _on_test_set(fitted)
    copies, pictures, curves = found.copies, found.pictures, fitted.curves
    if (shown := found.shown) is not None:
        copies = None if copies is None else among(copies, shown)
        pictures = {words: np.flatnonzero(np.isin(shown, odd)).tolist() for words, odd in pictures.items()}
        crowd = None if crowd is None else crowd_among(crowd, shown)
        curves = None if curves is None else curves[:, shown]
    data = data_of(
        audit,
        title=Path(prepared.settings.data).name,
        created=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        run=str(folder.path.absolute()),
        facts=_facts(prepared, fitted, summary, environment),
        notes=summary["notes"],
        reading=summary["data_notes"],
        checks=pictures,
        gathered=[(words, *where) for words, where in gathered_in(prepared, audit).items()],
        contamination=summary["contamination"],
        ranges={name: (low, high) for name, (low, high) in summary["ranges"].items()},
        look_first=summary["look_first"],
        curves=curves,
        previews=looks(prepared),
        features=likeness(prepared, fitted.classifier),
        rows=table_rows(prepared, fitted.classifier),
        command=summary["next"],
        id_word=id_word(prepared, audit),
        reliability=reliability,
        confusion=confusion,
        accuracies={way: (values["accuracy"], None) for way, values in summary["test"].items()} or None,
        training_log=fitted.logs.get("first"),
        copies=copies,
        groups=group_names(prepared),
        crowd=crowd,
    )
    with replacing(folder.report) as partial:
        partial.write_bytes(render(data))
    return fingerprint_of(data)


def _facts(
    prepared: Prepared, fitted: Fitted, summary: dict[str, Any], environment: dict[str, Any]
) -> dict[str, Any]:
    """Facts about the run for the page."""
    audit, settings = fitted.audit, prepared.settings
    facts = {
        "Data": Path(settings.data).name,
        "Samples": summary["samples"],
        "Classes": summary["classes"],
        "Label": prepared.origin.columns.label or "the folder of each image",
        "Learned from": prepared.encoding.words,
        "Method": f"{summary['method']}" + (", refined" if fitted.refined else ""),
        "Audited by": {"held-out": "views that did not see the label"}.get(audit.mode, audit.mode),
        "Classes may overlap": OVERLAP[audit.overlap],
        "Judge": audit.judge,
        "Seed": str(settings.seed),
        "Seconds": summary["seconds"],
        "graylearn": environment["graylearn"],
        "Device": environment["gpu"] or environment["device"],
    }
    if prepared.origin.columns.label is None and prepared.origin.form != "folder":
        del facts["Label"]
    if summary["method"] is None:  # an audit that trained nothing
        del facts["Method"]
    return facts


def _on_test_set(fitted: Fitted) -> tuple[metrics.Reliability | None, NDArray[Any] | None]:
    """(calibration, confusions) of the kept model on the test set; None without one."""
    if fitted.test_labels is None:
        return None, None
    said = list(fitted.test_probabilities.values())[-1]
    classes = np.arange(len(fitted.audit.classes))
    confusion = confusion_matrix(fitted.test_labels, said.argmax(axis=1), labels=classes)
    return metrics.reliability(said, fitted.test_labels), confusion


def likeness(prepared: Prepared, classifier: GrayClassifier) -> NDArray[Any] | None:
    """(N, D) features for comparing samples; for images, those of the network. None if there are none."""
    x = classifier.encoder_.transform(prepared.train.x)
    if x.ndim == 2:
        return reduced(scaled(x))
    if not hasattr(classifier, "network_"):  # an audit alone
        return None
    _, features = outputs_of(classifier.network_, x, classifier.preparation_)
    return None if features is None else reduced(scaled(features))


def looks(prepared: Prepared) -> Callable[[int], Preview | None]:
    """Previews of the samples: rows include columns that were left out of learning; images come uncropped
    from their files."""
    shown = prepared.shown
    if isinstance(shown.x, pd.DataFrame) and prepared.others is not None:  # a person may judge by them too
        shown = replace(shown, x=pd.concat([shown.x, prepared.others.set_axis(shown.x.index)], axis=1))
    cropped, origin = preview_samples(shown), prepared.origin
    are_paths = origin.form == "folder" or (origin.columns.path is not None and origin.columns.id is None)
    if not are_paths:
        return cropped

    def whole(index: int) -> Preview | None:
        try:
            return image_preview(origin.root / str(shown.ids[index]))
        except Exception:  # a file that is gone or odd: what was learned from is still known
            return cropped(index)

    return whole


def group_names(prepared: Prepared) -> list[str] | None:
    """(N,) the name of each sample's group; None without groups."""
    groups, column, others = prepared.shown.groups, prepared.origin.columns.group, prepared.others
    if groups is None:
        return None
    if others is None or column not in others.columns:
        return [str(number) for number in groups]
    names = dict(zip(groups.tolist(), map(str, others[column]), strict=True))
    times = Counter(names.values())  # a word for no group is the name of many, each of which stands alone
    return [names[each] if times[names[each]] == 1 else f"{names[each]} {each}" for each in groups.tolist()]


def table_rows(prepared: Prepared, classifier: GrayClassifier) -> pd.DataFrame | None:
    """The rows of a table, with the columns that were learned from, or of numbers; None for other data."""
    rows, encoder = rows_of(prepared.shown), classifier.encoder_.table
    if rows is None or encoder is None:
        return rows
    return rows[[name for name in rows.columns if str(name) in encoder.kinds_]]
