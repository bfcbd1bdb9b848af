"""The verdicts on a set that was audited in parts: gathered by row, and written in the order of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graylearn.audit.kinds import KINDS, LEVELS, SURE
from graylearn.audit.parts import PartFiles
from graylearn.data.atomic import replacing
from graylearn.data.blocks import Block, Blocks, joined
from graylearn.data.csv_files import write_csv
from graylearn.data.samples import Label, Samples
from graylearn.runs.folder import RunFolder
from graylearn.runs.large_copies import PartedCopies

_SCORES = np.dtype(
    [("confidence", "f8"), ("score", "f8"), ("suspected", "?"), ("level", "i1"), ("kind", "i1"),
     ("suggested", "i4")]
)  # fmt: skip


def gathered(files: PartFiles, path: Path) -> NDArray[Any]:
    """(rows,) verdicts by row of the data, in a mapped file."""
    tables = [folder / "scores.parquet" for folder in files.having("scores.parquet")]
    rows = [pq.read_table(table, columns=["row"])["row"].to_numpy().max() for table in tables]
    scores = np.memmap(path, _SCORES, "w+", shape=(int(max(rows)) + 1,))
    for table in tables:
        found = pq.read_table(table)
        for name in _SCORES.names or ():
            scores[name][found["row"].to_numpy()] = found[name].to_numpy()
    return scores


@dataclass(frozen=True)
class Written:
    """What was seen on the way of writing the verdicts."""

    shown: Samples
    """The samples that were wanted."""
    kinds: NDArray[np.int64]
    """(K, 3) samples by class and kind."""
    sure: int
    """Suspects that the audit is sure of."""
    names: list[str]
    """Of images: those that are samples."""
    left_out: tuple[int, ...]
    """Rows that are no samples."""


def write_verdicts(
    blocks: Blocks,
    classes: Sequence[Label],
    folder: RunFolder,
    scores: NDArray[Any],
    wanted: NDArray[Any],
    copies: PartedCopies | None,
    advance: Callable[[int], None],
) -> Written:
    """samples.parquet, audit.parquet and audit.csv, block by block; keeps the samples at rows `wanted`."""
    shown: list[Samples] = []
    names: list[str] = []
    left_out: list[int] = []
    begin = 0
    kinds, sure = np.zeros((len(classes), len(KINDS)), dtype=np.int64), 0
    with ExitStack() as stack:
        files = [stack.enter_context(replacing(path)) for path in (folder.samples, folder.audit_parquet)]
        csv = stack.enter_context(
            stack.enter_context(replacing(folder.audit_csv)).open("w", encoding="utf-8", newline="")
        )
        writers: list[pq.ParquetWriter] = []
        for block in blocks.read(classes):
            found = scores[block.rows]
            tables = _tables(block, classes, found, copies)
            first = not writers
            if first:
                pairs = zip(files, tables, strict=True)
                writers = [stack.enter_context(pq.ParquetWriter(file, table.schema)) for file, table in pairs]
            for writer, table in zip(writers, tables, strict=True):
                writer.write_table(table.cast(writer.schema))
            # whole numbers stay so beside missing ones
            frame = tables[1].to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
            write_csv(csv, frame, header=first)
            np.add.at(kinds, (block.samples.y, found["kind"]), 1)
            sure += int((found["level"] == SURE).sum())
            inside = np.flatnonzero(np.isin(block.rows, wanted, assume_unique=True))
            if len(inside):
                shown.append(block.samples.take(inside))
            left_out += np.setdiff1d(np.arange(begin, block.end), block.rows).tolist()
            begin = block.end
            if blocks.origin.form == "folder":
                names += map(str, block.samples.ids)
            advance(len(block.rows))
    return Written(joined(shown), kinds, sure, names, tuple(left_out))


def _tables(
    block: Block, classes: Sequence[Label], scores: NDArray[Any], copies: PartedCopies | None
) -> tuple[pa.Table, pa.Table]:
    """What samples.parquet and audit.parquet hold of one block."""
    y, ids = pa.array(block.samples.y), block.samples.ids
    labels, texts = pa.array(list(classes)), pa.array([str(label) for label in classes])
    names = pa.array([str(each) for each in ids], pa.string())
    suggested = pa.array(scores["suggested"].astype(np.int64), mask=scores["suggested"] < 0)
    samples = pa.table({"id": names, "label": texts.take(y), "held_out": np.zeros(len(y), dtype=bool)})
    verdicts = pa.table(
        {
            "id": pa.array(ids) if ids.dtype.kind in "iu" else names,
            "label": labels.take(y),
            "confidence": scores["confidence"],
            "score": scores["score"],
            "suspected": scores["suspected"],
            "level": pa.array(LEVELS).take(pa.array(scores["level"])),
            "kind": pa.array(KINDS).take(pa.array(scores["kind"])),
            "suggested": labels.take(suggested),
        }
    )
    if copies is not None:
        group = copies.of(block.rows)
        verdicts = verdicts.append_column("group", pa.array(group, mask=group == 0))
    return samples, verdicts
