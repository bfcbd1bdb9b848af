"""SQLite: its example, and databases of several tables."""

import sqlite3
from contextlib import closing

import pytest

from graylearn.data.formats import Change, format_of
from graylearn.data.options import ReadOptions
from graylearn.data.read import read, read_file
from graylearn.errors import DataError


def example(folder):
    path = folder / "pets.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE pets (size REAL, label TEXT)")
        rows = zip([1.5, 2.5, 3, 4, 5, 6], ["cat", "dog"] * 3, strict=True)
        base.executemany("INSERT INTO pets VALUES (?, ?)", rows)
    return path


def test_a_table_is_chosen_and_others_stay(tmp_path):
    path = example(tmp_path)
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("DELETE FROM pets WHERE rowid = 2")
        base.execute("CREATE TABLE 'a \"b' (z)")
        base.execute("INSERT INTO 'a \"b' VALUES (7)")
    with pytest.raises(DataError, match='holds the tables a "b, pets; pass split= to choose one'):
        read(path)
    samples, origin = read_file(path, ReadOptions(split="pets"))
    assert samples.ids.tolist() == [1, 3, 4, 5, 6]
    out = tmp_path / "clean.sqlite"
    format_of(path).rewrite(path, out, origin, Change([], [], [True] * 4 + [False], [2, 1, 0, 3, 4]))
    with closing(sqlite3.connect(out)) as base:
        assert base.execute("SELECT rowid, label FROM pets").fetchall() == [
            (1, "dog"),  # labels are those before the change, also where two are exchanged
            (3, "cat"),
            (4, "cat"),
            (5, "cat"),
        ]
        assert base.execute("SELECT * FROM 'a \"b'").fetchall() == [(7,)]
    format_of(path).rewrite(
        path, tmp_path / "same.sqlite", origin, Change([], [], [True] * 5, list(range(5)))
    )
    assert (tmp_path / "same.sqlite").read_bytes() == path.read_bytes()


def test_what_stands_in_the_log_of_an_open_database_is_not_lost(tmp_path):
    path, out = example(tmp_path), tmp_path / "clean.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA journal_mode = wal")
        base.execute("INSERT INTO pets VALUES (7, 'cat')")
        base.commit()  # to pets.sqlite-wal
        samples, origin = read_file(path, ReadOptions())
        assert len(samples) == 7
        keep = [False] + [True] * 6
        format_of(path).rewrite(path, out, origin, Change([], [], keep, list(range(7))))
    with closing(sqlite3.connect(out)) as base:
        assert base.execute("SELECT rowid, size FROM pets").fetchall()[-2:] == [(6, 6.0), (7, 7.0)]
    assert not list(tmp_path.glob(".*"))


def test_tables_without_row_numbers_are_refused_in_words(tmp_path):
    path = tmp_path / "keys.db"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE pets (name TEXT PRIMARY KEY, label) WITHOUT ROWID")
    with pytest.raises(DataError, match="was made WITHOUT ROWID"):
        read(path)
    path.write_bytes(b"size,label\n1,cat\n")
    with pytest.raises(DataError, match=r"keys\.db is damaged or not an SQLite database"):
        read(path)


def test_a_column_that_hides_the_row_numbers_is_refused(tmp_path):
    path = tmp_path / "pets.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE pets (rowid INT, id INT, label TEXT)")
        base.executemany("INSERT INTO pets VALUES (?, ?, ?)", [(1, 1, "cat"), (1, 2, "dog")])
    with pytest.raises(DataError, match="has a column called rowid, which hides its own: rename it"):
        read(path)
