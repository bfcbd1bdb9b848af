"""DuckDB: its example, and labels of the types that it has."""

import sys

import duckdb
import pytest

from graylearn.data.formats import Change, format_of
from graylearn.data.options import ReadOptions
from graylearn.data.read import read_file
from graylearn.errors import MissingExtraError


def example(folder):
    path = folder / "pets.duckdb"
    with duckdb.connect(str(path)) as base:
        base.execute("CREATE TABLE pets (size DOUBLE, label VARCHAR)")
        rows = zip([1.5, 2.5, 3, 4, 5, 6], ["cat", "dog"] * 3, strict=True)
        base.executemany("INSERT INTO pets VALUES (?, ?)", [list(row) for row in rows])
    return path


def test_labels_keep_their_type(tmp_path):
    path = example(tmp_path)
    with duckdb.connect(str(path)) as base:
        base.execute("CREATE TYPE kind AS ENUM ('cat', 'dog', 'owl')")
        base.execute("ALTER TABLE pets ALTER label TYPE kind")
    samples, origin = read_file(path, ReadOptions())
    assert samples.classes == ("cat", "dog")
    out = tmp_path / "clean.duckdb"
    change = Change([], [], [True] * 5 + [False], [1, 0, 2, 3, 4, 5])
    format_of(path).rewrite(path, out, origin, change)
    with duckdb.connect(str(out), read_only=True) as base:
        assert base.execute("SELECT label FROM pets").fetchall() == [
            (label,) for label in ("dog", "cat", "cat", "dog", "cat")
        ]
        assert str(base.execute("DESCRIBE pets").fetchall()[1][1]).startswith("ENUM")


def test_without_the_package_its_extra_is_named(tmp_path, monkeypatch):
    path = example(tmp_path)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"graylearn\[tables\]"):
        read_file(path, ReadOptions())
