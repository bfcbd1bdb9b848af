"""A Hugging Face dataset that `save_to_disk` wrote: a folder of Arrow files and what they mean."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graylearn.data.formats._base import Change, Format, Origin, file_fingerprint, first_line
from graylearn.data.formats._database import chosen_part
from graylearn.data.hugging_face import label_of, samples_from_hugging_face
from graylearn.data.options import ReadOptions
from graylearn.data.samples import Samples
from graylearn.errors import DataError, MissingExtraError


class HuggingFace(Format):
    """One dataset, or the split of several; ids are rows or a column."""

    name = "hugging_face"
    suffixes = ()
    compressed = False

    def takes(self, path: Path) -> bool:
        """Whether it is a folder as `save_to_disk` leaves it."""
        return (path / "state.json").is_file() or (path / "dataset_dict.json").is_file()

    def may_become(self, path: Path, out: Path) -> bool:
        """A folder."""
        return not out.suffix

    def read(self, path: Path, options: ReadOptions) -> Samples:
        """As `graylearn.read` has datasets."""
        dataset = _part(_loaded(path), path, options.split)
        try:
            return samples_from_hugging_face(dataset, options)
        except DataError:
            raise
        except Exception as error:  # damaged Arrow files fail each in their own way
            raise DataError(f"{path} is damaged or not a dataset ({first_line(error)})") from error

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same features, with fewer rows and other labels; of several splits, the one that was read."""
        dataset = _part(_loaded(path), path, origin.split)
        if dataset.num_rows != len(change.keep):
            raise DataError(f"{path} has {dataset.num_rows} rows where {len(change.keep)} samples were read")
        label = label_of(dataset) if origin.columns.label is None else str(origin.columns.label)
        if label is None:
            raise DataError(f"{path}: it is not known which column is the label; make the run anew")
        if any(of != at for at, of in enumerate(change.label_of)):
            features = dataset.features
            labels = [dataset[label][of] for of in change.label_of]
            dataset = dataset.remove_columns(label).add_column(label, labels, feature=features[label])
            dataset = dataset.select_columns(list(features))
        if out.exists():
            raise DataError(f"{out} is there already: name a folder that is not, or remove it")
        dataset.select(change.kept).save_to_disk(str(out))

    def fingerprint(self, path: Path, ids: Sequence[Any] | np.ndarray) -> tuple[dict[str, Any], None]:
        """Size and hash of all its Arrow files together."""
        joint, size = hashlib.sha256(), 0
        for part in sorted(path.rglob("*.arrow")):
            found = file_fingerprint(part)
            joint.update(f"{part.relative_to(path).as_posix()}\0{found['sha256']}\0".encode())
            size += found["bytes"]
        return {"bytes": size, "sha256": joint.hexdigest()}, None


def _loaded(path: Path) -> Any:
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise MissingExtraError("datasets is not installed; install it with: pip install datasets") from error
    try:
        return datasets.load_from_disk(str(path))
    except Exception as error:
        raise DataError(f"{path} is damaged or not a dataset ({first_line(error)})") from error


def _part(loaded: Any, path: Path, split: str | None) -> Any:
    return loaded[chosen_part(path, split, list(loaded), "splits")] if isinstance(loaded, dict) else loaded


FORMAT = HuggingFace()
