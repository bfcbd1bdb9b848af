"""DuckDB: the table of a database in one file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pyarrow as pa

from graylearn.data.formats._tables import Copied, check_not_empty, chosen_part, in_memory, quoted
from graylearn.data.tables import ArrowTable, ReadOptions
from graylearn.errors import DataError, told_as
from graylearn.lazy import require
from graylearn.paths import Limit

_TABLES = "SELECT table_name, sql FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY table_name"
_COLUMNS = (
    "SELECT column_name, numeric_precision FROM duckdb_columns() "
    "WHERE schema_name = 'main' AND table_name = ?"
)
_AT_ONCE = 2_048  # rows that it hands over at once, at least


class DuckDb(Copied):
    """One of its tables; rows go by their rowid."""

    name = "duckdb"
    suffixes = (".duckdb", ".ddb")
    beside = (".wal",)

    def open(self, path: Path, options: ReadOptions) -> ArrowTable:
        """The rows, counted as they come: a value that a million rows share stands in the file once."""
        duckdb = require("duckdb", "tables")
        check_not_empty(self.files(path)[0])
        with (
            told_as(f"{path} is damaged or not a DuckDB database"),
            closing(duckdb.connect(str(path), read_only=True)) as opened,
        ):
            made = dict(opened.execute(_TABLES).fetchall())
            table = chosen_part(path, options.split, list(made), "tables")
            name = f"{path}, table {table}"
            if "GENERATED ALWAYS AS" in made[table]:
                raise DataError(f"{name} has columns that are computed: copy it into a plain table")
            columns = opened.execute(_COLUMNS, [table]).fetchall()
            number = "NULL" if "rowid" in {column.lower() for column, _ in columns} else "rowid"
            limit, batches = Limit(path), []
            for column, digits in columns:  # of long values it makes gigabytes before they can be counted
                size = f"SELECT sum(strlen({quoted(column)}::VARCHAR)) FROM {quoted(table)}"
                if digits is None:
                    limit.take(opened.execute(size).fetchall()[0][0] or 0)
            limit.taken = 0
            chosen = opened.sql(f"SELECT {number}, * FROM {quoted(table)}")
            read = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader  # its former name
            for batch in (rows := read(_AT_ONCE)):
                limit.take(batch.nbytes)
                batches.append(batch)
        found = pa.Table.from_batches(batches, rows.schema)
        counted = range(found.num_rows) if number == "NULL" else found.column(0).to_pylist()
        return in_memory(name, options, found.remove_column(0), counted)


FORMAT = DuckDb()
