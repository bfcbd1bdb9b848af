"""An audit in a folder: table.csv or table.parquet for people, audit.json and arrays.npz to load it from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.audit.kinds import KINDS, LEVELS
from graylearn.data.atomic import OWN, read_arrays, replacing, write_text
from graylearn.data.csv_files import write_csv
from graylearn.data.samples import plain_classes
from graylearn.errors import CheckpointError, DataError, SettingsError

Arrays = dict[str, NDArray[Any]]

_FORMAT = "graylearn-audit"
_MADE: dict[str, Callable[[Any], Any]] = {
    "ids": lambda saved: saved if saved.dtype.kind in "iu" else saved.astype(object),
    "classes": plain_classes,
    "because": lambda saved: saved.astype(object),
    "overlap": str,
    "judge": str,
    "ranges": lambda saved: {name: (float(low), float(high)) for name, (low, high) in saved.items()},
    "notes": tuple,
}
"""What makes a field of what was saved; the others are as they were saved."""


def as_unicode(value: Any) -> Any:
    """Text that can be printed and written: what is not Unicode in a file name (\\udcff), spelt out."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def write_audit(
    folder: Path,
    fields: Mapping[str, Any],
    table: pd.DataFrame,
    contamination: Mapping[str, float | None],
    format: str,
) -> None:
    """Write the fields of an audit into the empty `folder`."""
    if format not in ("csv", "parquet"):
        raise SettingsError(f"format is {format!r}: use csv or parquet")
    classes, ids = fields["classes"], fields["ids"]
    table = _writable(table)
    if format == "csv":
        write_csv(folder / "table.csv", table)
    else:
        if any(isinstance(label, bool | int | float) for label in classes):
            # Arrow wants one type a column: None beside numbers needs a type that can be missing.
            table = table.assign(suggested=pd.array(table["suggested"].tolist()))
        with replacing(folder / "table.parquet") as partial:
            table.to_parquet(partial, index=False)
    arrays: dict[str, Any] = {name: each for name, each in fields.items() if isinstance(each, np.ndarray)}
    arrays["ids"] = ids if ids.dtype.kind in "iu" else ids.astype(str)
    arrays["because"] = arrays["because"].astype(str)
    with replacing(folder / "arrays.npz") as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)
    meta = {
        "format": _FORMAT,
        **{name: value for name, value in fields.items() if name not in arrays and value is not None},
        "classes": list(plain_classes(classes)),
        "contamination": contamination,
        "num_samples": len(ids),
    }
    write_text(folder / "audit.json", json.dumps(meta, indent=1))


def _writable(table: pd.DataFrame) -> pd.DataFrame:
    """The table of an audit, with names spelt out that no file of text can hold."""
    named = [name for name in ("id", "label", "suggested") if table[name].dtype == object]
    return table.assign(
        **{name: pd.Series([as_unicode(each) for each in table[name]], dtype=object) for name in named}
    )


def read_audit(folder: Path, needed: Mapping[str, bool]) -> dict[str, Any]:
    """The fields of a saved audit; nothing in the folder is ever executed.

    needed: the name of each field, and whether an audit cannot be without it.
    """
    try:
        meta = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
        arrays = read_arrays(folder / "arrays.npz", always=OWN)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{folder} does not hold a saved audit ({error}): save it again") from error
    if not isinstance(meta, dict) or meta.get("format") != _FORMAT:
        raise CheckpointError(f"{folder / 'audit.json'} is not of a saved audit: expected format {_FORMAT!r}")
    try:
        saved = {**meta, **arrays}
        if missing := [name for name in needed if needed[name] and name not in saved]:
            raise DataError(f"it lacks {', '.join(sorted(missing))}")
        fields = {name: _MADE.get(name, lambda each: each)(saved[name]) for name in needed if name in saved}
        _check_shapes(arrays, int(meta["num_samples"]), len(fields["classes"]))
        return fields
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise CheckpointError(f"{folder} holds a damaged audit ({error}): save it again") from error


def _check_shapes(arrays: Arrays, n: int, num_classes: int) -> None:
    for name, value in arrays.items():
        expected = (n, num_classes) if name in ("probabilities", "beliefs") else (n,)
        if value.shape != expected:
            raise DataError(f"{name} has shape {value.shape}, expected {expected}")
    for name, low, high in (
        ("label", 0, num_classes),
        ("kind", 0, len(KINDS)),
        ("level", 0, len(LEVELS)),
        ("suggested", -1, num_classes),
    ):
        if n and name in arrays and (arrays[name].min() < low or arrays[name].max() >= high):
            raise DataError(f"{name} reaches outside {low}..{high - 1}")
