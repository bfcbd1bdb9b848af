"""Small files that would fill the memory are refused at a limit, which a user can raise."""

import bz2
import gzip
import io
import lzma
import sqlite3
import tracemalloc
import zipfile
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from PIL import Image

from graylearn import paths
from graylearn.data.formats import COMPRESSIONS
from graylearn.data.images import UnreadableImageError, decode_image
from graylearn.data.read import read
from graylearn.errors import DataError


@pytest.fixture
def small_limit(monkeypatch):
    """A hundred thousand bytes are always allowed, and beyond that 20 times the size of the file."""
    monkeypatch.setattr(paths, "UNPACKED", 100_000)
    monkeypatch.setattr(paths, "RATIO", 20)


def zstd(raw):
    written = pa.BufferOutputStream()
    with pa.CompressedOutputStream(written, "zstd") as stream:
        stream.write(raw)
    return written.getvalue().to_pybytes()


def zipped(raw):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", raw)
    return written.getvalue()


PACKED = {"gz": gzip.compress, "zst": zstd, "bz2": bz2.compress, "xz": lzma.compress, "zip": zipped}


def test_no_compression_is_forgotten():
    assert {f".{ending}" for ending in PACKED} == set(COMPRESSIONS)


@pytest.mark.parametrize("ending", PACKED)
def test_compressed_text(tmp_path, monkeypatch, small_limit, ending):
    path = tmp_path / f"a.csv.{ending}"
    path.write_bytes(PACKED[ending](b"a,label\n" + b"1,x\n2,y\n" * 50_000))
    assert path.stat().st_size < 4_000
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes; set GRAYLEARN_MAX_UNPACKED"):
        read(path)
    monkeypatch.setenv("GRAYLEARN_MAX_UNPACKED", "1000000")
    assert len(read(path)) == 100_000


def test_arrays(tmp_path, monkeypatch, small_limit):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.zeros((30_000, 4)), y=np.arange(30_000) % 2)
    with pytest.raises(DataError, match=r"a\.npz cannot be read: it unpacks to more than [\d,]+ bytes"):
        read(path)
    monkeypatch.setenv("GRAYLEARN_MAX_UNPACKED", str(1 << 30))
    assert read(path).x.shape == (30_000, 4)


def test_workbooks(tmp_path, monkeypatch, small_limit):
    monkeypatch.setattr(paths, "RATIO", 3)
    path = tmp_path / "a.xlsx"
    pd.DataFrame({"a": [1] * 4_000, "label": ["x", "y"] * 2_000}).to_excel(path, index=False)
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes"):
        read(path)
    monkeypatch.setenv("GRAYLEARN_MAX_UNPACKED", str(1 << 30))
    assert len(read(path)) == 4_000


ZEROS = pa.table({"a": np.zeros(100_000), "label": ["x", "y"] * 50_000})
TEXTS = pa.table({"a": ["long " * 100, "x"] * 1_000, "label": ["x", "y"] * 1_000})
"""A value that stays, and a text that stands once in a dictionary: both take a few bytes in a file."""


def parquet(table, path):
    pa.parquet.write_table(table, path)
    return path


def parquets(table, path):
    path.mkdir()
    return parquet(table, path / "a.parquet").parent


def feather(table, path):
    pa.feather.write_feather(table, path, compression="zstd")
    return path


def stream(table, path):
    packed = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(path, table.schema, options=packed) as written:
        written.write_table(table, 10_000)
    return path


@pytest.mark.parametrize(
    ("write", "name", "table"),
    [
        (parquet, "a.parquet", ZEROS),
        (parquet, "a.parquet", TEXTS),
        (parquets, "folder", ZEROS),
        (feather, "a.feather", ZEROS),
        (stream, "a.arrow", ZEROS),
    ],
)
def test_arrow(tmp_path, monkeypatch, small_limit, write, name, table):
    monkeypatch.setattr(paths, "RATIO", 2)
    path = write(table, tmp_path / name)
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes; set GRAYLEARN_MAX_UNPACKED"):
        read(path)
    monkeypatch.setenv("GRAYLEARN_MAX_UNPACKED", str(1 << 30))
    samples = read(path)
    assert samples.x["a"].tolist() == table["a"].to_pylist()


def hugging_face(table, path):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset(table).save_to_disk(str(path))
    (file,) = path.glob("*.arrow")
    stream(table, file)  # as whoever means harm would pack it
    return path


