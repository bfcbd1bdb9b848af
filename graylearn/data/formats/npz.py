"""NumPy's files: arrays x and y, or train_x, train_y, test_x, test_y; an .npy file holds x alone."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graylearn.data.atomic import read_arrays
from graylearn.data.formats._base import Change, Format, Origin
from graylearn.data.inputs import as_samples
from graylearn.data.samples import Samples
from graylearn.data.splits import group_numbers
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataError, Hint, first_few, told_as

_X_NAMES = ("x", "X", "data", "images", "features", "embeddings")
_Y_NAMES = ("y", "Y", "labels", "label", "target", "targets")
_CLASS_NAMES = ("class_names", "classes")


class Npz(Format):
    """Arrays by name; `class_names`, if there, name the labels 0, 1, ...; `ids` name the samples."""

    name = "npz"
    suffixes = (".npz", ".npy")
    compressed = False
    has_splits = True

    def open(self, path: Path, options: ReadOptions) -> Samples:
        """The samples of one split; `label` and `group` may name the arrays of labels and of groups."""
        with told_as(f"{path} is damaged or holds Python objects instead of plain arrays"):
            arrays = read_arrays(path, bare="x")
        samples = _samples(arrays, path, options)
        if options.group is None:
            return samples
        groups = _array_called(options.group, arrays, path, "groups")
        return replace(samples, groups=group_numbers(groups, len(samples)))

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """Arrays of the same names; those that hold one entry per sample are cut, other splits stay whole."""
        arrays = read_arrays(path, bare="x")
        prefix = _prefix(arrays, origin.split) or ""
        others = _other_splits(arrays, prefix)
        labels = [origin.columns.label, *(prefix + name for name in _Y_NAMES)]
        label = next((name for name in labels if name in arrays), None)
        if label is None:
            raise DataError(f"{path} holds no array of labels; make the run anew")
        arrays[label] = arrays[label][change.label_of]
        n = len(change.keep)
        known = {label, origin.columns.group, f"{prefix}ids", *(prefix + name for name in _X_NAMES)}
        one_each = {label} | {
            name
            for name, values in arrays.items()
            if values.shape[:1] == (n,) and name.startswith(prefix) and not name.startswith(others)
        } - {*_CLASS_NAMES}
        x = _one_of(arrays, [prefix + name for name in _X_NAMES])
        if x is not None and n in x.shape[1:] and (doubtful := sorted(one_each - known)):
            told = f"may hold an entry for each of {n} samples or for each of {n} features"
            raise DataError(f"{path}: {first_few(doubtful)} {told}: save it without, or with other samples")
        for name in one_each:
            arrays[name] = arrays[name][change.kept]
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, values in arrays.items():  # NumPy's own has no place for an array called file
                with archive.open(f"{name}.npy", "w", force_zip64=True) as opened:
                    np.lib.format.write_array(opened, values, allow_pickle=False)

    def endings(self, path: Path) -> tuple[str, ...]:
        """An .npy file has no place for labels."""
        return (".npz",)


def _samples(arrays: dict[str, np.ndarray], path: Path, options: ReadOptions) -> Samples:
    """The samples of the split that the options name."""
    prefix = _prefix(arrays, options.split)
    if prefix is None:
        splits = sorted(name.removesuffix("_x") for name in arrays if name.endswith("_x"))
        raise DataError(f"{path} holds the splits {', '.join(splits)};", Hint("split", None, "to choose one"))
    x = _one_of(arrays, [prefix + name for name in _X_NAMES])
    if x is None:
        raise DataError(
            f"{path} holds {', '.join(arrays) or 'nothing'}; expected an array called "
            f"{' or '.join(prefix + name for name in _X_NAMES)}"
        )
    y = options.label
    if isinstance(y, str):
        y = _array_called(y, arrays, path, "labels")
    elif y is None:
        y = _one_of(arrays, [prefix + name for name in _Y_NAMES])
        if y is None and options.labelled:
            raise DataError(
                f"{path} holds {', '.join(arrays)} and no labels: save them as y in an .npz file;",
                Hint("label", None, "if another array of it has them"),
            )
    names, classes = _one_of(arrays, _CLASS_NAMES), options.classes
    if names is not None and options.labelled and np.asarray(y).dtype.kind in "iu":
        y, known = np.asarray(y), tuple(names.tolist())
        if y.size and (y.min() < 0 or y.max() >= len(known)):
            raise DataError(f"{path} has labels from {y.min()} to {y.max()} but names {len(known)} classes")
        y, classes = names.astype(object)[y], known if classes is None else classes
    ids = arrays.get(f"{prefix}ids")
    return as_samples(x, y, name=str(path), ids=ids, classes=classes, labelled=options.labelled)


def _array_called(name: Any, arrays: dict[str, np.ndarray], path: Path, what: str) -> np.ndarray:
    if name not in arrays:
        raise DataError(f"{path} has no array {name!r} to take the {what} from; it holds {', '.join(arrays)}")
    return arrays[name]


def _prefix(arrays: Iterable[str], split: str | None) -> str | None:
    """What the names of a split begin with; nothing where there are none, None where several could be."""
    if split is not None:
        return f"{split}_"
    splits = [name.removesuffix("x") for name in arrays if name.endswith("_x")]
    if not splits or any(name in arrays for name in _X_NAMES):
        return ""
    return splits[0] if len(splits) == 1 else None


def _other_splits(arrays: dict[str, np.ndarray], own: str) -> tuple[str, ...]:
    """What names of other splits begin with, where `own` begins them too: they have labels, and samples of
    the same shape; pos_x and pos_y beside x, a number per sample each, are no split."""
    x = _one_of(arrays, [own + name for name in _X_NAMES])
    found = []
    for ending in _X_NAMES:
        for name in arrays:
            prefix = name.removesuffix(ending)
            if name.endswith(f"_{ending}") and prefix.startswith(own) and prefix != own:
                labels = _one_of(arrays, [prefix + each for each in _Y_NAMES])
                if labels is not None and x is not None and arrays[name].shape[1:] == x.shape[1:]:
                    found.append(prefix)
    return tuple(found)


def _one_of(arrays: dict[str, np.ndarray], names: Iterable[str]) -> np.ndarray | None:
    return next((arrays[name] for name in names if name in arrays), None)


FORMAT = Npz()
