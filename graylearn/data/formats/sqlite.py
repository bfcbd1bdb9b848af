"""SQLite: the table of a database in one file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from graylearn.data.formats._database import Database, quoted
from graylearn.data.tables import RawTable, table_from_pandas
from graylearn.errors import DataError


class Sqlite(Database):
    """One of its tables."""

    name = "sqlite"
    suffixes = (".sqlite", ".sqlite3", ".db")
    title = "an SQLite database"

    def connect(self, path: Path, *, write: bool) -> Any:
        """Open a file that is there; nothing is written next to it where it is only read."""
        mode = "rw" if write else "ro"
        # no transactions of its own: `rewrite` begins and ends them
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None)

    def copy(self, path: Path, partial: Path) -> None:
        """All tables; also what stands in the log of writes alone, while a program has the database open."""
        if not Path(f"{path}-wal").exists():
            super().copy(path, partial)
            return
        with closing(self.connect(path, write=False)) as opened, closing(sqlite3.connect(partial)) as copy:
            opened.backup(copy)

    def tables(self, opened: Any) -> list[str]:
        """Those of the user."""
        found = opened.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
        return [name for (name,) in found.fetchall()]

    def rows(self, opened: Any, table: str, name: str) -> tuple[RawTable, list[int]]:
        """By rowid, which tables have unless they were made without."""
        try:
            found = opened.execute(f"SELECT rowid, * FROM {quoted(table)} ORDER BY rowid")
        except sqlite3.OperationalError as error:
            if "rowid" not in str(error):
                raise
            raise DataError(
                f"{name} was made WITHOUT ROWID: copy it into a plain table and give that"
            ) from error
        columns = [part[0] for part in found.description[1:]]
        rows = found.fetchall()
        frame = pd.DataFrame.from_records([row[1:] for row in rows], columns=columns)
        return table_from_pandas(frame, name), [row[0] for row in rows]


FORMAT = Sqlite()
