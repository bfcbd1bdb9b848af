"""Tables of Arrow, JSON records and arrays: the same types and names, with fewer rows and other labels."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from graylearn.data.atomic import replacing
from graylearn.data.npz import read_arrays
from graylearn.errors import DataError
from graylearn.runs.rewrite.change import Change, moved_paths, read_bytes, write_bytes
from graylearn.runs.source import Source

_Y_NAMES = ("y", "Y", "labels", "label", "target", "targets")
_NOT_SAMPLES = ("class_names", "classes")


def rewrite_arrow(data: Path, source: Source, out: Path, change: Change) -> None:
    """Parquet and Feather: the same schema, with fewer rows and other labels."""
    raw = pa.BufferReader(read_bytes(data))
    codec = "snappy"
    if source.form == "parquet":
        file = pa.parquet.ParquetFile(raw)
        table = file.read()
        if file.metadata.num_row_groups and file.metadata.num_columns:
            codec = file.metadata.row_group(0).column(0).compression.lower()
    else:
        table = pa.feather.read_table(raw)
    label = table.column_names.index(source.columns.label)
    field = table.schema.field(label)
    table = table.set_column(label, field, table.column(label).take(pa.array(change.label_of)))
    paths = moved_paths(source, data, out)
    if paths is not None:
        place = table.column_names.index(paths.column)
        moved = [None if path is None else paths.moved(str(path)) for path in table.column(place).to_pylist()]
        kind = table.schema.field(place)
        table = table.set_column(place, kind, pa.array(moved, pa.string()).cast(kind.type))
    table = table.take(pa.array(change.places, pa.int64()))
    written = pa.BufferOutputStream()
    if source.form == "parquet":
        pa.parquet.write_table(table, written, compression="none" if codec == "uncompressed" else codec)
    else:
        pa.feather.write_feather(table, written)
    write_bytes(out, written.getvalue().to_pybytes())


def rewrite_json(data: Path, source: Source, out: Path, change: Change) -> None:
    """JSON lines, untouched but for dropped and relabelled ones, or one list of objects."""
    raw = read_bytes(data)
    label = source.columns.label
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    body = raw.removeprefix(mark)
    paths = moved_paths(source, data, out)
    is_list = body.lstrip().startswith(b"[")
    lines = [] if is_list else [line for line in body.split(b"\n") if line.strip()]
    records: list[dict[str, Any]] = json.loads(body) if is_list else [json.loads(line) for line in lines]
    kept: list[Any] = []
    for place in change.places:
        other = change.label_of[place]
        record = records[place]
        if other != place:
            record = {**record, str(label): records[other][str(label)]}
        if paths is not None:
            record = {**record, paths.column: paths.moved(str(record[paths.column]))}
        untouched = record is records[place] and not is_list
        kept.append(lines[place] if untouched else record)
    if is_list:
        write_bytes(out, mark + json.dumps(kept, ensure_ascii=False, indent=1).encode() + b"\n")
        return
    encoded = [
        each if isinstance(each, bytes) else json.dumps(each, ensure_ascii=False).encode() for each in kept
    ]
    write_bytes(out, mark + b"\n".join(encoded) + b"\n")


def rewrite_npz(data: Path, source: Source, out: Path, change: Change) -> None:
    """Arrays of the same names; those that hold one entry a sample are cut."""
    arrays = read_arrays(data)
    n, prefix = len(change.keep), "" if source.split is None else f"{source.split}_"
    if not prefix and not any(name in arrays for name in _Y_NAMES):
        prefix = next((name.removesuffix("y") for name in arrays if name.endswith("_y")), "")
    names = (source.columns.label, *(prefix + name for name in _Y_NAMES))
    label = next((name for name in names if name in arrays), None)
    if label is None:
        raise DataError(f"{data} holds no array of labels; make the run anew")
    arrays[label] = arrays[label][change.label_of]
    for name, values in arrays.items():
        if name == label or (
            name.startswith(prefix) and name not in _NOT_SAMPLES and values.shape[:1] == (n,)
        ):
            arrays[name] = values[change.places]
    with replacing(out) as partial, partial.open("wb") as opened:
        np.savez_compressed(opened, **arrays)  # type: ignore[arg-type]
