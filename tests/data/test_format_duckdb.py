"""DuckDB: its example, and labels of the types that it has."""

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from graylearn.data.formats import Change, format_of
from graylearn.data.read import read_file
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataError


def example(folder):
    path = folder / "pets.duckdb"
    with duckdb.connect(str(path)) as base:
        base.execute("CREATE TABLE pets (size DOUBLE, label VARCHAR)")
        rows = zip([1.5, 2.5, 3, 4, 5, 6], ["cat", "dog"] * 3, strict=True)
        base.executemany("INSERT INTO pets VALUES (?, ?)", [list(row) for row in rows])
    return path


def test_what_it_alone_has_is_read_and_copied(tmp_path):
    path = example(tmp_path)
    with duckdb.connect(str(path)) as base:
        base.execute("CREATE TYPE kind AS ENUM ('cat', 'dog', 'owl')")
        base.execute("ALTER TABLE pets ALTER label TYPE kind")
        base.execute("ALTER TABLE pets ADD COLUMN price DECIMAL(9, 2) DEFAULT 1.10")
        base.execute("ALTER TABLE pets ADD COLUMN more STRUCT(a INT, b VARCHAR)")
        base.execute("ALTER TABLE pets ADD COLUMN rowid VARCHAR DEFAULT 'mine'")
    samples, origin = read_file(path, ReadOptions(without=("more",)))
    assert (samples.classes, samples.ids.tolist()) == (("cat", "dog"), list(range(6)))
    out = tmp_path / "clean.parquet"
    change = Change([], [], [True] * 5 + [False], [1, 0, 2, 3, 4, 5])
    format_of(path).rewrite(path, out, origin, change)
    found = pa.parquet.read_table(out)
    assert found["more"].to_pylist() == [None] * 5
    assert found["label"].to_pylist() == ["dog", "cat", "cat", "dog", "cat"]
    assert found.schema.field("price").type == pa.decimal128(9, 2)


def test_columns_that_are_computed_are_refused(tmp_path):
    path = tmp_path / "pets.duckdb"
    with duckdb.connect(str(path)) as base:
        base.execute(
            "CREATE TABLE pets (a INT, label VARCHAR, b VARCHAR GENERATED ALWAYS AS (repeat('x', a)))"
        )
        base.execute("INSERT INTO pets VALUES (1, 'cat'), (2, 'dog')")
    with pytest.raises(DataError, match="has columns that are computed: copy it into a plain table"):
        read_file(path, ReadOptions())
