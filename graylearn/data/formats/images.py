"""Images in folders, one folder per class; a single image where no label is asked for."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from graylearn.data.formats._base import (
    COMPRESSIONS,
    TABLES,
    Change,
    Format,
    Origin,
    file_fingerprint,
    suffix_of,
    write_bytes,
)
from graylearn.data.images import IMAGE_SUFFIXES
from graylearn.data.samples import Label
from graylearn.data.tables import IMAGES, Columns, RawTable, ReadOptions, Table
from graylearn.errors import FULL, DataError, Hint, SettingsError, are, counted, first_few, warn
from graylearn.paths import inside
from graylearn.progress import progress_bar

_BESIDE_IMAGES = frozenset({".txt", ".md", ".csv", ".json", ".xml", ".yaml", ".yml", ".html", ".db", ".ini"})
"""Endings of what people and systems leave among images, and nobody takes for one."""
_SPLIT_NAMES = frozenset({"train", "training", "test", "testing", "val", "valid", "validation"})


class Images(Format):
    """A folder of images, or one image; ids are paths within the folder."""

    name = "folder"
    suffixes = tuple(sorted(IMAGE_SUFFIXES))
    compressed = False
    takes_any_folder = True

    def takes(self, path: Path) -> bool:
        """Whether it is a folder or ends like an image."""
        return path.is_dir() or super().takes(path)

    def open(self, path: Path, options: ReadOptions) -> Table:
        """The images of a folder that holds one folder per class.

        Images may lie deeper inside a class folder. Files that do not end like images, and images beside the
        class folders, are passed over with a warning; notes, and names that begin with a dot, without one.
        With labelled=False every image below the folder is taken.
        """
        return ImageTable(path, options)

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """A new tree with each image in the folder of its class, or a manifest where `out` ends in .csv."""
        label_of = {index: change.labels[change.label_of[index]] for index in change.kept}
        if out.suffix.lower() == ".csv":
            _write_manifest(path, out, change, label_of)
            return
        stay = [change.ids[index] for index in change.kept if change.label_of[index] == index]
        taken = {_as_one(name) for name in stay}
        with progress_bar("Images", len(change.kept)) as advance:
            for index in change.kept:
                name = change.ids[index]
                if change.label_of[index] != index:
                    name = _free_name(name, label_of[index], taken)
                    taken.add(_as_one(name))
                target = inside(out, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                try:
                    _bring(inside(path, change.ids[index]), target, change.link)
                except OSError as error:
                    if error.errno in FULL:  # it names the source
                        error.filename, error.filename2 = str(out), None
                    raise
                advance(1)

    def may_become(self, path: Path, out: Path) -> bool:
        """A folder may have any name but that of a file that it would be taken for; .csv is a manifest."""
        return out.suffix.lower() not in (TABLES | COMPRESSIONS.keys()) - {".csv"}

    def fingerprint(self, path: Path, ids: Sequence[Any] | np.ndarray) -> tuple[dict[str, Any], list[str]]:
        """One hash of all images and where they lie, and the hash of each."""
        hashes, joint = [], hashlib.sha256()
        with progress_bar("Fingerprints of the images", len(ids)) as advance:
            for name in ids:
                hashes.append(str(file_fingerprint(inside(path, str(name)))["sha256"]))
                joint.update(f"{name}\0{hashes[-1]}\0".encode("utf-8", "surrogateescape"))
                advance(1)
        return {"images": len(hashes), "sha256": joint.hexdigest()}, hashes


class ImageTable(Table):
    """The images of a folder as a table of their paths and labels."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.names, y, classes = listed(path, options)
        self.frame = pd.DataFrame({"path": pd.Series(self.names, dtype=object)})
        if classes:
            self.frame["label"] = pd.Series([classes[each] for each in y], dtype=object)
        columns = Columns(label="label" if classes else None, path="path")
        super().__init__(str(path), replace(options, columns=columns, label=None, without=()))

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[RawTable]:
        """The blocks in order, of some columns or of all."""
        chosen = self.frame if columns is None else self.frame[list(columns)]
        for start in range(0, len(chosen), IMAGES):
            block = chosen.iloc[start : start + IMAGES].reset_index(drop=True)
            yield RawTable(block, self.name, start + np.arange(len(block)))

    def whole(self) -> RawTable:
        """All blocks as one."""
        return RawTable(self.frame, self.name, np.arange(len(self.frame)))


