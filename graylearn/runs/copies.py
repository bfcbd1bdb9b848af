"""Copies in the data of a run: groups of them, and samples of the test set that were learned from."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from graylearn.array_types import Ints
from graylearn.audit.duplicates import Duplicates, find_duplicates
from graylearn.data.column_kinds import kind_of, looks_like_id
from graylearn.data.csv_files import write_csv
from graylearn.data.read import read_file
from graylearn.data.samples import Samples
from graylearn.data.tables import PIXELS_SIZE
from graylearn.data.written import check_writable, writing
from graylearn.errors import SettingsError
from graylearn.runs.folder import options_of
from graylearn.runs.prepare import check_ids, read_test
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings

KIND = "table of copies"
NEAR = {"image": 10_000, "text": 20_000, "table": 20_000, "array": 20_000}
"""Samples up to which copies that are not the same to the last bit are looked for, by kind."""


def copies_among(shown: Samples, test: Samples | None, way: str, progress: RunProgress) -> Duplicates | None:
    """The copies among samples as a person knows them, and between them and a test set; `way` is the setting
    `duplicates`, by which none may be looked for."""
    if way == "off":
        return None
    many, most = len(shown) + (0 if test is None else len(test)), NEAR[shown.kind]
    if way == "near" and many > most:
        progress.note(
            f"of {many:,} samples only exact copies are looked for: near ones among {most:,} at most"
        )
    with progress.working("looking for copies"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the columns, which reading the data told already
        train = _without_names(shown)
        if test is not None and isinstance(train.x, pd.DataFrame):
            test = replace(test, x=test.x[[name for name in train.x if name in test.x]])
        return find_duplicates(train, test=test, near=way == "near" and many <= most)


def write_copies(settings: RunSettings, out: str | Path, progress: RunProgress) -> Duplicates:
    """Look for copies in the data of `settings` and in its test set, and write a table of them.

    One row per sample that has a copy: group, set (train, test), id, label, kind (exact, near) and
    contradicting.
    """
    check_writable(out, KIND, of=settings.reads)
    size, test = settings.size or PIXELS_SIZE, None
    with progress.of_warnings():
        train, origin = read_file(settings.data, options_of(settings, size, settings.split))
        check_ids(train, Path(settings.data))
        if settings.test is not None or settings.test_split is not None:
            test = read_test(settings, size, origin)
            check_ids(test, Path(settings.test or settings.data))
    found = copies_among(train, test, settings.duplicates, progress)
    if found is None:
        raise SettingsError("duplicates is 'off', but copies are to be found: leave it out")
    table = found.table
    sets = [train] if test is None else [train, test]
    ids = np.concatenate([each.ids.astype(object) for each in sets])
    labels = np.array([each.classes[k] for each in sets for k in each.y], dtype=object)
    rows = table["index"].to_numpy(dtype=np.int64)
    named = pd.DataFrame(
        {
            "group": table["group"] + 1,
            "set": np.where(rows < found.count, "train", "test"),
            "id": ids[rows],
            "label": labels[rows],
            "kind": table["kind"],
            "contradicting": table["contradicting"],
        }
    )
    with writing(out, KIND, of=settings.reads) as partial:
        write_csv(partial, named)
    return found


def among(copies: Duplicates, chosen: Ints) -> Duplicates:
    """The groups all of whose samples are among the chosen, as copies of these alone."""
    at = np.full(copies.total, -1)
    at[chosen] = np.arange(len(chosen))
    whole = [number for number, members in enumerate(copies.groups) if (at[members] >= 0).all()]
    groups = tuple(at[copies.groups[number]] for number in whole)
    number = len(chosen)
    return Duplicates(groups, copies.exact[whole], copies.contradicting[whole], float("inf"), number, number)


def group_column(copies: Duplicates) -> pd.Series[int]:
    """(N,) the number of each sample's group, from 1 on; missing where it has no copy."""
    number = copies.group[: copies.count] + 1
    return pd.Series(pd.array(np.where(number > 0, number, 0), dtype="Int64")).replace(0, pd.NA)


def copies_in_numbers(copies: Duplicates) -> dict[str, int]:
    """For summary.json: how many copies there are, those of the test set among them."""
    return {
        "groups": len(copies.groups),
        "samples": sum(map(len, copies.groups)),
        "contradicting": int(copies.contradicting.sum()),
        "leaked": len(copies.leaked),
    }


def note_of(copies: Duplicates) -> str | None:
    """What the reader of the findings should know; None where there is no copy."""
    if not copies.groups:
        return None
    told = copies.summary()
    equal = sum(len(members) for members, same in zip(copies.groups, copies.exact, strict=True) if same)
    if len(copies.leaked):
        told += ", which measures too well"
    if 2 * equal > copies.total:
        return f"{told}; where columns have few values, equal rows are no sign of copying"
    trained = np.array([(members < copies.count).sum() > 1 for members in copies.groups])
    if (trained & ~copies.exact & ~copies.contradicting).any():  # of exact ones the audit asks about one
        told += (
            ". Near copies vouch for one another's labels, wrong ones too: look at them in the report, and "
            "if they show the same, apply --duplicates keep-one and audit what is left"
        )
    return told


def _without_names(samples: Samples) -> Samples:
    """Without the columns that name the rows, in which copies differ."""
    if not isinstance(samples.x, pd.DataFrame):
        return samples
    frame: pd.DataFrame = samples.x
    kept = [
        name for name in map(str, frame.columns) if not looks_like_id(frame, name, kind_of(frame[name], name))
    ]
    return replace(samples, x=frame[kept]) if kept else samples
