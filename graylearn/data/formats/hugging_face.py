"""Hugging Face datasets: in memory, streamed, or as `save_to_disk` wrote them.

The package is the user's own: it is imported where a dataset on disk is opened, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graylearn.data.formats._base import NAMELESS
from graylearn.data.formats._tables import ROWS, Copied, chosen_part
from graylearn.data.tables import IMAGES, ArrowTable, RawTable, ReadOptions
from graylearn.errors import DataError, MissingExtraError, told_as


class HuggingFace(Copied):
    """One dataset, or the split of several; ids are rows or a column."""

    name = "hugging_face"
    suffixes = ()

    def takes(self, path: Path) -> bool:
        """Whether it is a folder as `save_to_disk` leaves it."""
        return (path / "state.json").is_file() or (path / "dataset_dict.json").is_file()

    def open(self, path: Path, options: ReadOptions) -> ArrowTable:
        """The rows."""
        return DatasetTable(_loaded(path), options, str(path), sorted(path.rglob("*.arrow")))

    def endings(self, path: Path) -> tuple[str, ...]:
        """Parquet keeps what the columns mean: `datasets` finds the names of labels there again."""
        return (".parquet",)

    def files(self, path: Path) -> list[Path]:
        """Its Arrow files, and what they mean: the names of labels stand in none of them."""
        parts = ("*.arrow", "dataset_info.json", "state.json")
        return [file for part in parts for file in sorted(path.rglob(part))]


class DatasetTable(ArrowTable):
    """A dataset, streamed or not: labels of a ClassLabel column go by their names, in its order.

    Images are left as they were stored, undecoded.
    """

    def __init__(
        self, dataset: Any, options: ReadOptions, name: str = NAMELESS, files: Sequence[Path] = ()
    ) -> None:
        if isinstance(dataset, dict):  # of splits
            dataset = dataset[chosen_part(name, options.split, list(dataset), "splits")]
        features = dataset.features or {}  # a stream may not know them
        images = [column for column, kind in features.items() if type(kind).__name__ == "Image"]
        for column in images:  # undecoded, an image is a record of its bytes and path
            dataset = dataset.cast_column(column, type(features[column])(decode=False))
        self.image = images[0] if len(images) == 1 and images[0] not in options.without else None
        names = {
            column: list(kind.names)
            for column, kind in features.items()
            if type(kind).__name__ == "ClassLabel" and kind.names
        }
        if options.label is None and options.labelled and len(names) == 1:
            options = replace(options, label=next(iter(names)))  # a ClassLabel column is a label by its type
        label = options.label
        self.names: list[str] | None = None
        """What the codes of the label stand for; None where labels are no codes."""
        if isinstance(label, Hashable) and label in names and options.labelled:
            self.names = names[label]
            options = replace(options, classes=self.names if options.classes is None else options.classes)
        self.dataset = dataset
        shown = f"{name} ({dataset.num_rows} rows)" if hasattr(dataset, "num_rows") else name
        super().__init__(shown, options, self._arrows, f"{name} is damaged or not a dataset", files=files)

    def _arrows(self, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        chosen = self.dataset if columns is None else self.dataset.select_columns(list(columns))
        yield from chosen.with_format("arrow").iter(batch_size=ROWS if self.image is None else IMAGES)

    def whole(self) -> RawTable:
        """All blocks as one."""
        if not hasattr(self.dataset, "num_rows"):
            raise DataError(
                f"{type(self.dataset).__name__} streams its rows: load the dataset without streaming=True, "
                "or audit it in parts with graylearn.runs.run(settings, out, source=dataset)"
            )
        return super().whole()

    def rows(self, arrow: pa.Table, start: int) -> RawTable:
        """A block, which begins at row `start`, with its labels by name."""
        table = replace(super().rows(arrow, start), images=self.image)
        label = self.options.label
        if self.names is None or label not in table.frame.columns:
            return table
        codes, names = table.frame[label], self.names
        spelled = np.array(
            [None if code != code or code < 0 else names[int(code)] for code in codes], dtype=object
        )
        return replace(table, frame=table.frame.assign(**{str(label): spelled}))


def _loaded(path: Path) -> Any:
    """The dataset, or a dict of its splits."""
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise MissingExtraError("datasets is not installed; install it with: pip install datasets") from error
    with told_as(f"{path} is damaged or not a dataset"):
        return datasets.load_from_disk(str(path))


FORMAT = HuggingFace()
