"""An audit in a folder: table.csv or table.parquet for people, audit.json and arrays.npz to load it from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graylearn.audit.result import Audit, as_unicode
from graylearn.data.atomic import replacing
from graylearn.data.npz import read_arrays
from graylearn.data.samples import classes_from_json, classes_to_json
from graylearn.errors import CheckpointError, DataError, SettingsError

_FORMAT = "graylearn-audit"
_VERSION = 1
_ARRAYS = ("label", "confidence", "score", "suspected", "kind", "suggested", "posterior", "pi", "o", "P")


def save_audit(audit: Audit, folder: Path, format: str) -> None:
    """Write `audit` into `folder`; audit.json comes last, so a folder that has it is whole."""
    if format not in ("csv", "parquet"):
        raise SettingsError(f"format is {format!r}: use csv or parquet")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "audit.json").unlink(missing_ok=True)
    for other in ("csv", "parquet"):
        (folder / f"table.{other}").unlink(missing_ok=True)
    table = _writable(audit.table)
    with replacing(folder / f"table.{format}") as partial:
        if format == "csv":
            table.to_csv(partial, index=False)
        else:
            if any(isinstance(label, bool | int | float) for label in audit.classes):
                # Arrow wants one type a column: None beside numbers needs a type that can be missing.
                table = table.assign(suggested=pd.array(table["suggested"].tolist()))
            table.to_parquet(partial, index=False)
    numeric_ids = audit.ids.dtype.kind in "iu"
    arrays = {name: getattr(audit, name) for name in _ARRAYS}
    arrays["ids"] = audit.ids if numeric_ids else audit.ids.astype(str)
    with replacing(folder / "arrays.npz") as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)
    meta = {
        "format": _FORMAT,
        "version": _VERSION,
        "classes": classes_to_json(audit.classes),
        "mode": audit.mode,
        "form": audit.form,
        "temperature": audit.temperature,
        "contamination": audit.contamination,
        "notes": list(audit.notes),
        "details": audit.details,
        "num_samples": len(audit),
    }
    with replacing(folder / "audit.json") as partial:
        partial.write_text(json.dumps(meta, indent=1), encoding="utf-8")


def _writable(table: pd.DataFrame) -> pd.DataFrame:
    """The table of an audit, with names spelt out that no file of text can hold."""
    named = [name for name in ("id", "label", "suggested") if table[name].dtype == object]
    return table.assign(
        **{name: pd.Series([as_unicode(each) for each in table[name]], dtype=object) for name in named}
    )


def load_audit(folder: Path) -> Audit:
    """Read an audit back; nothing in the folder is ever executed."""
    try:
        meta = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
        arrays = read_arrays(folder / "arrays.npz")
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder} does not hold a saved audit ({error}): save it again") from error
    if not isinstance(meta, dict) or meta.get("format") != _FORMAT:
        raise CheckpointError(f"{folder / 'audit.json'} is not of a saved audit: expected format {_FORMAT!r}")
    if meta.get("version") != _VERSION:
        raise CheckpointError(
            f"{folder} was saved in version {meta.get('version')!r} of the format, this reads {_VERSION}"
        )
    missing = {*_ARRAYS, "ids"} - set(arrays)
    if missing:
        raise CheckpointError(f"{folder / 'arrays.npz'} lacks {', '.join(sorted(missing))}: save it again")
    try:
        classes = classes_from_json(meta["classes"])
        _check_shapes(arrays, int(meta["num_samples"]), len(classes))
        ids = arrays.pop("ids")
        return Audit(
            ids=ids if ids.dtype.kind in "iu" else ids.astype(object),
            classes=classes,
            temperature=float(meta["temperature"]),
            mode=meta["mode"],
            form=str(meta["form"]),
            notes=tuple(meta["notes"]),
            details=dict(meta["details"]),
            **{name: arrays[name] for name in _ARRAYS},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder} holds a damaged audit ({error}): save it again") from error


def _check_shapes(arrays: dict[str, Any], n: int, num_classes: int) -> None:
    for name, value in arrays.items():
        expected = (n, num_classes) if name == "P" else (n,)
        if value.shape != expected:
            raise DataError(f"{name} has shape {value.shape}, expected {expected}")
    for name, low, high in (("label", 0, num_classes), ("kind", 0, 3), ("suggested", -1, num_classes)):
        if n and (arrays[name].min() < low or arrays[name].max() >= high):
            raise DataError(f"{name} reaches outside {low}..{high - 1}")
