"""Image sets that come as picture files: Mini-ImageNet and Tiny-ImageNet."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from graylearn.data.images import IMAGE_SUFFIXES, cache_images
from graylearn.data.samples import Samples
from graylearn.errors import DataError, DataWarning
from reproduction.catalog.files import Finder, Found
from reproduction.catalog.images import Part, image_samples

MINI_FOLDERS = (
    "mini-imagenet", "miniimagenet", "mini_imagenet", "miniImagenet", "miniImageNet", "MiniImageNet",
)  # fmt: skip
SPLITS = ("train", "val", "test")
SIZE = 32
"""Side to which pictures are scaled, as the paper mixes them into CIFAR and SVHN."""
Labelled = list[tuple[Path, str]]
"""Picture files with the name of their class."""


def find_pictures(name: str, finder: Finder) -> Found | None:
    """An image set that is published as picture files; they are cut square and scaled."""
    known = {
        "mini-imagenet": (MINI_FOLDERS, _read_mini),
        "tiny-imagenet": (("tiny-imagenet-200",), _read_tiny),
    }
    if name not in known:
        return None
    folders, read = known[name]
    folder = finder.folder(*folders)
    return Found(folder, "published", partial(read, folder)) if folder else None


def _read_mini(folder: Path, part: Part) -> Samples:
    """All 600 pictures of each class, as one part: train. There is no test part.

    The published lists train.csv, val.csv and test.csv part the classes, not the pictures, for another
    task; here they only tell which pictures there are.
    """
    pictures = sorted(_listed(folder) or _by_folder(folder))
    if not pictures:
        raise DataError(f"{folder} holds neither class folders with pictures nor train.csv and images/")
    classes = tuple(sorted({label for _, label in pictures}))
    y = np.array([classes.index(label) for _, label in pictures], dtype=np.int64)
    if part == "test":
        return image_samples(np.empty((0, SIZE, SIZE, 3), dtype=np.uint8), y[:0], classes, folder)
    return _samples(folder, [path for path, _ in pictures], y, classes)


def _listed(folder: Path) -> Labelled:
    """The pictures that train.csv, val.csv and test.csv name, each a line `filename,label`."""
    found: Labelled = []
    images = folder / "images"
    for split in SPLITS:
        path = folder / f"{split}.csv"
        if not path.is_file():
            continue
        with path.open(newline="", encoding="utf-8-sig") as file:
            for row in csv.DictReader(file):
                name, label = row.get("filename"), row.get("label")
                if not name or not label:
                    raise DataError(f"{path} needs the columns filename and label")
                flat, nested = images / name, images / label / name
                found.append((nested if nested.is_file() else flat, label))
    return found


def _by_folder(folder: Path) -> Labelled:
    """The pictures in class folders, which lie in the folder, in images/, or in train/, val/ and test/."""
    parents = [folder / split for split in SPLITS if (folder / split).is_dir()]
    parents = parents or [folder / "images" if (folder / "images").is_dir() else folder]
    return [
        (path, label.name) for parent in parents for label in _folders(parent) for path in _pictures(label)
    ]


def _read_tiny(folder: Path, part: Part) -> Samples:
    """Train as published; the published val is test, because the labels of the published test are secret."""
    words = _tabbed(folder / "words.txt")
    names = {row[0]: row[1] for row in words if len(row) > 1}
    wnids = tuple(sorted(row[0] for row in _tabbed(folder / "wnids.txt") if row[0]))
    index_of = {wnid: number for number, wnid in enumerate(wnids)}
    if part == "train":
        pictures = [(p, wnid) for wnid in wnids for p in _pictures(folder / "train" / wnid / "images")]
    else:
        annotations = _tabbed(folder / "val" / "val_annotations.txt")
        pictures = [(folder / "val" / "images" / row[0], row[1]) for row in annotations if len(row) > 1]
    if strange := {wnid for _, wnid in pictures} - set(wnids):
        raise DataError(f"{folder} has pictures of {min(strange)}, which wnids.txt does not list")
    y = np.array([index_of[wnid] for _, wnid in pictures], dtype=np.int64)
    classes = tuple(names.get(wnid, wnid) for wnid in wnids)
    if len(set(classes)) < len(classes):  # two classes of one name: tell them apart
        classes = tuple(f"{names.get(wnid, '')} ({wnid})" for wnid in wnids)
    return _samples(folder, [path for path, _ in pictures], y, classes)


def _tabbed(path: Path) -> list[list[str]]:
    """The lines of a text file, cut at tabs."""
    try:
        return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {error}") from error


def _samples(folder: Path, paths: list[Path], y: np.ndarray, classes: tuple[str, ...]) -> Samples:
    """Decode the pictures, or find them decoded by an earlier run; ids are their paths inside the folder."""
    ids = np.array([path.relative_to(folder).as_posix() for path in paths], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # what is not whole is refused below
        read = cache_images(paths, size=SIZE)
    if missing := sorted(set(range(len(paths))) - set(read.kept.tolist())):
        raise DataError(f"{len(missing)} of {len(paths)} images cannot be read: {paths[missing[0]]}")
    return Samples(read.images, y, classes, ids, "image")


def _folders(parent: Path) -> Iterator[Path]:
    return (path for path in sorted(parent.iterdir()) if path.is_dir())


def _pictures(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise DataError(f"{folder} is missing: this copy of the dataset is not whole")
    return (path for path in sorted(folder.iterdir()) if path.suffix.lower() in IMAGE_SUFFIXES)
