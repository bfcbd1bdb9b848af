"""SQLite: its example, and what its tables go by."""

import sqlite3
from contextlib import closing

import pytest

from graylearn.data.read import read
from graylearn.errors import DataError


def example(folder):
    path = folder / "pets.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE pets (size REAL, label TEXT)")
        rows = zip([1.5, 2.5, 3, 4, 5, 6], ["cat", "dog"] * 3, strict=True)
        base.executemany("INSERT INTO pets VALUES (?, ?)", rows)
    return path


def test_a_table_is_chosen_and_rows_go_by_their_number(tmp_path):
    path = example(tmp_path)
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("DELETE FROM pets WHERE rowid = 2")
        base.execute("CREATE TABLE 'a \"b' (z)")
    with pytest.raises(DataError, match='holds the tables a "b, pets; pass split= to choose one'):
        read(path)
    assert read(path, split="pets").ids.tolist() == [1, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "columns", ["(name TEXT PRIMARY KEY, label) WITHOUT ROWID", "(rowid, oid, _rowid_, label)"]
)
def test_rows_without_a_number_are_counted(tmp_path, columns):
    path = tmp_path / "pets.db"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute(f"CREATE TABLE pets {columns}")
        marks = ", ".join("?" * (columns.count(",") + 1))
        rows = [
            ["z", *["a"] * (columns.count(",") - 1), "cat"],
            ["b", *["a"] * (columns.count(",") - 1), "dog"],
        ]
        base.executemany(f"INSERT INTO pets VALUES ({marks})", rows)
    assert sorted(read(path).ids.tolist()) == [1, 2]


def test_what_is_no_database_is_told(tmp_path):
    path = tmp_path / "keys.db"
    path.write_bytes(b"size,label\n1,cat\n")
    with pytest.raises(DataError, match=r"keys\.db is damaged or not an SQLite database"):
        read(path)
