"""The model of a run: its predictions for new samples, which are read like the training data; and its export
as an ONNX file or as a folder for MLflow."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graylearn.data.column_kinds import as_date_parts, as_numbers, as_words
from graylearn.data.csv_files import added_to
from graylearn.data.formats import format_of
from graylearn.data.read import are_large, count_rows, open_blocks, read_file
from graylearn.data.samples import Samples
from graylearn.data.table_samples import is_missing
from graylearn.data.tables import ReadOptions, check_columns
from graylearn.data.written import check_writable, writing
from graylearn.errors import DataError, SettingsError, counted, first_few
from graylearn.estimator import GrayClassifier
from graylearn.estimator.rejection import REJECT_AT, check_share
from graylearn.integrations import mlflow, onnx
from graylearn.runs.folder import RunFolder, Source, options_of
from graylearn.runs.prepare import check_ids, encoded
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings

KIND = "file of predictions"
OUT_SUFFIXES = (".csv", ".tsv", ".parquet")
"""File name endings for predictions."""
Reads = Iterable[str | Path]


def load_model(run: str | Path) -> tuple[RunSettings, Source, GrayClassifier]:
    """(settings, source, classifier) of the finished fit in this folder."""
    folder = RunFolder(run)
    folder.check_finished()
    settings = folder.settings()
    if settings.command == "audit":
        raise SettingsError(f"{folder.path} holds an audit without a model; make one with graylearn fit")
    return settings, folder.source(), GrayClassifier.load(folder.model)


def predict(run: str | Path, data: str | Path, **options: Any) -> pd.DataFrame:
    """The blocks of `predict_blocks`, whose options it takes, as one table."""
    return pd.concat(list(predict_blocks(run, data, **options)), ignore_index=True)


def predict_blocks(
    run: str | Path,
    data: str | Path,
    *,
    reject_at: float | None = None,
    coverage: float | None = None,
    only_unlabelled: bool = False,
    top: int = 2,
    progress: RunProgress | None = None,
    **reading: Any,
) -> Iterator[pd.DataFrame]:
    """One row per sample: id, class, probability, the next classes up to `top`, ood_score.

    Large data (see `graylearn.data.read.are_large`) are read and answered a block at a time, so that memory
    does not grow with them; other data are one block.

    With `reject_at`, a share such as 0.99 of the samples that belong, `none_of_these` tells which samples
    score beyond it; their class is left empty. With `coverage`, `classes` names all that cannot be excluded,
    the most probable first, with " | " between. With `only_unlabelled`, only the rows of a table are answered
    whose label is missing, which a run leaves out; they are read as a whole.
    reading: the settings `separator`, `encoding` and `no_id`, which are those of the run where
    they are left out, and `split`.
    """
    if top < 1:
        raise SettingsError(f"top is {top}; it must be at least 1")
    for option, share in (("reject_at", reject_at), ("coverage", coverage)):
        if share is not None:  # before minutes are spent on reading
            check_share(share, option)
    progress, path = progress or RunProgress(), Path(data)
    settings, source, classifier = load_model(run)
    given = {name: value for name, value in reading.items() if value is not None}
    settings = replace(settings, **{"split": None, **given})
    options = options_for_new(source, settings)
    strange: Strange = defaultdict(Counter)

    def answered(samples: Samples) -> pd.DataFrame:
        with progress.of_warnings():
            features = _features(samples, path, source, settings)
            if source.encoding.way == "columns":
                features = _with_columns(features, classifier, path, progress, strange)
            return _answers(samples, features, classifier, reject_at, coverage, top)

    if are_large(path) and not only_unlabelled:
        with progress.working(f"predicting {path.name}", count_rows(path)) as advance:
            for block in open_blocks(path, options).read(()):
                yield answered(block.samples)
                advance(len(block.samples))
    else:
        with progress.working(f"reading {path.name}"), progress.of_warnings():
            samples, own = read_file(path, options)
        with progress.working(f"predicting {len(samples):,} samples"):
            table = answered(samples)
        yield table.iloc[_without_label(path, source, settings, own.left_out)] if only_unlabelled else table
    for (name, what), values in strange.items():
        told = f"values {what} in {counted(values.total(), 'row')} ({first_few(list(values), 5)})"
        progress.note(f"column {name!r} holds {told}")


def options_for_new(source: Source, settings: RunSettings) -> ReadOptions:
    """Options for reading unlabelled samples like those of a run."""
    known = source.origin.columns
    was_folder = source.origin.kind == "image" and known.path is None  # and is perhaps a table now
    bare = replace(settings, label=None, text=None, path=None, group=None, without=())
    return replace(
        options_of(bare, source.encoding.size, settings.split),
        labelled=False,
        id=False if was_folder or settings.no_id else None,
        decimal=source.origin.decimal,
        columns=None if was_folder else known,
    )


def _features(samples: Samples, path: Path, source: Source, settings: RunSettings) -> Samples:
    """The features of new samples, which must be of the kind that the model was fitted on."""
    check_ids(samples, path)
    kind, shape = source.origin.kind, source.encoding.shape
    if samples.kind != kind:
        raise DataError(f"{path} holds {samples.kind} samples but the model was fitted on {kind} samples")
    if shape and samples.x.shape[1:] != shape:
        expected, found = (" x ".join(map(str, each)) for each in (shape, samples.x.shape[1:]))
        raise DataError(f"{path} holds samples of {found} numbers but the model was fitted on {expected}")
    return encoded(samples, source.encoding, settings, None)


def _without_label(
    path: Path, source: Source, settings: RunSettings, left_out: tuple[int, ...]
) -> np.ndarray:
    """Indices of the samples of a table without a label; left_out: rows that are no samples."""
    found = format_of(path).read(path, options_of(replace(settings, group=None), 1, settings.split))
    label = source.origin.columns.label
    if isinstance(found, Samples) or label not in found.frame.columns:
        raise DataError(f"{path} has no column {str(label)!r}, so that no row lacks a label there")
    labels: Any = found.frame[label]
    return np.flatnonzero(np.delete(is_missing(labels), left_out))


def tallied(tables: Iterable[pd.DataFrame], summary: dict[str, Any]) -> Iterator[pd.DataFrame]:
    """The tables of `predict_blocks`, counted in `summary` as they pass: samples, classes, and none_of_these
    if samples may be rejected."""
    summary |= {"samples": 0, "classes": Counter(), "none_of_these": None}
    for table in tables:
        summary["samples"] += len(table)
        summary["classes"].update(table["class"].dropna().tolist())
        if "none_of_these" in table:
            summary["none_of_these"] = (summary["none_of_these"] or 0) + int(table["none_of_these"].sum())
        yield table


def check_out(out: str | Path | None, of: Reads) -> None:
    """Refuse a file that predictions cannot be written to, before any work is done.

    of: the paths of what is asked about, and of what the model learned from.
    """
    if out is None:
        return
    suffix = Path(out).suffix.lower()
    if suffix not in OUT_SUFFIXES:
        told = f"{out} ends in {suffix or 'nothing'!r}; predictions are {', '.join(OUT_SUFFIXES)}"
        raise SettingsError(told)
    check_writable(out, KIND, of=of)


def write_predictions(tables: Iterable[pd.DataFrame], out: str | Path | None, of: Reads = ()) -> None:
    """CSV, TSV or Parquet by the name of `out`, whole or not at all; CSV on standard output without one.

    of: as of `check_out`.
    """
    suffix = "" if out is None else Path(out).suffix.lower()
    separator = "\t" if suffix == ".tsv" else ","
    with (
        nullcontext(sys.stdout) if out is None else writing(out, KIND, of=of) as target,
        added_to(target, sep=separator, float_format="%.6g") as add,
    ):
        for table in tables:
            add(table if suffix == ".parquet" else _as_text(table))


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    """The table with numeric classes as text: they are names and must not be rounded."""
    numbers = [
        str(name)
        for name, kind in table.dtypes.items()
        if str(name).startswith("class") and pd.api.types.is_float_dtype(kind)
    ]
    return table.assign(**{name: table[name].map(str, na_action="ignore") for name in numbers})


def _answers(
    samples: Samples,
    features: Samples,
    classifier: GrayClassifier,
    reject_at: float | None,
    coverage: float | None,
    top: int,
) -> pd.DataFrame:
    """One row per sample: id, most probable classes, score, whether it is rejected, and the classes that
    cannot be excluded."""
    probabilities = classifier.predict_proba(features)
    order = np.argsort(-probabilities, axis=1, kind="stable")
    names = np.empty(len(classifier.classes_), dtype=object)
    names[:] = classifier.classes_.tolist()
    table = pd.DataFrame({"id": samples.ids if samples.ids.dtype.kind in "iu" else samples.ids.astype(str)})
    for rank, best in enumerate(order.T[:top]):
        end = "" if rank == 0 else f"_{rank + 1}"
        table[f"class{end}"] = pd.array(names[best].tolist())
        table[f"probability{end}"] = probabilities[np.arange(len(samples)), best]
    table["ood_score"] = classifier.ood_score(features)
    if reject_at is not None:
        answers = classifier.predict(features, reject_at=reject_at)
        rejected = np.array([answer is None for answer in answers])
        table["class"] = table["class"].mask(rejected)
        table["none_of_these"] = rejected
    if coverage is not None:
        sets = np.take_along_axis(classifier.predict_sets(features, coverage), order, axis=1)
        rows = zip(order, sets, strict=True)
        table["classes"] = [" | ".join(map(str, names[row[held]])) for row, held in rows]
    return table


Strange = dict[tuple[str, str], Counter[str]]
"""Counts of values that the model cannot use, by column and by what is wrong with them."""


def _with_columns(
    features: Samples,
    classifier: GrayClassifier,
    path: Path,
    progress: RunProgress,
    strange: Strange,
) -> Samples:
    """The columns that the model reads, in its order; unusable values are counted in `strange`."""
    frame: pd.DataFrame = features.x
    encoder = classifier.encoder_.table
    wanted = [str(name) for name in getattr(classifier, "feature_names_in_", classifier.encoder_.names)]
    if encoder is None:
        return features
    check_columns(str(path), frame.columns, encoder.kinds_, "that the model reads")
    extra = [str(name) for name in frame.columns if str(name) not in wanted]
    if extra:
        progress.note(f"passing over columns that the model does not read: {first_few(extra)}")
    for name, known in encoder.categories_.items():
        if not known["other"] and not known["hashed"]:
            learned = {"", *known["values"]}
            if new := Counter(word for word in as_words(frame[name]) if word not in learned):
                strange[name, "never seen in training"] += new
    for name, kind in encoder.kinds_.items():
        if kind in ("number", "date") and (lost := _unreadable_cells(frame[name], name, kind)):
            strange[name, f"that are no {kind} and taken as missing"].update(lost)
    return Samples(frame.reindex(columns=wanted), features.y, features.classes, features.ids, "table")


def _unreadable_cells(values: pd.Series, name: str, kind: str) -> list[str]:
    """The cells of a text column that are not the numbers or dates that the model expects."""
    if not (pd.api.types.is_object_dtype(values.dtype) or pd.api.types.is_string_dtype(values.dtype)):
        return []
    read = as_numbers(values, name) if kind == "number" else as_date_parts(values, name)[:, 0]
    return [str(value) for value in values[values.notna().to_numpy() & np.isnan(read)]]


class Predictor:
    """Predictions of a saved classifier for the batches of a Ray dataset.

    `dataset.map_batches(Predictor, fn_constructor_args=("run/model",), concurrency=4)` adds the columns
    `class`, `probability` and `ood_score`; each worker loads the classifier once.
    """

    def __init__(self, model: str | Path) -> None:
        self.classifier = GrayClassifier.load(model)

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, Any]:
        """The batch with answers."""
        names = getattr(self.classifier, "feature_names_in_", None)
        if names is not None:
            rows: Any = pd.DataFrame({name: batch[name] for name in names})
        else:
            rows = next(iter(batch.values())) if len(batch) == 1 else np.column_stack(list(batch.values()))
        said = self.classifier.predict_proba(rows)
        return {
            **batch,
            "class": self.classifier.classes_[said.argmax(axis=1)],
            "probability": said.max(axis=1),
            "ood_score": self.classifier.ood_score(rows),
        }


_NAMED = 6
"""Columns that are named in words; the others are counted."""


def export(
    model: str | Path, out: str | Path, reject_at: float = REJECT_AT, *, overwrite: bool = False
) -> dict[str, Any]:
    """Write the model of a run folder, or one that `GrayClassifier.save` wrote, for use elsewhere; returns
    out, format, reads (the inputs in words), classes and reject_at.

    A name that ends in .onnx is an ONNX file, one without an ending a folder for MLflow. One that graylearn
    wrote is replaced only with `overwrite`, anything else never.
    """
    path = Path(out)
    if path.suffix.lower() not in (".onnx", ""):
        raise SettingsError(
            f"{path} ends in {path.suffix!r}; end it in .onnx for an ONNX file, or in nothing for a folder "
            "of MLflow"
        )
    to_onnx = path.suffix != ""
    to = onnx if to_onnx else mlflow
    check_writable(path, to.KIND, folder=not to_onnx, overwrite=overwrite)
    classifier, reads = _model_and_inputs(Path(model))
    to.save_model(classifier, path, reject_at=reject_at)
    classes = [str(name) for name in classifier.classes_.tolist()]
    form = "onnx" if to_onnx else "mlflow"
    return {"out": str(path), "format": form, "reads": reads, "classes": classes, "reject_at": reject_at}


def _model_and_inputs(folder: Path) -> tuple[GrayClassifier, str]:
    """(the classifier of a run or of a folder that `save` wrote, its inputs in words)."""
    if RunFolder(folder).settings_file.exists() or not (folder / "model.json").exists():
        _, source, classifier = load_model(folder)
        if source.encoding.way.endswith("embedding"):
            reads = f"the {classifier.n_features_in_} {source.encoding.words}, which are made before,"
            return classifier, reads
    else:
        classifier = GrayClassifier.load(folder)
    return classifier, _inputs(classifier)


def _inputs(classifier: GrayClassifier) -> str:
    if classifier.encoder_.kind != "rows":
        return "images as the classifier does"
    if not hasattr(classifier, "feature_names_in_"):
        return f"X, {classifier.n_features_in_} numbers a sample"
    table = classifier.encoder_.table
    names = list(classifier.feature_names_in_) if table is None else list(table.kinds_)
    return f"the columns {first_few(names, _NAMED)}"
