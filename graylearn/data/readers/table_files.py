"""Tables from files: CSV, TSV, Parquet, Feather and JSON lines, plain or compressed with gzip or zstd."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

from graylearn.data.readers.delimited import read_delimited
from graylearn.data.readers.tables import Table, table_from_arrow, table_from_pandas
from graylearn.errors import DataError

_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_DELIMITED = (".csv", ".tsv", ".tab", ".txt", ".data")
_PARQUET = (".parquet", ".pq")
_FEATHER = (".feather", ".arrow", ".ipc")
_JSON = (".jsonl", ".ndjson", ".json")
TABLE_SUFFIXES = (*_DELIMITED, *_PARQUET, *_FEATHER, *_JSON)
"""Endings of the files that hold a table; .gz or .zst may follow."""


def table_suffix(path: Path) -> str:
    """The ending that tells the format, in lower case, with any .gz or .zst left off."""
    plain = path.with_suffix("") if path.suffix.lower() in _COMPRESSIONS else path
    return plain.suffix.lower()


def read_table_file(
    path: Path, *, separator: str | None = None, header: bool | None = None, encoding: str = "utf-8"
) -> Table:
    """Read a file with one of the TABLE_SUFFIXES; the three options are those of `read_delimited`."""
    suffix, name = table_suffix(path), str(path)
    raw = _read_bytes(path)
    if suffix in _DELIMITED:
        separator = "\t" if separator is None and suffix in (".tsv", ".tab") else separator
        return read_delimited(raw, name, separator=separator, header=header, encoding=encoding)
    if not len(raw):
        raise DataError(f"{name} is empty")
    if suffix in _JSON:
        return _read_json(raw, name)
    try:
        source = pa.BufferReader(raw)
        arrow = pa.parquet.read_table(source) if suffix in _PARQUET else pa.feather.read_table(source)
        return table_from_arrow(arrow, name)
    except DataError:
        raise
    except Exception as error:  # damaged metadata fails in pyarrow, pandas or json, each in its own way
        kind = "Parquet" if suffix in _PARQUET else "Feather"
        raise DataError(f"{name} is damaged or not a {kind} file ({_first_line(error)})") from error


def _read_bytes(path: Path) -> bytes:
    compression = _COMPRESSIONS.get(path.suffix.lower())
    try:
        if compression is None:
            return path.read_bytes()
        with pa.input_stream(str(path), compression=compression) as stream:
            raw: bytes = stream.read()
            return raw
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read ({_first_line(error)}); is the file whole?") from error


def _read_json(raw: bytes, name: str) -> Table:
    """One object a line, or one list of objects; ids are line numbers from 1, or places from 0."""
    if raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        try:
            records = json.loads(raw)
        except ValueError as error:
            raise DataError(f"{name} is not valid JSON: {error}") from error
        _check_objects(records, name, "item", range(len(records)))
        return table_from_pandas(pd.DataFrame.from_records(records), name)
    records, lines = [], []
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(json.loads(line))
        except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are both
            raise DataError(f"{name}, line {number}: not a JSON object ({_first_line(error)})") from error
        lines.append(number)
    if not records:
        raise DataError(f"{name} is empty")
    _check_objects(records, name, "line", lines)
    if (
        len(records) == 1
        and records[0]
        and all(isinstance(value, dict | list) for value in records[0].values())
    ):
        raise DataError(
            f"{name} holds one object of columns; expected one object a line or a list of objects, as pandas "
            "writes with to_json(orient='records')"
        )
    frame = pd.DataFrame.from_records(records)
    return Table(frame, name, np.array(lines, dtype=np.int64), place="line")


def _check_objects(records: list[Any], name: str, place: str, numbers: Any) -> None:
    for number, record in zip(numbers, records, strict=True):
        if not isinstance(record, dict):
            raise DataError(
                f'{name}, {place} {number}: expected an object such as {{"text": ..., "label": ...}}, '
                f"not {type(record).__name__}"
            )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
