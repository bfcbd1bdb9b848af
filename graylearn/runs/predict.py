"""`predict`: what the model of a run says of new samples."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from graylearn.data.blocks import are_large, count_rows
from graylearn.data.csv_files import write_csv
from graylearn.data.encoding.column_kinds import as_date_parts, as_numbers, as_words
from graylearn.data.samples import Samples
from graylearn.data.tables import check_columns
from graylearn.data.written import check_writable, writing
from graylearn.errors import SettingsError, counted, first_few
from graylearn.estimator import GrayClassifier
from graylearn.estimator.rejection import check_share
from graylearn.runs.model import load_model
from graylearn.runs.new_samples import read_new, read_new_blocks, without_label
from graylearn.runs.progress import RunProgress

OUT_SUFFIXES = (".csv", ".tsv", ".parquet")
"""Endings of files that predictions are written to."""


_DIGITS = "%.6g"  # of probabilities and scores in text


def predict(run: str | Path, data: str | Path, **options: Any) -> pd.DataFrame:
    """All that `predict_blocks`, whose options it takes, says, in one table."""
    return pd.concat(list(predict_blocks(run, data, **options)), ignore_index=True)


def predict_blocks(
    run: str | Path,
    data: str | Path,
    *,
    reject_at: float | None = None,
    coverage: float | None = None,
    only_unlabelled: bool = False,
    top: int = 2,
    split: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    no_id: bool | None = None,
    unreadable: Literal["stop", "skip"] | None = None,
    progress: RunProgress | None = None,
) -> Iterator[pd.DataFrame]:
    """One row a sample: id, class, probability, the next classes up to `top`, ood_score.

    Large data (see `graylearn.data.blocks.are_large`) are read and answered a block at a time, so that memory
    does not grow with them; other data are one block.

    With `reject_at`, a share such as 0.99 of the samples that belong, `none_of_these` tells which samples
    score beyond it; their class is left empty. With `coverage`, `classes` names all that cannot be excluded,
    the most probable first, with " | " between. With `only_unlabelled`, only the rows of a table are answered
    whose label is missing, which a run with `missing_labels="skip"` passed over; they are read as a whole.
    The settings `separator`, `encoding`, `no_id` and `unreadable` are those of the run where they are left
    out.
    """
    if top < 1:
        raise SettingsError(f"top is {top}; it must be at least 1")
    for option, share in (("reject_at", reject_at), ("coverage", coverage)):
        if share is not None:  # before minutes are spent on reading
            check_share(share, option)
    progress = progress or RunProgress()
    path = Path(data)
    reading = {"separator": separator, "encoding": encoding, "no_id": no_id, "unreadable": unreadable}
    given: dict[str, Any] = {name: value for name, value in reading.items() if value is not None}
    model = load_model(run)
    origin, way, classifier = model.origin, model.encoding, model.classifier
    settings = replace(model.settings, split=split, **given)
    strange: dict[str, _Strange] = {}

    def answered(samples: Samples, features: Samples) -> pd.DataFrame:
        with progress.of_warnings():
            if way.way == "columns":
                features = _with_columns(features, classifier, path, progress, strange)
            table = _answers(samples, features, classifier, reject_at, top)
            if coverage is not None:
                table["classes"] = _sets(features, classifier, coverage)
        return table

    if are_large(path) and not only_unlabelled:
        with progress.working(f"predicting {path.name}", count_rows(path)) as advance:
            for samples, features in read_new_blocks(path, origin, way, settings):
                yield answered(samples, features)
                advance(len(samples))
    else:
        with progress.working(f"reading {path.name}"), progress.of_warnings():
            samples, features, left_out = read_new(path, origin, way, settings)
        with progress.working(f"predicting {len(samples):,} samples"):
            table = answered(samples, features)
        yield table.iloc[without_label(path, origin, settings, left_out)] if only_unlabelled else table
    for name, each in strange.items():
        progress.note(each.words(name))


KIND = "file of predictions"
Reads = Iterable[str | Path]


@dataclass
class Answered:
    """How many samples were given each class."""

    samples: int = 0
    """All of them."""
    classes: Counter[Any] = field(default_factory=Counter)
    """Of each class that was given."""
    none_of_these: int | None = None
    """Those that were given none; None where none was rejected on purpose."""

    def counting(self, tables: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """The tables of `predict_blocks`, each counted as it goes by."""
        for table in tables:
            self.samples += len(table)
            self.classes.update(table["class"].dropna().tolist())
            if "none_of_these" in table:
                self.none_of_these = (self.none_of_these or 0) + int(table["none_of_these"].sum())
            yield table


def check_out(out: str | Path | None, of: Reads) -> None:
    """Refuse a file that predictions cannot be written to, before any work is done.

    of: the paths of what is asked about, and of what the model learned from.
    """
    if out is None:
        return
    suffix = Path(out).suffix.lower()
    if suffix not in OUT_SUFFIXES:
        raise SettingsError(
            f"{out} ends in {suffix or 'nothing'!r}; predictions are {', '.join(OUT_SUFFIXES)}"
        )
    check_writable(out, KIND, of=of)


def write_predictions(tables: Iterable[pd.DataFrame], out: str | Path | None, of: Reads = ()) -> None:
    """CSV, TSV or Parquet by the name of `out`, whole or not at all; CSV on standard output without one.

    of: as of `check_out`.
    """
    if out is None:
        _write_text(tables, sys.stdout, ",")
        return
    suffix = Path(out).suffix.lower()
    with writing(out, KIND, of=of) as partial, ExitStack() as stack:
        if suffix != ".parquet":
            file = stack.enter_context(partial.open("w", encoding="utf-8", newline=""))
            _write_text(tables, file, "\t" if suffix == ".tsv" else ",")
            return
        writer: pq.ParquetWriter | None = None
        for table in tables:
            arrow = pa.Table.from_pandas(table, preserve_index=False)
            if writer is None:
                writer = stack.enter_context(pq.ParquetWriter(partial, arrow.schema))
            writer.write_table(arrow.cast(writer.schema))


def _write_text(tables: Iterable[pd.DataFrame], file: TextIO, separator: str) -> None:
    for number, table in enumerate(tables):
        write_csv(file, _as_text(table), sep=separator, float_format=_DIGITS, header=number == 0)


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    """With classes that are numbers spelled out, for they are names and not to be rounded."""
    numbers = [
        name
        for name, kind in table.dtypes.items()
        if str(name).startswith("class") and pd.api.types.is_float_dtype(kind)
    ]
    return table.assign(**{str(name): table[name].map(str, na_action="ignore") for name in numbers})


def _answers(
    samples: Samples, features: Samples, classifier: GrayClassifier, reject_at: float | None, top: int
) -> pd.DataFrame:
    """A row a sample: its id, the likeliest classes, the score, and whether it is rejected."""
    probabilities = classifier.predict_proba(features)
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, : min(top, probabilities.shape[1])]
    names = np.empty(len(classifier.classes_), dtype=object)
    names[:] = classifier.classes_.tolist()
    rows = np.arange(len(samples))
    columns: dict[str, Any] = {
        "id": samples.ids if samples.ids.dtype.kind in "iu" else samples.ids.astype(str)
    }
    for rank in range(order.shape[1]):
        end = "" if rank == 0 else f"_{rank + 1}"
        columns[f"class{end}"] = pd.array(names[order[:, rank]].tolist())
        columns[f"probability{end}"] = probabilities[rows, order[:, rank]]
    columns["ood_score"] = classifier.ood_score(features)
    table = pd.DataFrame(columns)
    if reject_at is not None:
        answers = classifier.predict(features, reject_at=reject_at)
        rejected = np.array([answer is None for answer in answers])
        table["class"] = table["class"].mask(rejected)
        table["none_of_these"] = rejected
    return table


def _sets(features: Samples, classifier: GrayClassifier, coverage: float) -> list[str]:
    """The names of all classes that cannot be excluded, a text a sample."""
    names = [str(name) for name in classifier.classes_.tolist()]
    order = np.argsort(-classifier.predict_proba(features), axis=1, kind="stable")
    sets = np.take_along_axis(classifier.predict_sets(features, coverage), order, axis=1)
    return [" | ".join(names[k] for k in row[held]) for row, held in zip(order, sets, strict=True)]


@dataclass
class _Strange:
    """Values of a column that the model cannot make anything of."""

    what: str
    """In words."""
    examples: list[str]
    rows: int = 0

    def words(self, column: str) -> str:
        shown = first_few(list(dict.fromkeys(self.examples)), 5)
        return f"column {column!r} holds values {self.what} in {counted(self.rows, 'row')} ({shown})"


def _with_columns(
    features: Samples,
    classifier: GrayClassifier,
    path: Path,
    progress: RunProgress,
    strange: dict[str, _Strange],
) -> Samples:
    """The columns that the model reads, in its order; what is strange in them is added to `strange`."""
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
        words = as_words(frame[name])
        new = sorted({word for word in words if word} - set(known["values"]))
        if new and not known["other"] and not known["hashed"]:
            told = strange.setdefault(name, _Strange("never seen in training", new))
            told.rows += int(np.isin(words.astype(object), new).sum())
    for name, kind in encoder.kinds_.items():
        if kind in ("number", "date") and (lost := _unreadable_cells(frame[name], name, kind)):
            told = strange.setdefault(name, _Strange(f"that are no {kind} and taken as missing", lost))
            told.rows += len(lost)
    return Samples(frame.reindex(columns=wanted), features.y, features.classes, features.ids, "table")


def _unreadable_cells(values: pd.Series, name: str, kind: str) -> list[str]:
    """What stands in a column of text where the model expects numbers or dates."""
    if not (pd.api.types.is_object_dtype(values.dtype) or pd.api.types.is_string_dtype(values.dtype)):
        return []
    read = as_numbers(values, name) if kind == "number" else as_date_parts(values, name)[:, 0]
    return [str(value) for value in values[values.notna().to_numpy() & np.isnan(read)]]
