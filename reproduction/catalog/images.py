"""Image sets that come as arrays: CIFAR-10, CIFAR-100, SVHN, and any as NAME.npz."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from graylearn.data.atomic import read_arrays
from graylearn.data.samples import Samples
from graylearn.errors import DataError
from reproduction.catalog.files import Finder, Found
from reproduction.catalog.safe_pickle import load_plain_pickle

Part: TypeAlias = Literal["train", "test"]
"""The two parts of an image set."""


def find_arrays(name: str, finder: Finder) -> Found | None:
    """An image set that is published as arrays."""
    if name not in _READERS:
        return None
    folders, read = _READERS[name]
    if name == "svhn":
        files = finder.beside("train_32x32.mat", "test_32x32.mat")
        folder = files[0].parent if files else None
    else:
        folder = finder.folder(*folders)
    return Found(folder, "published", partial(read, folder)) if folder else None


def find_npz(name: str, finder: Finder) -> Found | None:
    """Any image set as NAME.npz with train_x, train_y, test_x, test_y and class_names."""
    path = finder.file(f"{name}.npz")
    return Found(path, "npz", partial(_read_npz, path)) if path else None


def image_samples(x: np.ndarray, y: Any, classes: Sequence[Any], where: Path) -> Samples:
    """Images with their labels, numbered from 0; what does not fit is an error that names the file."""
    try:
        return Samples(np.ascontiguousarray(x), np.asarray(y), tuple(classes), np.arange(len(x)), "image")
    except DataError as error:
        raise DataError(f"{where}: {error}") from error


def _read_cifar10(folder: Path, part: Part) -> Samples:
    names = ["test_batch"] if part == "test" else [f"data_batch_{number}" for number in range(1, 6)]
    batches = {folder / name: load_plain_pickle(folder / name) for name in names}
    classes = _field(load_plain_pickle(folder / "batches.meta"), "label_names", folder / "batches.meta")
    x = np.concatenate([_planes(batch, path) for path, batch in batches.items()])
    y = np.concatenate([_field(batch, "labels", path) for path, batch in batches.items()])
    return image_samples(x, y, classes, folder)


def _read_cifar100(folder: Path, part: Part) -> Samples:
    batch = load_plain_pickle(folder / part)
    classes = _field(load_plain_pickle(folder / "meta"), "fine_label_names", folder / "meta")
    return image_samples(
        _planes(batch, folder / part), _field(batch, "fine_labels", folder / part), classes, folder
    )


def _planes(batch: dict[str, Any], path: Path) -> np.ndarray:
    """(N, 3072) rows of red, green and blue planes as (N, 32, 32, 3)."""
    rows = np.asarray(_field(batch, "data", path))
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != 3072:
        raise DataError(
            f"{path} holds {rows.dtype} of shape {rows.shape}; expected uint8 rows of 3072 values"
        )
    return rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def _field(content: dict[str, Any], key: str, path: Path) -> Any:
    if key not in content:
        raise DataError(f"{path} has no {key!r}; it has {', '.join(map(str, content))}")
    return content[key]


def _read_svhn(folder: Path, part: Part) -> Samples:
    import scipy.io  # late: only this file form needs it

    path = folder / f"{part}_32x32.mat"
    try:
        content = scipy.io.loadmat(path, variable_names=["X", "y"])
    except Exception as error:  # scipy raises many kinds for a damaged file
        raise DataError(f"{path} is damaged or not a MATLAB file: {error}") from error
    x = np.asarray(_field(content, "X", path))  # (32, 32, 3, N)
    digits = np.asarray(_field(content, "y", path)).ravel().astype(np.int64)
    return image_samples(np.moveaxis(x, -1, 0), digits % 10, "0123456789", path)  # the digit 0 is written 10


def _read_npz(path: Path, part: Part) -> Samples:
    try:
        x, y, classes = read_arrays(path, (f"{part}_x", f"{part}_y", "class_names")).values()
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path} is damaged or lacks an array ({error}); "
            "expected train_x, train_y, test_x, test_y and class_names"
        ) from error
    return image_samples(x, y, classes.tolist(), path)


_READERS: dict[str, tuple[tuple[str, ...], Callable[[Path, Part], Samples]]] = {
    "cifar10": (("cifar-10-batches-py",), _read_cifar10),
    "cifar100": (("cifar-100-python",), _read_cifar100),
    "svhn": ((), _read_svhn),
}
"""Names of the folder, and how a part of the set is read from it."""
