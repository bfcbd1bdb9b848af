"""What databases in one file have in common: a table is chosen, and rows are changed where they stand."""

from __future__ import annotations

import shutil
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from graylearn.data.atomic import replacing
from graylearn.data.formats._base import Change, Format, Origin, moved_path, told_as
from graylearn.data.options import ReadOptions
from graylearn.data.tables import RawTable
from graylearn.errors import DataError, Hint


class Database(Format):
    """Tables in one file; `split` names one where there are several. Ids are the numbers of rows."""

    compressed = False
    has_splits = True
    title = ""
    """What the program is called."""

    @abstractmethod
    def connect(self, path: Path, *, write: bool) -> Any:
        """An open database, with `execute` and `close`."""

    @abstractmethod
    def tables(self, opened: Any) -> list[str]:
        """The names of its tables."""

    @abstractmethod
    def rows(self, opened: Any, table: str, name: str) -> tuple[RawTable, list[int]]:
        """The rows of a table in the order of their numbers, and these."""

    def copy(self, path: Path, partial: Path) -> None:
        """All tables, as they are."""
        shutil.copyfile(path, partial)

    def read(self, path: Path, options: ReadOptions) -> RawTable:
        """The rows of the table that `split` names, or of the only one."""
        found, numbers = self._rows(path, options.split)
        if len(numbers) == 0:
            raise DataError(f"{found.name} is empty")
        return RawTable(found.frame, found.name, np.array(numbers, dtype=np.int64), "row")

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """A copy of the database, in which rows of one table are gone or bear another label."""
        found, numbers = self._rows(path, origin.split)
        table = quoted(self._chosen(path, origin.split))
        change.check_count(path, len(numbers))
        label, of_images = quoted(str(origin.columns.label)), origin.columns.path
        images: list[Any] = [] if of_images is None else list(found.frame[of_images])
        with told_as(f"{out} cannot be written as {self.title}"), replacing(out) as partial:
            self.copy(path, partial)
            with closing(self.connect(partial, write=True)) as opened:
                opened.execute("BEGIN")
                bearers = sorted({of for at, of in enumerate(change.label_of) if of != at})
                labels = {
                    of: opened.execute(
                        f"SELECT {label} FROM {table} WHERE rowid = ?", (numbers[of],)
                    ).fetchone()[0]
                    for of in bearers
                }
                cells = [(at, label, labels[of]) for at, of in enumerate(change.label_of) if of != at]
                for at, image in enumerate(images):
                    if (moved := moved_path(image, path, out)) is not image:
                        cells.append((at, quoted(str(of_images)), moved))
                for at, column, value in cells:
                    if change.keep[at]:
                        opened.execute(
                            f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, numbers[at])
                        )
                for at, keep in enumerate(change.keep):
                    if not keep:
                        opened.execute(f"DELETE FROM {table} WHERE rowid = ?", (numbers[at],))
                opened.execute("COMMIT")

    def _rows(self, path: Path, table: str | None) -> tuple[RawTable, list[int]]:
        chosen = self._chosen(path, table)
        with (
            told_as(f"{path} cannot be read as {self.title}"),
            closing(self.connect(path, write=False)) as opened,
        ):
            found, numbers = self.rows(opened, chosen, f"{path}, table {chosen}")
        if len(set(numbers)) < len(numbers):
            raise DataError(f"{found.name} has a column called rowid, which hides its own: rename it")
        return found, numbers

    def _chosen(self, path: Path, table: str | None) -> str:
        if path.stat().st_size == 0:  # which is a database without tables to some
            raise DataError(f"{path} is empty")
        with (
            told_as(f"{path} is damaged or not {self.title}"),
            closing(self.connect(path, write=False)) as opened,
        ):
            names = self.tables(opened)
        return chosen_part(path, table, names, "tables")


def chosen_part(path: Path, wanted: str | None, names: Sequence[str], what: str) -> str:
    """The table or sheet that `split` names, or the only one."""
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    told = ", ".join(names) if names else "none"
    asked = "" if wanted is None else f", not {wanted!r}"
    raise DataError(f"{path} holds the {what} {told}{asked};", Hint("split", None, "to choose one"))


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'
