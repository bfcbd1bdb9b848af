"""What every format promises; the example of each stands in its own test, test_format_NAME.py."""

import bz2
import functools
import gzip
import importlib
import lzma
import os
import shutil
import sqlite3
import zipfile
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

import graylearn as gl
from graylearn.data.formats import FORMATS, Change, format_of
from graylearn.data.read import read_file
from graylearn.data.samples import Samples, take_rows
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataError
from graylearn.runs.prepare import prepare
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings

read = functools.partial(gl.read, size=64)
"""Images as a network on pixels reads them."""


@pytest.fixture(params=list(FORMATS))
def example(request, tmp_path):
    """(format, its example: six samples of the classes cat and dog, by turns)."""
    folder = tmp_path / "data"
    folder.mkdir()
    form = FORMATS[request.param]
    return form, importlib.import_module(f"test_format_{form.name}").example(folder)


def assert_same(one: Samples, other: Samples) -> None:
    assert (one.kind, one.classes) == (other.kind, other.classes)
    assert one.y.tolist() == other.y.tolist()
    assert one.ids.tolist() == other.ids.tolist()
    if isinstance(one.x, pd.DataFrame):
        pd.testing.assert_frame_equal(one.x, other.x)
    else:
        np.testing.assert_array_equal(one.x, other.x)


def test_library_and_command_line_read_the_same(example, tmp_path):
    form, path = example
    settings = RunSettings(data=str(path), features="pixels" if form.name == "folder" else "auto")
    prepared = prepare(settings, tmp_path, RunProgress(quiet=True))
    samples = read(path)
    assert len(samples) == 6
    assert samples.classes == ("cat", "dog")
    assert_same(samples, prepared.everything)
    assert prepared.origin.form == form.name == format_of(path).name


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet", "feather", "xlsx", "sqlite", "duckdb"])
def test_paths_of_images_are_written_as_seen_from_the_new_file(tmp_path, name):
    (tmp_path / "data" / "photos").mkdir(parents=True)
    path = tmp_path / "data" / f"list.{name}"
    out = tmp_path / "clean" / ("list.csv" if name in ("xlsx", "sqlite", "duckdb") else f"list.{name}")
    out.parent.mkdir()
    table = pd.DataFrame({"path": [f"photos/{n}.png" for n in range(4)], "label": ["cat", "dog"] * 2})
    table.insert(0, "None", "")  # a column of this name is not meant where there is none of paths
    for image in table["path"]:
        Image.fromarray(np.full((9, 9, 3), 60, dtype=np.uint8)).save(path.parent / image)
    if name in ("sqlite", "duckdb"):
        connect = (sqlite3 if name == "sqlite" else duckdb).connect
        with closing(connect(str(path))) as base:
            base.execute('CREATE TABLE list ("None" TEXT, path TEXT, label TEXT)')
            base.executemany("INSERT INTO list VALUES (?, ?, ?)", table.to_numpy().tolist())
            base.commit()
    else:
        write = {"csv": "to_csv", "parquet": "to_parquet", "feather": "to_feather", "xlsx": "to_excel"}
        options = {"orient": "records", "lines": True} if name == "jsonl" else {"index": False}
        options = {} if name == "feather" else options
        getattr(table, write.get(name, "to_json"))(path, **options)
    reading = ReadOptions(size=8, cache=tmp_path / "cache", without=("None",))
    _, origin = read_file(path, reading)
    format_of(path).rewrite(path, out, origin, Change([], [], [True, True, True, False], [1, 1, 2, 3]))
    cleaned = read_file(out, reading)[0]
    assert cleaned.ids.tolist() == [f"../data/photos/{n}.png" for n in range(3)]
    assert [cleaned.classes[k] for k in cleaned.y] == ["dog", "dog", "cat"]


def test_what_is_rewritten_reads_as_decided(example, tmp_path):
    """Also what is not rewritten itself: of that a copy is written."""
    form, path = example
    before = contents(path)
    samples, origin = read_file(path, ReadOptions())
    (cat, dropped, _), (dog, _, _) = np.flatnonzero(samples.y == 0), np.flatnonzero(samples.y == 1)
    label_of = list(range(6))
    label_of[dog] = cat
    change = Change(
        [str(name) for name in samples.ids],
        [str(samples.classes[label]) for label in samples.y],
        [index != dropped for index in range(6)],
        label_of,
    )
    y = samples.y.copy()
    y[dog] = samples.y[cat]
    names = [path.name] if form.name == "folder" else [f"clean{ending}" for ending in form.endings(path)]
    for out in [tmp_path / name for name in names]:
        assert form.may_become(path, out)
        note = form.rewrite(path, out, origin, change)
        assert (note is None) == (out.suffix in ("", *form.suffixes))
        assert contents(path) == before
        again = read(out)
        if form.name == "folder":  # images are read by the names of their folders, so their order changes
            assert sorted(again.y) == [0, 0, 0, 1, 1]
            assert {image.tobytes() for image in again.x} == {
                image.tobytes() for image in samples.x[change.kept]
            }
            return
        assert again.y.tolist() == y[change.kept].tolist()
        expected = take_rows(samples.x, change.kept)
        if isinstance(expected, pd.DataFrame):
            pd.testing.assert_frame_equal(again.x, expected.reset_index(drop=True), check_dtype=note is None)
        else:
            np.testing.assert_array_equal(again.x, expected)