@pytest.mark.parametrize(
    ("write", "name", "lengths"),
    [
        (parquet, "a.parquet", [400] * 50),
        (parquets, "folder", [20_000]),
        (hugging_face, "folder", [400] * 50),
    ],
)
def test_lists(tmp_path, monkeypatch, small_limit, write, name, lengths):
    vectors = [np.zeros(length) for length in lengths]
    table = pa.table({"a": vectors, "label": [f"c{row % 2}" for row in range(len(lengths))]})
    path = write(table, tmp_path / name)
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes; set GRAYLEARN_MAX_UNPACKED"):
        read(path)
    monkeypatch.setenv("GRAYLEARN_MAX_UNPACKED", str(1 << 30))
    np.testing.assert_array_equal(read(path).x, vectors)


def computed_in_sqlite(path):
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE t (a INT, label TEXT, g AS (hex(zeroblob(20000))))")
        base.executemany("INSERT INTO t VALUES (?, ?)", [(row, "xy"[row % 2]) for row in range(50)])


def long_cell_in_sqlite(path):
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE t (a INT, label TEXT, g AS (hex(zeroblob(1000000))))")
        base.executemany("INSERT INTO t VALUES (?, ?)", [(row, "xy"[row % 2]) for row in range(2)])


def shared_in_duckdb(path):
    with duckdb.connect(str(path)) as base:
        base.execute("CREATE TABLE t AS SELECT i % 2 AS label, repeat('z', 9000) AS b FROM range(9000) r(i)")


def lists_in_duckdb(path):
    with duckdb.connect(str(path)) as base:
        base.execute(
            "CREATE TABLE t AS SELECT i % 2 AS label, repeat([0::DOUBLE], 2000) AS b FROM range(9000) r(i)"
        )


def keys_of_its_own_in_each_record(path):
    path.write_text("".join(f'{{"k{row}": 1, "label": {row % 2}}}\n' for row in range(2_000)))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.sqlite", computed_in_sqlite),
        ("a.sqlite", long_cell_in_sqlite),
        ("a.duckdb", shared_in_duckdb),
        ("a.duckdb", lists_in_duckdb),
        ("a.jsonl", keys_of_its_own_in_each_record),
    ],
)
def test_rows_that_stand_for_more_than_they_take(tmp_path, monkeypatch, small_limit, name, write):
    write(tmp_path / name)
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes; set GRAYLEARN_MAX_UNPACKED"):
        read(tmp_path / name)
    monkeypatch.setenv("GRAYLEARN_MAX_UNPACKED", str(1 << 30))
    assert len(read(tmp_path / name, label="label").classes) == 2


def test_images(monkeypatch):
    written = io.BytesIO()
    Image.new("1", (3_000, 1_000)).save(written, "PNG")
    assert len(written.getvalue()) < 2_000
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000_000)
    with pytest.raises(UnreadableImageError, match=r"more than 1000000 pixels.*GRAYLEARN_MAX_UNPACKED"):
        decode_image(written.getvalue(), 8)
    monkeypatch.setenv("GRAYLEARN_MAX_UNPACKED", "12000000")
    assert decode_image(written.getvalue(), 8) == bytes(8 * 8 * 3)
    assert Image.MAX_IMAGE_PIXELS == 1_000_000


def test_what_is_merely_compressed_well_is_read(tmp_path, small_limit):
    rng = np.random.default_rng(0)
    rows = "".join(f"{value:.3f},{'xy'[row % 2]}\n" for row, value in enumerate(rng.normal(size=20_000)))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(("a,label\n" + rows).encode()))
    assert len(read(tmp_path / "a.csv.gz")) == 20_000


def test_a_version_and_a_size_that_cannot_be_are_told(tmp_path, monkeypatch):
    damaged = bytearray(zipped(b"a,label\n1,x\n"))
    damaged[damaged.index(b"PK\x01\x02") + 6] = 151  # the version that it takes to unpack it
    (tmp_path / "a.csv.zip").write_bytes(damaged)
    with pytest.raises(DataError, match=r"cannot be read \(zip file version 15\.1\); is the file whole"):
        read(tmp_path / "a.csv.zip")

    def too_much(*_):
        raise MemoryError

    monkeypatch.setattr(lzma, "open", too_much)
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(b"a,label\n1,x\n"))
    with pytest.raises(DataError, match=r"cannot be read \(MemoryError\); is the file whole"):
        read(tmp_path / "a.csv.xz")


