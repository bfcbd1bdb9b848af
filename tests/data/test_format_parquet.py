"""Parquet: its example, and folders of files that are one table."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from graylearn.data.formats import Change, format_of
from graylearn.data.read import open_blocks, read, read_file
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataError, DataWarning


def example(folder):
    path = folder / "pets.parquet"
    pd.DataFrame({"size": [1.5, 2.5, 3, 4, 5, 6], "label": ["cat", "dog"] * 3}).to_parquet(path)
    return path


@pytest.fixture
def parts(tmp_path):
    folder = tmp_path / "pets"
    folder.mkdir()
    for part in range(3):
        rows = {"size": [2 * part, 2 * part + 1.5], "label": ["cat", "dog"]}
        pd.DataFrame(rows).to_parquet(folder / f"part-{part}.parquet", compression="zstd")
    (folder / "_SUCCESS").write_text("")
    (folder / "_metadata.parquet").write_bytes(b"not a part")
    return folder


def test_a_folder_of_files_is_one_table(parts):
    samples = read(parts)
    assert samples.x["size"].tolist() == [0, 1.5, 2, 3.5, 4, 5.5]
    assert samples.y.tolist() == [0, 1, 0, 1, 0, 1]
    assert samples.ids.tolist() == list(range(6))
    pd.DataFrame({"size": [9], "label": ["cat"]}).to_csv(parts / "more.csv")
    with pytest.warns(DataWarning, match=r"the Parquet files are read, and not more\.csv"):
        assert len(read(parts)) == 6


def test_columns_that_only_folders_name_are_told(tmp_path):
    pets = pd.DataFrame({"size": [1, 2, 3, 4], "label": ["cat", "dog"] * 2, "year": [2019, 2019, 2020, 2020]})
    pets.to_parquet(tmp_path / "pets", partition_cols=["year"])
    every = tmp_path / "pets" / "**" / "*.parquet"
    told = r"^year, told by the names of folders \(year=2019\), is not read: write it into the files of "
    with pytest.warns(DataWarning, match=told):
        assert list(read(every).x) == ["size"]
    with pytest.warns(DataWarning, match=told):
        open_blocks(every, ReadOptions())
    read(tmp_path / "pets" / "year=2020" / "*.parquet")  # who chose a folder knows it
    for file in (tmp_path / "pets").rglob("*.parquet"):
        pd.read_parquet(file).assign(year=2020).to_parquet(file)
    assert "year" in read(every).x


def test_a_folder_is_rewritten_as_one_file(parts, tmp_path):
    samples, origin = read_file(parts, ReadOptions())
    change = Change([], [], [True] * 5 + [False], [1, 1, 2, 3, 4, 5])
    form = format_of(parts)
    assert form.may_become(parts, tmp_path / "clean.parquet")
    form.rewrite(parts, tmp_path / "clean.parquet", origin, change)
    assert pd.read_parquet(tmp_path / "clean.parquet")["label"].tolist() == [
        "dog",
        "dog",
        "cat",
        "dog",
        "cat",
    ]
    before = form.fingerprint(parts, samples.ids)
    (parts / "part-1.parquet").rename(parts / "part-3.parquet")
    assert form.fingerprint(parts, samples.ids) != before


def test_parts_of_different_tables_are_named(parts):
    pd.DataFrame({"size": [1.0], "kind": ["cat"]}).to_parquet(parts / "part-2.parquet")
    with pytest.raises(DataError, match=r"part-2\.parquet has the columns size, kind but the first file"):
        read(parts)
    (parts / "part-2.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"part-2\.parquet is damaged or not a Parquet file"):
        read(parts)
    pd.DataFrame({"size": ["wide"], "label": ["cat"]}).to_parquet(parts / "part-2.parquet")
    with pytest.raises(DataError, match=r"hold different types"):
        read(parts)


def test_names_that_were_numbers_are_text(tmp_path):
    pd.DataFrame([[1.5, "cat"], [2.5, "dog"]], columns=[0, 1]).to_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", label="1").classes == ("cat", "dog")


def test_texts_of_any_nesting_are_read_over_row_groups(tmp_path):
    columns = {
        "text": ["a", "b", None, "d"],
        "tags": [["a"], ["b", None], [], None],
        "record": [{"k": "a"}, {"k": None}, None, {"k": "d"}],
        "pairs": pa.array([[("k", "v")], [], None, [("k", None)]], pa.map_(pa.string(), pa.string())),
        "label": ["x", "y"] * 2,
    }
    path, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pa.parquet.write_table(pa.table(columns), path, row_group_size=2)
    _, origin = read_file(path, ReadOptions(without=("tags", "record", "pairs")))
    format_of(path).rewrite(path, out, origin, Change([], [], [True] * 4, list(range(4))))
    assert pa.parquet.read_table(out).to_pylist() == pa.table(columns).to_pylist()
