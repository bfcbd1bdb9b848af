"""The formats of files, one module each: a module that defines FORMAT is in FORMATS, without being listed."""

from __future__ import annotations

import importlib
import os
import pkgutil

from graylearn.data.formats._base import (
    COMPRESSIONS,
    NAMELESS,
    TABLES,
    Change,
    Format,
    Origin,
    file_fingerprint,
    moved_path,
    suffix_of,
)
from graylearn.data.remote import local
from graylearn.data.samples import Samples
from graylearn.data.tables import ReadOptions, Table
from graylearn.errors import DataError, counted
from graylearn.paths import existing, matching

__all__ = [
    "COMPRESSIONS",
    "FORMATS",
    "NAMELESS",
    "TABLES",
    "Change",
    "Format",
    "Origin",
    "file_fingerprint",
    "format_of",
    "moved_path",
    "opened",
    "suffix_of",
]


def _collected() -> dict[str, Format]:
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    found = [importlib.import_module(f"{__name__}.{name}").FORMAT for name in names]
    return {each.name: each for each in sorted(found, key=lambda each: each.takes_any_folder)}


FORMATS: dict[str, Format] = _collected()
"""Every format by its name, in the order in which they are asked whether a file is theirs."""

_SPREADSHEETS = (".xls", ".xlsb", ".ods", ".numbers")


def opened(source: str | os.PathLike[str], options: ReadOptions) -> tuple[Origin, Table | Samples]:
    """What is read, as far as is known before it is, and the table in it, or samples."""
    path = local(source)
    form, split = format_of(path), options.split
    if split is not None and not form.has_splits:
        if (path / split).is_dir():
            raise DataError(f"{path} holds the split {split!r} as a folder: give {path / split}")
        raise DataError(f"{path} is one set, without a split {split!r}: leave the split out")
    return Origin(str(path.absolute()), form.name, split=split), form.open(path, options)


def format_of(given: str | os.PathLike[str]) -> Format:
    """The format of a file or folder that is there."""
    path = existing(given)
    found = next((each for each in FORMATS.values() if each.takes(path)), None)
    if found is not FORMATS["parquet"] and not path.exists() and (files := matching(path)):
        raise DataError(
            f"{path} names {counted(len(files), 'file')}: only Parquet files are read as one table; give one "
            "file, or join them into one"
        )
    if found is not None:
        return found
    if path.suffix.lower() in _SPREADSHEETS:
        raise DataError(f"{path} is a spreadsheet that is not read: save it as .xlsx or CSV (UTF-8)")
    if path.suffix and not suffix_of(path):  # ends like something packed, and no more
        raise DataError(
            f"the name of {path} does not say what it holds: call it {path.stem}.csv{path.suffix} if CSV"
        )
    known = [
        ", ".join(suffix for each in FORMATS.values() if each.compressed is packs for suffix in each.suffixes)
        for packs in (True, False)
    ]
    raise DataError(
        f"{path} ends in {suffix_of(path) or 'nothing'!r}; known are {known[0]} (each also with "
        f"{' or '.join(COMPRESSIONS)}), {known[1]}, and folders of images, Parquet or a dataset"
    )
