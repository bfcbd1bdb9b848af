"""Several annotators in a run: their labels become one consensus per sample, which is then audited.

The data with the consensus as their label are put into the run folder (consensus.csv, of tables that are not
delimited text consensus.parquet), and all that follows reads these: the audit, the report, tasks and apply.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graylearn.audit.annotators import MISSING, Crowd, consensus
from graylearn.data.atomic import replacing
from graylearn.data.csv_files import write_csv
from graylearn.data.formats import Origin, format_of, moved_path
from graylearn.data.labels import note_labels
from graylearn.data.remote import local
from graylearn.data.samples import Samples
from graylearn.data.table_samples import find_columns, is_missing, without_columns
from graylearn.data.tables import RawTable, ReadOptions
from graylearn.errors import DataError, SettingsError, are, counted
from graylearn.runs.folder import RunFolder, options_of
from graylearn.runs.prepare import is_large, prepare
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings

LABEL = "consensus"
"""Name of the consensus column, unless the data have a column of that name."""
SAMPLE = ("sample", "id", "sample_id", "item", "item_id", "task")
ANNOTATOR = ("annotator", "annotator_id", "worker", "worker_id", "rater", "user")
GIVEN = ("label", "answer", "choice", "annotation")
"""Column names recognised in annotations in long form."""


def with_consensus(
    settings: RunSettings, folder: RunFolder, progress: RunProgress
) -> tuple[RunSettings, Crowd]:
    """(settings that read the consensus as the label, the consensus itself).

    Views of samples that are held in memory are asked as well; of pixels they would learn little.
    """
    table, answers, silent = opinions(settings)
    progress.say(f"{answers.shape[1]} annotators labelled {len(answers):,} samples")
    if silent:
        told = f"{counted(silent, 'sample')} without a label by any annotator"
        progress.note(f"{told} {are(silent)} left out")
    crowd = consensus(answers)
    note_labels(crowd.classes, np.bincount(crowd.label[crowd.label != MISSING], minlength=len(crowd.classes)))
    reading = replace(settings, annotators=(), annotations=None, split=None, separator=None)
    file, label, name = _written(table, crowd, settings, folder)
    reading = replace(reading, data=str(file), label=label, id=name, no_id=False)
    if is_large(settings) or is_large(reading):
        return reading, crowd
    alone = replace(reading, test=None, test_share=None, test_split=None)
    prepared = prepare(alone, folder.stages, RunProgress(quiet=True))
    if prepared.encoding.way != "pixels":
        with progress.working("asking views about the annotators' labels"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = _kept(prepared.origin, len(answers))
            crowd = consensus(answers.iloc[kept], X=prepared.train.x, id_like=settings.id_like)
            _written(table.take(kept), crowd, settings, folder)
    return reading, crowd


def crowd_of_samples(crowd: Crowd, folder: RunFolder, origin: Origin) -> Crowd:
    """The consensus restricted to the audited samples and with their ids; also writes annotators.csv, worst
    first, and ask_again.csv, the samples for which one more label is worth most."""
    known = pq.read_table(folder.samples, columns=["id", "held_out"]).to_pandas()
    kept = _kept(origin, len(crowd.label))[~known["held_out"]]
    names = known["id"][~known["held_out"]].to_numpy(dtype=object)
    crowd = replace(crowd_among(crowd, kept), samples=names)
    write_csv(folder.annotators, crowd.annotator_table)
    write_csv(folder.ask_again, crowd.table.assign(ask=crowd.whom_to_ask).iloc[crowd.ask_again])
    return crowd


def crowd_among(crowd: Crowd, index: NDArray[np.int64]) -> Crowd:
    """The consensus of some of the samples."""
    names = ("samples", "label", "probabilities")
    return replace(crowd, **{name: getattr(crowd, name)[index] for name in names})


def _kept(origin: Origin, count: int) -> NDArray[np.int64]:
    """(N,) the rows that became samples: images that cannot be read are left out."""
    return np.setdiff1d(np.arange(count), np.array(origin.left_out, dtype=np.int64))


def opinions(settings: RunSettings) -> tuple[RawTable, pd.DataFrame, int]:
    """(the data without their labels, (N, A) what each annotator said, samples without any label).

    Where an annotator said nothing of a sample the answer is missing.
    """
    path = local(settings.data)
    options = _options(settings)
    table = _table(path, options)
    if settings.annotators:
        bare = without_columns(table, settings.annotators, "to take an annotator's labels from")
        columns = [name for name in table.frame.columns if name not in bare.frame.columns]
        if len(columns) < 2:
            raise SettingsError(
                f"annotators names one column, {columns[0]!r}: name two or more, or give it as the label"
            )
        given = table.frame[columns]
    else:
        bare, given = table, _of_long_form(table, settings, options)
    somebody = np.flatnonzero(~given.apply(is_missing).all(axis=1).to_numpy())
    if not len(somebody):
        raise DataError(f"no sample of {path} has a label by any annotator: name the columns that do")
    answers = given.iloc[somebody].reset_index(drop=True)
    return bare.take(somebody), answers, len(given) - len(somebody)


def _options(settings: RunSettings) -> ReadOptions:
    """Options for reading the data without a label; images are not decoded, so any size will do."""
    return replace(options_of(settings, 8, settings.split), labelled=False, label=None)


def _table(path: Path, options: ReadOptions) -> RawTable:
    found = format_of(path).read(path, options)
    if isinstance(found, Samples):
        raise DataError(
            f"{path} is no table: labels of several annotators need one, of images a table of their paths"
        )
    return found


def _of_long_form(table: RawTable, settings: RunSettings, options: ReadOptions) -> pd.DataFrame:
    """(N, A) labels from a separate table with the columns sample, annotator and label."""
    path = local(settings.annotations or "")
    opened = _table(path, replace(options, id=False, text=None, path=None, split=None))
    long = opened.frame
    wanted = [(settings.id, *SAMPLE), ANNOTATOR, (settings.label, *GIVEN)]
    names = [next((name for name in known if name in long.columns), None) for known in wanted]
    if None in names:
        if len(long.columns) != 3:
            raise DataError(
                f"{path} has the columns {', '.join(map(str, long.columns))}; "
                "expected sample, annotator, label"
            )
        names = list(long.columns)
    columns = find_columns(table, options)
    named = columns.path if columns.id is None else columns.id
    ids = [str(each) for each in table.ids] if named is None else _as_written(table, named)
    index = {name: row for row, name in enumerate(ids)}
    told = _as_written(opened, names[0])
    row = np.array([index.get(name, MISSING) for name in told], dtype=np.int64)
    plain = pd.DataFrame({"row": row, "who": long[names[1]], "label": long[names[2]], "told": told})
    plain = plain.dropna(subset=["label"])
    if len(strange := plain["told"][plain["row"] == MISSING]):
        raise DataError(
            f"{path} names the sample {strange.iloc[0]!r}, which {settings.data} does not have: correct it, "
            "or leave its rows out"
        )
    if nobody := int(is_missing(plain["who"]).sum()):
        raise DataError(f"{path}: {counted(nobody, 'label')} of no annotator; fill in column {names[1]!r}")
    twice = plain.duplicated(["row", "who"])
    if twice.any():
        first = plain[twice].iloc[0]
        raise DataError(f"{path}: {first['who']} labels {ids[first['row']]!r} twice; keep one label of each")
    return plain.pivot(index="row", columns="who", values="label").reindex(range(len(ids)))


def _as_written(table: RawTable, column: Any) -> list[str]:
    """A column as text as it stands in the file: as numbers, 007 and 7 would be the same."""
    written = table.as_written
    cells = table.frame[column] if written is None else written([str(column)])[str(column)].to_pylist()
    return [str(cell).strip() for cell in cells]


def _written(
    table: RawTable, crowd: Crowd, settings: RunSettings, folder: RunFolder
) -> tuple[Path, str, str | None]:
    """(the file with the consensus as a column, the name of the column, the one that names the samples).

    Samples that go by their line, or by the path of their image, are named by that of the data, whatever line
    the file has them in and wherever images lie as seen from it.
    """
    label = _free(LABEL, table)
    options = _options(settings)
    columns = find_columns(table, options)
    written = table.as_written
    frame = table.frame
    if written is not None:  # numbers do not tell 007 from 7
        frame = written(list(map(str, frame.columns))).to_pandas()
    file = folder.consensus_csv if written is not None else folder.consensus_parquet
    name = columns.id
    if name is None:
        name = _free(table.unit if columns.path is None else SAMPLE[0], table)
        names: Any = table.ids if columns.path is None else frame[columns.path]
        frame = frame.assign(**{name: names})
    if columns.path is not None:
        data = local(settings.data)
        frame = frame.assign(**{columns.path: [moved_path(each, data, file) for each in frame[columns.path]]})
    frame = frame.assign(**{label: crowd.consensus})
    with replacing(file) as partial:
        if written is not None:
            # encoded as the data are told to be, for the test set is read by the same settings
            frame.to_csv(partial, index=False, encoding=settings.encoding, lineterminator="\n")
        else:
            frame.to_parquet(partial, index=False)
    return file, label, name


def _free(name: str, table: RawTable) -> str:
    """The name, with underscores added until no column has it."""
    while name in table.frame.columns:
        name += "_"
    return name


def crowd_in_numbers(crowd: Crowd) -> dict[str, Any]:
    """The consensus in numbers for summary.json."""
    table = crowd.annotator_table
    return {
        "annotators": len(crowd.annotators),
        "agreement": None if np.isnan(crowd.agreement) else round(crowd.agreement, 4),
        "quality": {str(row["annotator"]): round(row["quality"], 4) for row in table.to_dict("records")},
    }


def note_of_crowd(crowd: Crowd) -> str:
    """One note on the annotators for people."""
    worst = crowd.annotator_table.iloc[0]
    agree = (
        "" if np.isnan(crowd.agreement) else f", who agree by {crowd.agreement:.2f} (Krippendorff's alpha)"
    )
    return (
        f"labels are the consensus of {len(crowd.annotators)} annotators{agree}; "
        f"of what {worst['annotator']} says {worst['quality']:.0%} is right, of no one less"
    )
