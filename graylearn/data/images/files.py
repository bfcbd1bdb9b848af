"""Image files into `Samples`: those that a table lists, or whatever list of them is at hand."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from graylearn.data.images.cache import CachedImages, NoImagesError, cache_images
from graylearn.data.options import Columns, ReadOptions
from graylearn.data.samples import Samples
from graylearn.data.table_samples import samples_from_table
from graylearn.data.tables import RawTable
from graylearn.errors import DataError, Hint, are, counted, first_few, warn


def samples_from_manifest(
    table: RawTable, columns: Columns, root: Path, options: ReadOptions
) -> tuple[Samples, np.ndarray]:
    """(samples, their rows) of images that a table lists by their paths, from `root` where they are relative.

    Ids are the paths as written, unless there is a column of ids. Columns besides path, label, id and
    group are passed over.
    """
    paths = table.frame[columns.path]
    is_missing = (paths.isna() | (paths == "")).to_numpy(dtype=bool)
    if is_missing.any():
        count = int(is_missing.sum())
        told = (
            f"{table.name}: {counted(count, 'path')} in column {str(columns.path)!r} "
            f"{are(count)} missing ({table.unit}{'s' * (count > 1)} "
            f"{first_few(table.ids[is_missing], 5)})"
        )
        if is_missing.all():
            raise DataError(f"{told}; fill them in")
        if options.unreadable == "stop":
            raise DataError(f"{told}; fill them in", Hint("unreadable", "skip", "to leave those rows out"))
        warn(f"{told}: left out")
        there = np.flatnonzero(~is_missing)
        samples, kept = samples_from_manifest(table.take(there), columns, root, options)
        return samples, there[kept]
    names = [str(path) for path in paths]
    if columns.id is None:
        seen: dict[str, int] = {}
        for row, name in enumerate(names):
            if name in seen:
                raise DataError(
                    f"{table.name}: {name} is listed at {table.where(seen[name])} and again at "
                    f"{table.where(row)}; list each image once",
                    Hint("id", None, "to name the rows by a column"),
                )
            seen[name] = row
    # Labels and ids are those of any table, whose text is the path.
    rows = samples_from_table(table, replace(columns, text=columns.path, path=None), options)
    files = [root / name for name in names]
    if not any(file.exists() for file in files):
        windows = "; here folders are parted by /, not by \\" if os.sep == "/" and "\\" in names[0] else ""
        raise NoImagesError(
            f"{table.name}: none of the images in column {str(columns.path)!r} is there; paths begin at the "
            f"folder of the table, so that the first is {files[0]}{windows}"
        )
    decoded = decode(files, options)
    ids = np.array(names, dtype=object) if columns.id is None else rows.ids
    known = replace(rows, ids=ids).take(decoded.kept)
    return replace(known, x=decoded.images, kind="image"), decoded.kept


def decode(paths: list[Path], options: ReadOptions) -> CachedImages:
    """The pixels of image files; those that are left out because they cannot be read are told."""
    cached = cache_images(
        paths, size=options.size, folder=options.cache, unreadable=options.unreadable, workers=options.workers
    )
    if cached.failed:
        shown = first_few([f"{path} ({reason})" for path, reason in cached.failed], 5, "; ")
        warn(
            f"{len(cached.failed)} of {len(paths)} images cannot be read and {are(len(cached.failed))} "
            f"left out: {shown}"
        )
    return cached
