"""DuckDB: the table of a database in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graylearn.data.formats._database import Database, quoted
from graylearn.data.tables import RawTable, table_from_arrow
from graylearn.extras import require


class DuckDb(Database):
    """One of its tables."""

    name = "duckdb"
    suffixes = (".duckdb", ".ddb")
    title = "a DuckDB database"

    def connect(self, path: Path, *, write: bool) -> Any:
        """Open a file that is there."""
        return require("duckdb", "tables").connect(str(path), read_only=not write)

    def tables(self, opened: Any) -> list[str]:
        """Those of the main schema."""
        found = opened.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = 'main' AND table_type = 'BASE TABLE' ORDER BY table_name"
        )
        return [name for (name,) in found.fetchall()]

    def rows(self, opened: Any, table: str, name: str) -> tuple[RawTable, list[int]]:
        """By rowid."""
        arrow = opened.sql(f"SELECT rowid, * FROM {quoted(table)} ORDER BY rowid").to_arrow_table()
        return table_from_arrow(arrow.remove_column(0), name), arrow.column(0).to_pylist()


FORMAT = DuckDb()