def listed(path: Path, options: ReadOptions) -> tuple[list[str], np.ndarray, tuple[Label, ...]]:
    """(paths within the folder, the index of each one's class, the classes) of the images to read."""
    if options.group is not None:
        told = f"list the images in a table with their path, their label and {str(options.group)!r}"
        raise DataError(f"{path} is a folder of images, which tells no groups: {told}")
    if not path.is_dir():
        if options.labelled:
            raise DataError(f"{path} is one image; expected a folder that holds one folder per class")
        return [path.name], np.array([-1]), ()
    passed: Counter[str] = Counter()
    known: tuple[Label, ...] = ()
    if options.labelled:
        class_names = _class_names(path)
        if options.label is not None:
            raise SettingsError(f"{path} is a folder, whose folders are the classes: leave out label")
        inside = {name: _images_in_class(path / name, passed) for name in class_names}
        known = tuple(options.classes or [name for name, found in inside.items() if found])
        if strange := sorted(name for name in inside if options.classes and name not in map(str, known)):
            told = f"has folders of other names than the {len(known)} known classes ({first_few(strange)})"
            raise DataError(f"{path} {told}: rename them, or move them elsewhere")
        names = [f"{name}/{image}" for name, found in inside.items() for image in found]
        empty = [name for name, found in inside.items() if not found]
        if names and empty:
            warn(f"{path} has no images of {first_few(empty)}: {counted(len(empty), 'folder')} passed over")
        passed["beside the class folders"] = sum(
            entry.is_file() and _ends_like_image(entry.name) for entry in path.iterdir()
        )
    else:
        names = _images_below(path, passed)
    if not names:
        raise DataError(f"{path} holds no images ({_endings()})" + " in its folders" * options.labelled)
    index_of = {str(label): index for index, label in enumerate(known)}
    y = np.array([index_of.get(name.split("/")[0], -1) for name in names], dtype=np.int64)
    if passed := +passed:  # of what a person might take for read, such as a phone's .heic
        kinds = ", ".join(f"{kind} {count}" for kind, count in passed.most_common(5))
        warn(f"{counted(passed.total(), 'file')} of {path} {are(passed.total())} passed over: {kinds}")
    return names, y, known


def _images_in_class(folder: Path, passed: Counter[str]) -> list[str]:
    """Those below the folder of a class; where there is something else alone, that is meant to be them."""
    found = _images_below(folder, others := Counter[str]())
    if others and not found:
        told = f"no images ({_endings()}) in {folder}, but {counted(others.total(), 'file')}"
        raise DataError(f"{told} ({', '.join(others)}): make images of them, or remove the folder")
    passed.update(others)
    return found


def _class_names(folder: Path) -> list[str]:
    _check_no_tables(folder)
    names = sorted(
        entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")
    )
    if not names:
        raise DataError(
            f"{folder} holds no folders; expected one folder of images per class, or Parquet files",
            Hint("labelled", False, "for images without labels"),
        )
    if set(map(str.lower, names)) <= _SPLIT_NAMES and any(
        entry.is_dir() for entry in (folder / names[0]).iterdir()
    ):
        raise DataError(
            f"the folders of {folder} are splits ({', '.join(names)}), not classes; read one of them, "
            f"such as {folder / names[0]}"
        )
    return names


def _check_no_tables(folder: Path) -> None:
    """Say of a folder that holds tables and no image what to give instead."""
    tables = []
    for root, _, files in os.walk(folder):
        if any(map(_ends_like_image, files)):
            return
        tables += [Path(root, name) for name in files if suffix_of(Path(name)) in TABLES]
    if tables:
        first = min(tables)
        ending = suffix_of(first)
        glob = f", or all of them as {str(folder / '**' / '*.parquet')!r}" if ending == ".parquet" else ""
        raise DataError(f"{folder} holds no images but tables: give the file, such as {first}{glob}")


def _images_below(folder: Path, passed: Counter[str]) -> list[str]:
    """Paths within `folder`, with forward slashes, in the order of their names; counts other endings."""
    found = []
    for root, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        passed.update("a link to a folder" for name in folders if Path(root, name).is_symlink())
        inside = Path(root).relative_to(folder)
        for name in sorted(files):
            if _ends_like_image(name):
                found.append((inside / name).as_posix())
            elif not name.startswith(".") and Path(name).suffix.lower() not in _BESIDE_IMAGES:
                passed[Path(name).suffix.lower() or "no ending"] += 1
    return found


def _raise(error: OSError) -> None:
    """Of a folder that cannot be listed: `os.walk` would pass it over."""
    raise error


def _ends_like_image(name: str) -> bool:
    return not name.startswith(".") and Path(name).suffix.lower() in IMAGE_SUFFIXES


def _endings() -> str:
    return "files ending in " + ", ".join(sorted(IMAGE_SUFFIXES))


def _write_manifest(folder: Path, out: Path, change: Change, label_of: dict[int, str]) -> None:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["path", "label"])
    for index in change.kept:
        relative = os.path.relpath(folder / change.ids[index], out.absolute().parent)
        writer.writerow([Path(relative).as_posix(), label_of[index]])
    write_bytes(out, written.getvalue().encode("utf-8"))


def _free_name(name: str, label: str, taken: set[str]) -> str:
    """The path of an image in another class's folder, changed where one of that name is there."""
    old_label, *inside = PurePosixPath(name).parts
    moved = PurePosixPath(label, *inside)
    number = 1
    while _as_one(str(moved)) in taken:
        stem = f"{PurePosixPath(name).stem} (from {old_label}{f' {number}' if number > 1 else ''})"
        moved = PurePosixPath(label, *inside[:-1], stem + PurePosixPath(name).suffix)
        number += 1
    return str(moved)


def _as_one(name: str) -> str:
    """Equal for names that are one file to Windows or macOS, which do not tell A from a."""
    return unicodedata.normalize("NFC", name).casefold()


def _bring(source: Path, target: Path, link: bool) -> None:
    if link:
        try:
            os.link(source.resolve(), target)  # of a symbolic link the file: it may be broken elsewhere
            return
        except OSError as error:
            raise SettingsError(
                f"{target.parent} cannot hold hard links to {source.parent} ({error.strerror}); "
                "leave out --link to copy"
            ) from error
    shutil.copy2(source, target)


FORMAT = Images()
