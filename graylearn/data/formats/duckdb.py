"""DuckDB: the table of a database in one file."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

from graylearn.data.formats._read_only import ReadOnly, Rows, check_not_empty, chosen_part, quoted
from graylearn.errors import DataError, told_as
from graylearn.extras import require
from graylearn.paths import Limit

_TABLES = "SELECT table_name, sql FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY table_name"
_COLUMNS = (
    "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = ? "
    "ORDER BY column_index"
)
_NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|BOOLEAN)(\[\d*\])+")
"""Lists of numbers, also of lists of them."""
_NESTED = ("STRUCT", "MAP", "UNION")


class DuckDb(ReadOnly):
    """One of its tables; rows go by their rowid."""

    name = "duckdb"
    suffixes = (".duckdb", ".ddb")
    beside = (".wal",)

    def rows(self, path: Path, split: str | None) -> Rows:
        """The rows, measured where they lie: a value that a million rows share stands in the file once."""
        duckdb = require("duckdb", "tables")
        check_not_empty(self.files(path)[0])
        with (
            told_as(f"{path} is damaged or not a DuckDB database"),
            closing(duckdb.connect(str(path), read_only=True)) as opened,
        ):
            made = dict(opened.execute(_TABLES).fetchall())
            table = chosen_part(path, split, list(made), "tables")
            name = f"{path}, table {table}"
            if "GENERATED ALWAYS AS" in made[table]:
                raise DataError(f"{name} has columns that are computed: copy it into a plain table")
            columns = opened.execute(_COLUMNS, [table]).fetchall()
            limit = Limit(path)
            sizes = ", ".join(f"sum({_size(quoted(column), kind)})" for column, kind in columns)
            limit.take(
                sum(
                    size or 0 for size in opened.execute(f"SELECT {sizes} FROM {quoted(table)}").fetchall()[0]
                )
            )
            shown = [
                quoted(column) + ("::VARCHAR AS " + quoted(column)) * kind.startswith("UNION")
                for column, kind in columns
            ]
            number = "NULL" if any(column.lower() == "rowid" for column, _ in columns) else "rowid"
            found = opened.sql(f"SELECT {', '.join([number, *shown])} FROM {quoted(table)}").to_arrow_table()
            counted = range(found.num_rows) if number == "NULL" else found.column(0).to_pylist()
            return Rows(name, found.remove_column(0), counted)


def _size(column: str, kind: str) -> str:
    """What tells the bytes of a value."""
    if kind in ("BLOB", "BIT"):
        return f"8 + coalesce(octet_length({column}), 0)"
    if _NUMBERS.fullmatch(kind):
        depth = kind.count("[") - 1
        return f"8 * coalesce(len({'flatten(' * depth}{column}{')' * depth}), 0)"
    if kind in ("VARCHAR", "JSON") or kind.endswith("]") or kind.startswith(_NESTED):
        return f"8 + coalesce(strlen({column}::VARCHAR), 0)"
    return "8"


FORMAT = DuckDb()
