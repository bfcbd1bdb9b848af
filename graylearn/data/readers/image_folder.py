"""Image files into `Samples`: one folder a class, or a table of paths and labels."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from graylearn.data.encoding.columns import DataWarning
from graylearn.data.images.cache import cache_images
from graylearn.data.readers.tables import Table, samples_from_table
from graylearn.data.samples import Label, Samples
from graylearn.errors import DataError

IMAGE_SUFFIXES = frozenset(
    {
        ".jpg",
        ".jpeg",
        ".jfif",
        ".png",
        ".bmp",
        ".gif",
        ".webp",
        ".tif",
        ".tiff",
        ".ppm",
        ".pgm",
        ".pbm",
        ".tga",
    }
)
"""Endings, in lower case, of the files taken for images."""
PATH_NAMES = frozenset(
    {"path", "file", "filename", "file_name", "filepath", "file_path", "image", "image_path"}
)
"""Column names, in lower case, that mean the path of an image where the values end like one."""

_BESIDE_IMAGES = frozenset({".txt", ".md", ".csv", ".json", ".xml", ".yaml", ".yml", ".html", ".db", ".ini"})
"""Endings of what people and systems leave among images, and nobody takes for one."""
_SPLIT_NAMES = frozenset({"train", "training", "test", "testing", "val", "valid", "validation"})


@dataclass(frozen=True)
class ImageOptions:
    """How image files become pixels; the fields are those of `cache_images`."""

    size: int = 64
    """Pixels a side after resizing and cropping."""
    cache: str | Path | None = None
    """Folder of the decoded images; None is the user's cache folder."""
    on_error: Literal["stop", "skip"] = "stop"
    """Whether an unreadable file stops the run or is left out."""
    workers: int | None = None
    """Decoding processes; 0 is this one, None one a core."""


def samples_from_image_folder(
    folder: Path,
    options: ImageOptions,
    *,
    classes: Sequence[Label] | None = None,
    labelled: bool = True,
) -> Samples:
    """Images of a folder that holds one folder a class; ids are paths within `folder`.

    Images may lie deeper inside a class folder. Files that do not end like images, and images beside the
    class folders, are passed over with a warning; notes, and names that begin with a dot, without. With
    labelled=False every image below `folder` is taken and no label read.
    """
    passed: Counter[str] = Counter()
    if not labelled:
        names = _images_below(folder, passed)
        if not names:
            raise DataError(f"{folder} holds no images ({_endings()})")
        _tell_passed_over(folder, passed, 0)
        return _decoded(folder, names, np.full(len(names), -1, dtype=np.int64), (), options)
    class_names = sorted(
        entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")
    )
    if not class_names:
        raise DataError(
            f"{folder} holds no folders; expected one folder of images a class "
            "(or pass labelled=False for images without labels)"
        )
    if set(map(str.lower, class_names)) <= _SPLIT_NAMES and _holds_folders(folder / class_names[0]):
        raise DataError(
            f"the folders of {folder} are splits ({', '.join(class_names)}), not classes; read one of them, "
            f"such as {folder / class_names[0]}"
        )
    if classes is not None and (strange := sorted(set(class_names) - set(map(str, classes)))):
        raise DataError(
            f"{folder} has the folder {strange[0]!r}, which is not among the {len(classes)} known classes"
        )
    known = tuple(class_names) if classes is None else tuple(classes)
    place_of = {str(label): place for place, label in enumerate(known)}
    names, y = [], []
    for class_name in class_names:
        found = [f"{class_name}/{name}" for name in _images_below(folder / class_name, passed)]
        if not found:
            raise DataError(
                f"the folder {folder / class_name} holds no images ({_endings()}); "
                "remove it, or read another folder"
            )
        names += found
        y += [place_of[class_name]] * len(found)
    beside = sum(entry.is_file() and _ends_like_image(entry.name) for entry in folder.iterdir())
    _tell_passed_over(folder, passed, beside)
    return _decoded(folder, names, np.array(y, dtype=np.int64), known, options)


