"""Arrays into `Samples`: NumPy, torch, lists, .npy and .npz."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graylearn.data.npz import read_arrays
from graylearn.data.samples import Kind, Label, Samples, encode_labels
from graylearn.errors import DataError

_X_NAMES = ("x", "X", "data", "images", "features")
_Y_NAMES = ("y", "Y", "labels", "label", "target", "targets")
_CLASS_NAMES = ("class_names", "classes")


def samples_from_arrays(
    x: Any,
    y: Any = None,
    *,
    name: str = "the array",
    ids: Any = None,
    classes: Sequence[Label] | None = None,
    labelled: bool = True,
) -> Samples:
    """Samples of an array whose first axis counts them; ids are row numbers from 0 unless given.

    uint8 of shape (N, H, W), (N, H, W, C) or, as torch keeps it, (N, C, H, W) with C of 1 or 3 is kind
    "image"; text is kind "text"; all else is kind "array".
    """
    values = _as_numpy(x, name)
    if values.ndim == 0 or values.shape[0] == 0:
        raise DataError(f"{name} holds no samples (shape {values.shape})")
    values, kind = _of_kind(values, name)
    ids = np.arange(len(values)) if ids is None else np.asarray(ids)
    if not labelled:
        return Samples(values, np.full(len(values), -1), (), ids, kind)
    if y is None:
        raise DataError(
            f"{name} came without labels; pass them with label=, or labelled=False for data that has none"
        )
    raw = y.detach().cpu().numpy() if isinstance(y, torch.Tensor) else y
    if np.ndim(raw) == 2 and np.shape(raw)[1] == 1:
        raw = np.asarray(raw)[:, 0]
    if len(raw) != len(values):
        raise DataError(f"{name} holds {len(values)} samples but there are {len(raw)} labels")
    places, known = encode_labels(raw, classes)
    return Samples(values, places, known, ids, kind)


def samples_from_npz(
    path: Path,
    *,
    split: str | None = None,
    label: Any = None,
    classes: Sequence[Label] | None = None,
    labelled: bool = True,
) -> Samples:
    """Samples of an .npz file with arrays x and y, or train_x, train_y, test_x, test_y (choose with `split`).

    `class_names` in the file, if there, name the labels 0, 1, ...; `ids` name the samples. An .npy file holds
    x alone. `label` is the name of the array of labels, or the labels themselves.
    """
    try:
        arrays = read_arrays(path, bare="x")
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except (ValueError, OSError) as error:
        raise DataError(
            f"{path} is damaged or holds Python objects instead of plain arrays ({error})"
        ) from error

    splits = sorted({key.removesuffix("_x") for key in arrays if key.endswith("_x")})
    if split is None and splits and not any(key in arrays for key in _X_NAMES):
        split = splits[0] if len(splits) == 1 else None
        if split is None:
            raise DataError(f"{path} holds the splits {', '.join(splits)}; choose one with split=")
    prefix = "" if split is None else f"{split}_"
    x = _one_of(arrays, [prefix + key for key in _X_NAMES])
    if x is None:
        raise DataError(
            f"{path} holds {', '.join(arrays) or 'nothing'}; expected an array called "
            f"{' or '.join(prefix + key for key in _X_NAMES)}"
        )
    y = label
    if isinstance(label, str):
        if label not in arrays:
            raise DataError(
                f"{path} has no array {label!r} to take the labels from; it holds {', '.join(arrays)}"
            )
        y = arrays[label]
    elif label is None:
        y = _one_of(arrays, [prefix + key for key in _Y_NAMES])
    names = _one_of(arrays, list(_CLASS_NAMES))
    ids = arrays.get(f"{prefix}ids")
    if names is None or not labelled or y is None or np.asarray(y).dtype.kind not in "iu":
        return samples_from_arrays(x, y, name=str(path), ids=ids, classes=classes, labelled=labelled)
    if classes is not None:  # a saved model's order of the same classes
        y = _named(np.asarray(y), names, path)
        return samples_from_arrays(x, y, name=str(path), ids=ids, classes=classes)
    numbered = samples_from_arrays(x, y, name=str(path), ids=ids, classes=range(len(names)))
    return Samples(numbered.x, numbered.y, tuple(names.tolist()), numbered.ids, numbered.kind)


def _named(y: np.ndarray, names: np.ndarray, path: Path) -> np.ndarray:
    if y.min() < 0 or y.max() >= len(names):
        raise DataError(f"{path} has labels from {y.min()} to {y.max()} but names {len(names)} classes")
    named: np.ndarray = names.astype(object)[y]
    return named


def _one_of(arrays: dict[str, np.ndarray], keys: list[str]) -> np.ndarray | None:
    return next((arrays[key] for key in keys if key in arrays), None)


def _as_numpy(x: Any, name: str) -> np.ndarray:
    if isinstance(x, torch.Tensor):
        x = x.detach().cpu()
        tensor = x.float() if x.dtype == torch.bfloat16 else x
        values: np.ndarray = tensor.numpy()
        return values
    try:
        return np.asarray(x)
    except ValueError as error:
        raise DataError(f"{name} has rows of different lengths; expected a regular array") from error


def _of_kind(values: np.ndarray, name: str) -> tuple[np.ndarray, Kind]:
    """The values, rearranged where they must be, and what kind of samples they are."""
    if values.dtype.kind in "UT" or (
        values.dtype == object and values.ndim == 1 and isinstance(values[0], str)
    ):
        if values.ndim != 1:
            raise DataError(f"{name} is text of shape {values.shape}; expected one text a sample")
        texts = np.empty(len(values), dtype=object)
        texts[:] = [str(value) if isinstance(value, np.str_) else value for value in values]
        return texts, "text"
    if values.dtype.kind not in "biuf":
        raise DataError(f"{name} is of type {values.dtype}; expected numbers, uint8 images or texts")
    if values.dtype == np.uint8 and values.ndim == 4:
        if values.shape[3] in (1, 3):
            return values, "image"
        if values.shape[1] in (1, 3):
            return np.ascontiguousarray(np.moveaxis(values, 1, 3)), "image"
    elif values.dtype == np.uint8 and values.ndim == 3:
        return values, "image"
    return values, "array"
