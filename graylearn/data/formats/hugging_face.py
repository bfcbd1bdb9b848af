"""A Hugging Face dataset that `save_to_disk` wrote: a folder of Arrow files and what they mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graylearn.data.atomic import replacing_folder
from graylearn.data.formats._base import Change, Format, Origin, moved_path, told_as
from graylearn.data.formats._ipc import check_repeated, check_unpacked
from graylearn.data.formats._read_only import chosen_part
from graylearn.data.hugging_face import read_hugging_face
from graylearn.data.options import Columns, ReadOptions
from graylearn.data.samples import Samples
from graylearn.errors import DataError, MissingExtraError


class HuggingFace(Format):
    """One dataset, or the split of several; ids are rows or a column."""

    name = "hugging_face"
    suffixes = ()
    compressed = False
    has_splits = True

    def takes(self, path: Path) -> bool:
        """Whether it is a folder as `save_to_disk` leaves it."""
        return (path / "state.json").is_file() or (path / "dataset_dict.json").is_file()

    def may_become(self, path: Path, out: Path) -> bool:
        """A folder."""
        return not out.suffix

    def read(self, path: Path, options: ReadOptions) -> Samples:
        """As `graylearn.read` has datasets."""
        return self.read_with_rows(path, options)[0]

    def read_with_rows(self, path: Path, options: ReadOptions) -> tuple[Samples, Columns, tuple[int, ...]]:
        """(samples, what the columns mean, the rows that are none)."""
        with told_as(f"{path} is damaged or not a dataset"):
            dataset = loaded(path, options.split)
            samples, columns, rows = read_hugging_face(dataset, options, path.parent)
            return samples, columns, tuple(np.setdiff1d(np.arange(dataset.num_rows), rows).tolist())

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same features, with fewer rows and other labels; of several splits, the one that was read."""
        dataset = loaded(path, origin.split)
        change.check_count(path, dataset.num_rows)
        label = origin.columns.label
        if label is None:
            raise DataError(f"{path}: it is not known which column is the label; make the run anew")
        if any(of != at for at, of in enumerate(change.label_of)):
            given = dataset[label][:]
            dataset = _with_column(dataset, label, [given[of] for of in change.label_of])
        if (images := origin.columns.path) is not None:
            dataset = _with_column(dataset, images, [moved_path(each, path, out) for each in dataset[images]])
        with replacing_folder(out) as partial:
            dataset.select(change.kept).save_to_disk(str(partial))

    def files(self, path: Path) -> list[Path]:
        """Its Arrow files, and what they mean: the names of labels stand in none of them."""
        return [
            *arrow_files(path),
            *sorted(path.rglob("dataset_info.json")),
            *sorted(path.rglob("state.json")),
        ]


def _with_column(dataset: Any, name: str, values: list[Any]) -> Any:
    """The dataset with other values in a column, of the same type and where it stood."""
    features = dataset.features
    changed = dataset.remove_columns(name).add_column(name, values, feature=features[name])
    return changed.select_columns(list(features))


def arrow_files(path: Path) -> list[Path]:
    """The files that hold the rows, of all splits."""
    return sorted(path.rglob("*.arrow"))


def loaded(path: Path, split: str | None) -> Any:
    """The dataset, or the split of several."""
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise MissingExtraError("datasets is not installed; install it with: pip install datasets") from error
    with told_as(f"{path} is damaged or not a dataset"):
        if not (path / "state.json").is_file():
            splits = json.loads((path / "dataset_dict.json").read_text(encoding="utf-8"))["splits"]
            path = path / chosen_part(path, split, [str(name) for name in splits], "splits")
        state = json.loads((path / "state.json").read_text(encoding="utf-8"))
        for part in state["_data_files"]:
            _validate(path / part["filename"])
        return datasets.Dataset.load_from_disk(str(path))


def _validate(path: Path) -> None:
    """Raise for an Arrow file that would fill the memory, or has damaged batches.

    Mapped, their offsets would be followed out of memory.
    """
    with pa.memory_map(str(path)) as file:
        check_unpacked(file.read_buffer(), path)
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as batches:
        for batch in batches:
            batch.validate(full=True)
            check_repeated(pa.Table.from_batches([batch]), path)


FORMAT = HuggingFace()