def contents(path):
    """What lies in the folder of a file, as far as one can see."""
    return {each: each.read_bytes() for each in path.parent.rglob("*") if each.is_file()}


def test_changed_files_have_another_fingerprint(example, tmp_path):
    """Whichever of the files that make a dataset up it is."""
    form, path = example
    ids = read(path).ids
    before = form.fingerprint(path, ids)
    copied = tmp_path / "moved" / path.name
    copied.parent.mkdir()
    (shutil.copytree if path.is_dir() else shutil.copy)(path, copied)
    assert form.fingerprint(copied, ids) == before
    for ending in form.beside:
        beside = copied.with_name(copied.name + ending)
        beside.write_bytes(b"")  # as programs leave it that have done with it
        assert form.fingerprint(copied, ids) == before
        beside.write_bytes(b"not in it yet")
        assert form.fingerprint(copied, ids) != before
        beside.unlink()
    for file in sorted(copied.rglob("*")) if path.is_dir() else [copied]:
        if file.is_file():
            whole = file.read_bytes()
            file.write_bytes(whole + b" ")
            assert form.fingerprint(copied, ids) != before
            file.write_bytes(whole)


def test_data_that_are_written_to_while_they_are_read_are_refused(example):
    form, path = example
    file = path if path.is_file() else next(iter(form.files(path)))
    with pytest.raises(DataError, match="was written to while it was read"), form.still(path):
        (file / "new" if file.is_dir() else file).write_bytes(b"something else")
    with form.still(path):
        pass


def log_of_sqlite(path):
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode = wal")
    base.execute("INSERT INTO pets VALUES (7, 'cat')")
    base.commit()
    return base


def log_of_duckdb(path):
    base = duckdb.connect(str(path))
    base.execute("INSERT INTO pets VALUES (7, 'cat')")
    return base


@pytest.mark.parametrize(("name", "write"), [("sqlite", log_of_sqlite), ("duckdb", log_of_duckdb)])
def test_what_a_database_has_written_beside_it_is_read_and_copied(tmp_path, name, write):
    form = FORMATS[name]
    (tmp_path / "open").mkdir()
    opened = importlib.import_module(f"test_format_{name}").example(tmp_path / "open")
    empty = form.fingerprint(opened, [])
    with closing(write(opened)):
        shutil.copytree(opened.parent, tmp_path / "killed")
    path = tmp_path / "killed" / opened.name
    before = contents(path)
    assert len(before) > 1
    assert form.fingerprint(path, []) != empty
    samples, origin = read_file(path, ReadOptions())
    assert len(samples) == 7
    change = Change([], [], [False] + [True] * 6, list(range(7)))
    form.rewrite(path, tmp_path / "clean.csv", origin, change)
    assert read(tmp_path / "clean.csv").x["size"].tolist() == [2.5, 3, 4, 5, 6, 7]
    assert contents(path) == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="who may write anywhere cannot tell")
def test_a_database_is_read_where_nobody_may_write(tmp_path):
    path = importlib.import_module("test_format_sqlite").example(tmp_path)
    with closing(log_of_sqlite(path)):
        pass
    tmp_path.chmod(0o500)
    try:
        assert len(read(path)) == 7
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("ending", ["gz", "zst", "bz2", "xz", "zip"])
def test_compressed_files_read_the_same(example, ending):
    form, path = example
    if not form.compressed:
        return
    packed = path.with_name(f"{path.name}.{ending}")
    if ending == "zip":
        with zipfile.ZipFile(packed, "w") as archive:
            archive.write(path, "inside")
    else:
        openers = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
        arrow = functools.partial(pa.output_stream, compression="zstd")
        with openers[ending](packed, "wb") if ending in openers else arrow(str(packed)) as stream:
            stream.write(path.read_bytes())
    assert_same(read(path), read(packed))


def test_an_empty_file_is_an_error_of_one_sentence(example):
    path = example[1]
    if path.is_dir():
        return
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"is empty|damaged"):
        read(path)
