"""Whether data are still those that a run read."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from graylearn.data.formats import FORMATS
from graylearn.data.formats.images import listed
from graylearn.data.options import ReadOptions
from graylearn.errors import DataError
from graylearn.paths import matching

LABELS = "labels"
"""Where the fingerprint of data in no file keeps how often each label occurs."""


def what_changed(
    data: Path,
    form: str,
    ids: Sequence[str],
    hashes: Sequence[str] | None,
    fingerprint: dict[str, Any],
) -> str | None:
    """What of the data is gone or different, such as `a.csv has changed`; None: nothing.

    ids, hashes: (N,) the samples of the run, and where they are images the hash of each. What was in no file
    has no fingerprint to compare.
    """
    if hashes is not None:
        gone = next((path for path in (data, *(data / name for name in ids)) if not path.exists()), None)
        if gone is not None:
            return f"{gone} is gone"
    found, now = FORMATS[form].fingerprint(data, ids)
    for name, before, after in zip(ids, hashes or (), now or (), strict=False):
        if before != after:
            return f"{data / name} has changed"
    return f"{data} has changed" if found != fingerprint and LABELS not in fingerprint else None


def check_unchanged(
    data: Path, form: str, ids: Sequence[str], hashes: Sequence[str] | None, fingerprint: dict[str, Any]
) -> None:
    """Refuse data that are no longer those that were audited; see `what_changed`."""
    if (changed := what_changed(data, form, ids, hashes, fingerprint)) is not None:
        raise DataError(f"{changed} since it was audited; audit it anew, or bring the old state back")


def other_images(data: Path, ids: Sequence[str]) -> list[str]:
    """Images in the class folders of `data` that are none of these: new ones, or ones that cannot be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is no image was told when it was read
        names = listed(data, ReadOptions(labelled=False))[0]  # a class folder may be empty by now
    return sorted({name for name in names if "/" in name} - set(ids))


def is_older(data: Path, than: Path) -> bool:
    """Whether every file of the data was last touched before a file was written: no need to read them."""
    try:
        limit = than.stat().st_mtime
        files = chain([data], data.rglob("*")) if data.is_dir() else [data] * data.exists() or matching(data)
        # the second changes wherever a file is written or moved, whatever time a copy was given
        return all(max(found.st_mtime, found.st_ctime) < limit for found in (each.stat() for each in files))
    except OSError:
        return False
