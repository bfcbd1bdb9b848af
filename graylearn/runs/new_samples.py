"""New samples for a model: read as those it learned from were, and refused where they are none like them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graylearn.data.blocks import open_blocks
from graylearn.data.formats import Origin, format_of
from graylearn.data.options import ReadOptions
from graylearn.data.read import read_file
from graylearn.data.samples import Samples
from graylearn.data.table_samples import is_missing
from graylearn.errors import DataError
from graylearn.runs.prepare import check_ids, encoded, options_of
from graylearn.runs.settings import RunSettings
from graylearn.runs.source import Encoding


def read_new(
    path: Path, origin: Origin, encoding: Encoding, settings: RunSettings
) -> tuple[Samples, Samples, tuple[int, ...]]:
    """(new samples as a person knows them, as features, rows that are none): what `predict` reads."""
    samples, own = read_file(path, _options_for_new(origin, encoding, settings))
    return samples, _features_of_new(samples, path, origin, encoding, settings), own.left_out


def read_new_blocks(
    path: Path, origin: Origin, encoding: Encoding, settings: RunSettings
) -> Iterator[tuple[Samples, Samples]]:
    """`read_new` a block at a time."""
    for block in open_blocks(path, _options_for_new(origin, encoding, settings)).read(()):
        samples = block.samples
        yield samples, _features_of_new(samples, path, origin, encoding, settings)


def _options_for_new(origin: Origin, encoding: Encoding, settings: RunSettings) -> ReadOptions:
    known = origin.columns
    was_folder = origin.kind == "image" and known.path is None  # and is perhaps a table now
    return replace(
        options_of(
            replace(settings, label=None, text=None, path=None, group=None, without=()),
            encoding.size,
            settings.split,
        ),
        labelled=False,
        id=False if was_folder or settings.no_id else None,
        decimal=origin.decimal,
        columns=None if was_folder else known,
    )


def _features_of_new(
    samples: Samples, path: Path, origin: Origin, encoding: Encoding, settings: RunSettings
) -> Samples:
    """The features of new samples, once they are of the kind that the model knows."""
    check_ids(samples, path)
    if samples.kind != origin.kind:
        raise DataError(
            f"{path} holds {samples.kind} samples but the model was fitted on {origin.kind} samples"
        )
    if encoding.shape and samples.x.shape[1:] != encoding.shape:
        expected, found = (" x ".join(map(str, shape)) for shape in (encoding.shape, samples.x.shape[1:]))
        raise DataError(f"{path} holds samples of {found} numbers but the model was fitted on {expected}")
    return encoded(samples, encoding, settings, None)


def without_label(path: Path, origin: Origin, settings: RunSettings, left_out: tuple[int, ...]) -> np.ndarray:
    """Which samples of a table lack a label; `origin` tells its column, `left_out` rows that are none."""
    found = format_of(path).read(path, options_of(replace(settings, group=None), 1, settings.split))
    label = origin.columns.label
    if isinstance(found, Samples) or label not in found.frame.columns:
        raise DataError(f"{path} has no column {str(label)!r}, so that no row lacks a label there")
    labels: Any = found.frame[label]
    return np.flatnonzero(np.delete(is_missing(labels), left_out))