def path_column(table: Table, label: Any) -> Hashable | None:
    """The column that holds paths of images, where its name and its first value leave no doubt."""
    frame = table.frame
    named = [name for name in frame.columns if str(name).lower() in PATH_NAMES and name != label]
    if len(named) != 1 or not len(frame):
        return None
    first = frame[named[0]].iloc[0]
    is_path = isinstance(first, str) and Path(first).suffix.lower() in IMAGE_SUFFIXES
    return named[0] if is_path else None


def samples_from_manifest(
    table: Table,
    column: Hashable,
    root: Path,
    options: ImageOptions,
    *,
    label: Any = None,
    id: Any = None,
    classes: Sequence[Label] | None = None,
    labelled: bool = True,
) -> Samples:
    """Images that a table lists: `column` holds their paths, from `root` where they are relative.

    Ids are the paths as written, unless `id` names another column. Columns besides path, label and id are
    passed over.
    """
    paths = table.frame[column]
    missing = np.flatnonzero(paths.isna() | (paths == ""))
    if len(missing):
        row = int(missing[0])
        raise DataError(f"{table.name}, {table.where(row)}: the path in column {str(column)!r} is missing")
    names = [str(path) for path in paths]
    if id is None or id is False:
        seen: dict[str, int] = {}
        for row, name in enumerate(names):
            if name in seen:
                raise DataError(
                    f"{table.name}: {name} is listed at {table.where(seen[name])} and again at "
                    f"{table.where(row)}; list each image once"
                )
            seen[name] = row
        id = False
    # Labels and ids are those of any table, whose text is the path.
    rows = samples_from_table(table, label=label, id=id, text=column, classes=classes, labelled=labelled)
    decoded = _decode([root / name for name in names], options)
    ids = np.array(names, dtype=object) if id is False else rows.ids
    return Samples(decoded.images, rows.y[decoded.kept], rows.classes, ids[decoded.kept], "image")


def _decoded(
    folder: Path, names: list[str], y: np.ndarray, classes: tuple[Label, ...], options: ImageOptions
) -> Samples:
    cached = _decode([folder / name for name in names], options)
    ids = np.array(names, dtype=object)
    return Samples(cached.images, y[cached.kept], classes, ids[cached.kept], "image")


def _decode(paths: list[Path], options: ImageOptions) -> Any:
    cached = cache_images(
        paths, size=options.size, folder=options.cache, on_error=options.on_error, workers=options.workers
    )
    if cached.failed:
        shown = "; ".join(f"{path} ({reason})" for path, reason in cached.failed[:5])
        more = f"; and {len(cached.failed) - 5} more" if len(cached.failed) > 5 else ""
        warnings.warn(
            f"{len(cached.failed)} of {len(paths)} images cannot be read and are left out: {shown}{more}",
            DataWarning,
            stacklevel=2,
        )
    return cached


def _images_below(folder: Path, passed: Counter[str]) -> list[str]:
    """Paths within `folder`, with forward slashes, in the order of their names; counts other endings."""
    found = []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = Path(root).relative_to(folder)
        for name in sorted(files):
            if _ends_like_image(name):
                found.append((inside / name).as_posix())
            elif not name.startswith(".") and Path(name).suffix.lower() not in _BESIDE_IMAGES:
                passed[Path(name).suffix.lower() or "no ending"] += 1
    return found


def _ends_like_image(name: str) -> bool:
    return not name.startswith(".") and Path(name).suffix.lower() in IMAGE_SUFFIXES


def _tell_passed_over(folder: Path, passed: Counter[str], beside: int) -> None:
    """Warn of files that a person might take for read, such as a phone's .heic."""
    parts = []
    if passed:
        endings = ", ".join(f"{ending} {count}" for ending, count in passed.most_common(5))
        parts.append(f"{passed.total()} do not end like images ({endings})")
    if beside:
        parts.append(f"{beside} lie beside the class folders")
    if parts:
        warnings.warn(f"files of {folder} are passed over: {'; '.join(parts)}", DataWarning, stacklevel=3)


def _holds_folders(folder: Path) -> bool:
    return any(entry.is_dir() for entry in folder.iterdir())


def _endings() -> str:
    return "files ending in " + ", ".join(sorted(IMAGE_SUFFIXES))
