"""SQLite: the table of a database in one file."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from sys import getsizeof
from tempfile import TemporaryDirectory

from graylearn.data.formats._tables import (
    Copied,
    check_not_empty,
    chosen_part,
    in_memory,
    of_cells,
    quoted,
)
from graylearn.data.tables import ArrowTable, ReadOptions
from graylearn.errors import told_as
from graylearn.paths import Limit

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"


class Sqlite(Copied):
    """One of its tables; rows go by their rowid, or are counted in a table without."""

    name = "sqlite"
    suffixes = (".sqlite", ".sqlite3", ".db")
    beside = ("-wal", "-journal")

    def open(self, path: Path, options: ReadOptions) -> ArrowTable:
        """The rows, counted as they come: a column may be computed, and fill the memory from nothing."""
        check_not_empty(path)
        with told_as(f"{path} is damaged or not an SQLite database"), self._opened(path) as opened:
            tables = [name for (name,) in opened.execute(_TABLES)]
            table = chosen_part(path, options.split, tables, "tables")
            listed = opened.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
            names = [row[1] for row in listed if row[6] != 1]  # 1: hidden, and not in *
            taken = {name.lower() for name in names}
            number = next((each for each in ("rowid", "_rowid_", "oid") if each not in taken), "NULL")
            limit, found, numbers = Limit(path), [], []
            # one row is made as a whole before anybody can count it
            opened.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(limit.most // (len(names) + 1), 10**9))
            try:
                try:
                    rows = opened.execute(f"SELECT {number}, * FROM {quoted(table)} ORDER BY 1")
                except sqlite3.OperationalError:  # WITHOUT ROWID
                    rows = opened.execute(f"SELECT NULL, * FROM {quoted(table)}")
                for own, *cells in rows:
                    limit.take(sum(map(getsizeof, cells)))
                    found.append(cells)
                    numbers.append(len(found) if own is None else own)
            except sqlite3.DataError:  # a cell is longer than it may be
                limit.take(limit.most + 1)
        return in_memory(f"{path}, table {table}", options, of_cells(names, found), numbers)

    @contextmanager
    def _opened(self, path: Path) -> Iterator[sqlite3.Connection]:
        """The database, with nothing written beside it: SQLite would, to read what its logs hold."""
        with TemporaryDirectory() as folder:
            files, how = self.files(path), "mode=ro&immutable=1"
            if len(files) > 1:
                copied = [shutil.copyfile(file, Path(folder, file.name)) for file in files]
                path, how = copied[0], "mode=rw"
            uri = f"{path.absolute().as_uri()}?{how}"
            with closing(sqlite3.connect(uri, uri=True)) as opened:
                opened.execute("PRAGMA trusted_schema = off")
                yield opened


FORMAT = Sqlite()