def ipc(values, path):
    table = pa.table({"a": values, "label": ["x", "y"] * (len(values) // 2)})
    with pa.ipc.new_file(path, table.schema) as written:
        written.write_table(table)
    return path


def views(rows):
    """(rows,) one text of a thousand letters that stands once."""
    _, shown, *texts = pa.array(["z" * 1_000], pa.string_view()).buffers()
    return pa.Array.from_buffers(
        pa.string_view(), rows, [None, pa.py_buffer(shown.to_pybytes() * rows), *texts]
    )


@pytest.mark.parametrize(
    "make", [views, lambda rows: pa.StructArray.from_arrays([views(rows)], ["b"])], ids=["texts", "records"]
)
def test_views_of_one_text_are_counted_as_many_texts(tmp_path, small_limit, make):
    path = ipc(make(10_000), tmp_path / "a.arrow")
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes"):
        read(path)


@pytest.fixture
def pool():
    """Where Arrow takes memory from meanwhile."""
    before = pa.default_memory_pool()
    counting = pa.proxy_memory_pool(before)
    pa.set_memory_pool(counting)
    yield counting
    pa.set_memory_pool(before)


@pytest.mark.parametrize(
    "make",
    [
        lambda text: text,
        lambda text: pa.ListArray.from_arrays(np.arange(20_001, dtype=np.int32), text),
        lambda text: pa.StructArray.from_arrays([text], ["b"]),
        lambda text: pa.MapArray.from_arrays(np.arange(20_001, dtype=np.int32), ["k"] * 20_000, text),
        lambda _: pa.ListArray.from_arrays(pa.array([0] + [1 << 26] * 20_000, pa.int32()), np.zeros(1 << 26)),
    ],
    ids=["texts", "lists", "records", "maps", "one long list"],
)
def test_what_a_parquet_file_holds_once_is_counted_before_it_is_made(tmp_path, small_limit, pool, make):
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), ["z" * 20_000])
    table = pa.table({"a": make(text), "label": ["x", "y"] * 10_000})
    pa.parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", store_schema=False)
    before = pool.max_memory()
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes"):
        read(tmp_path / "a.parquet")
    assert pool.max_memory() - before < 1e8


@pytest.mark.parametrize("rows", [60, 6_000])
def test_texts_that_go_on_from_the_one_before_are_read_and_counted(
    tmp_path, monkeypatch, small_limit, pool, rows
):
    table = pa.table(
        {"a": [f"{'z' * 20_000}{row}" for row in range(rows)], "label": ["x", "y"] * (rows // 2)}
    )
    ways = {"a": "DELTA_BYTE_ARRAY", "label": "DELTA_LENGTH_BYTE_ARRAY"}
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(table, path, use_dictionary=False, column_encoding=ways, compression="zstd")
    before = pool.max_memory()
    if rows < 100:
        monkeypatch.setattr(paths, "UNPACKED", 10_000_000)
        assert read(path).x["a"].tolist() == table["a"].to_pylist()
        return
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes"):
        read(path)
    assert pool.max_memory() - before < 1e8


@pytest.mark.parametrize(
    "make", [lambda n: pa.nulls(n), lambda n: pa.StructArray.from_arrays([pa.nulls(n)], ["b"])]
)
def test_rows_of_nothing_are_counted(tmp_path, small_limit, pool, make):
    table = pa.table({"a": make(100_000_000), "label": pa.nulls(100_000_000)})
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as written:
        written.write_table(table)
    before = pool.max_memory()
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes"):
        read(tmp_path / "a.arrow")
    assert pool.max_memory() - before < 1e8


@pytest.mark.parametrize(
    "values",
    [
        pa.RunEndEncodedArray.from_arrays(pa.array([1_000_000], pa.int32()), pa.array([1.0])),
        pa.ListViewArray.from_arrays(pa.array([0, 0], pa.int32()), pa.array([9, 9], pa.int32()), np.zeros(9)),
    ],
    ids=["runs", "lists"],
)
def test_values_that_stand_once_for_many_rows_are_not_read(tmp_path, values):
    with pytest.raises(DataError, match=r"column 'a': is of type .*, which is not read: write plain values"):
        read(ipc(values, tmp_path / "a.arrow"))


def test_a_cell_that_sqlite_computes_is_never_made_as_a_whole(tmp_path):
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE t (a INT, label TEXT)")
        base.executemany("INSERT INTO t VALUES (?, ?)", [(row, "xy"[row % 2]) for row in range(2)])
        base.execute("ALTER TABLE t ADD COLUMN g AS (hex(zeroblob(300000000)))")
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 1e8
    finally:
        tracemalloc.stop()
