"""The verdicts of a run in its folder: one row per sample, in the order of the data, a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.array_types import Ints
from graylearn.audit.duplicates import Duplicates
from graylearn.audit.kinds import KINDS, LEVELS, SURE
from graylearn.data.atomic import replacing
from graylearn.data.formats import Origin
from graylearn.data.samples import Label, Samples, joined
from graylearn.estimator import GrayClassifier
from graylearn.runs.copies import group_column
from graylearn.runs.files import added_to
from graylearn.runs.fit import Fitted
from graylearn.runs.folder import RunFolder
from graylearn.runs.pictures import Checks, column
from graylearn.runs.prepare import Prepared

FOUND = ("label", "confidence", "score", "suspected", "level", "kind", "suggested", "because")
"""What is found of a sample, by the names and in the codes of an `Audit`."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Some neighbouring samples, and what was found of them."""

    samples: Samples
    """As a person knows them."""
    found: Mapping[str, NDArray[Any]]
    """(n,) of each name in FOUND, of the samples that were not held out."""
    held_out: NDArray[np.bool_]
    """(N,) which of them were held out to measure on."""
    hashes: Sequence[str] | None = None
    """(N,) of the images of a folder."""
    shown: Ints | None = None
    """Those that the page shows; None: all that were not held out, which are one block."""


@dataclass(frozen=True, eq=False)
class Found:
    """What was found in the data, in however many parts."""

    origin: Origin
    """What was read, with the rows that are no samples."""
    fingerprint: dict[str, Any]
    classes: Sequence[Label]
    """Those that the codes stand for."""
    samples: int
    """How many there are."""
    blocks: Callable[[], Iterator[Judged]]
    """Reads them all, in the order of the data."""
    page: Callable[[Samples | None], tuple[Prepared, Fitted]]
    """What the page is made of, given the samples that it shows."""
    contamination: Mapping[str, float | None]
    ranges: Mapping[str, tuple[float, float]]
    """As of `Audit`, of all samples."""
    copies: Duplicates | None
    """Among all samples, where they were looked for."""
    pictures: Checks
    """Pictures that show little."""
    notes: Sequence[str] = ()
    """What the audit says of the samples together."""
    shown: Ints | None = None
    """The samples of the page, by number; None where these are all that were not held out."""
    parts: int = 1
    """In how many parts the samples were audited."""
    model: GrayClassifier | None = None
    """What a fit learned."""


@dataclass(frozen=True, eq=False)
class Written:
    """What was seen while the verdicts were written."""

    kinds: NDArray[np.int64]
    """(K, 3) samples by class and kind."""
    sure: int
    """Suspects that the audit is sure of."""
    shown: Samples | None
    """The samples of the page; None where these are all."""


def write_verdicts(folder: RunFolder, found: Found, advance: Callable[[int], None]) -> Written:
    """samples.parquet, audit.parquet and audit.csv; with the group of each sample if copies were looked for,
    and what is odd about its picture if some are."""
    kinds, sure, begin = np.zeros((len(found.classes), len(KINDS)), dtype=np.int64), 0, 0
    groups = None if found.copies is None else group_column(found.copies)
    odd, shown = column(found.pictures), []
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
            np.add.at(kinds, (block.found["label"], block.found["kind"]), 1)
            sure += int((block.found["level"] == SURE).sum())
            begin += len(table)
            if block.shown is not None and len(block.shown):
                shown.append(block.samples.take(block.shown))
            advance(len(table))
    return Written(kinds, sure, joined(shown) if shown else None)


def _known(block: Judged) -> pd.DataFrame:
    """What samples.parquet holds of a block."""
    labels = np.array([str(label) for label in block.samples.classes], dtype=object)
    known = {
        "id": pd.array([str(name) for name in block.samples.ids], dtype="string"),
        "label": pd.array(labels[block.samples.y], dtype="string"),
        "held_out": block.held_out,
    }
    return pd.DataFrame(known if block.hashes is None else {**known, "sha256": block.hashes})


def _table(block: Judged, classes: Sequence[Label]) -> pd.DataFrame:
    """What audit.csv and audit.parquet hold of a block, in the same types in every block."""
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
