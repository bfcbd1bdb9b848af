"""Hugging Face datasets on disk: an example, rows without labels, and copies."""

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from graylearn.audit import Audit
from graylearn.data.formats import Change, format_of
from graylearn.data.read import read_file
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataWarning


def example(folder):
    path = folder / "pets"
    _pets().save_to_disk(str(path))
    return path


def _pets():
    features = datasets.Features(
        {"size": datasets.Value("float64"), "label": datasets.ClassLabel(names=["cat", "dog"])}
    )
    return datasets.Dataset.from_dict(
        {"size": [1.5, 2.5, 3, 4, 5, 6], "label": [0, 1] * 3}, features=features
    )


def test_an_audit_cleans_a_dataset_into_a_dataset():
    pets = _pets()
    audit = Audit.from_predictions(np.eye(2)[[0, 1] * 3], pets["label"])
    audit.suspected[1] = True
    clean = audit.clean(pets)
    assert clean["size"][:] == [1.5, 3, 4, 5, 6]
    assert clean.features == pets.features


def test_a_copy_keeps_what_the_columns_mean(tmp_path):
    path, out = example(tmp_path), tmp_path / "clean.parquet"
    _, origin = read_file(path, ReadOptions())
    change = Change([], [], [True] * 5 + [False], [1, *range(1, 6)])
    assert "is not rewritten" in format_of(path).rewrite(path, out, origin, change)
    clean = datasets.Dataset.from_parquet(str(out), cache_dir=str(tmp_path / "cache"))
    assert clean.features == _pets().features
    assert clean["label"][:] == [1, 1, 0, 1, 0]


def test_rows_without_a_label_are_left_out_and_shift_nobody(tmp_path):
    words = {"size": [1.5, 2.5, 3, 4, 5, 6], "label": ["cat", None, "dog", "cat", "dog", None]}
    datasets.Dataset.from_dict(words).save_to_disk(str(tmp_path / "pets"))
    with pytest.warns(DataWarning, match="2 of 6 labels are missing"):
        samples, origin = read_file(tmp_path / "pets", ReadOptions())
    assert samples.ids.tolist() == [0, 2, 3, 4]
    assert samples.classes == ("cat", "dog")
    assert (origin.left_out, origin.columns.label) == ((1, 5), "label")
    change = Change([""] * 4, [""] * 4, [True, False, True, True], [0, 1, 2, 0]).with_rows(origin.left_out)
    format_of(tmp_path / "pets").rewrite(tmp_path / "pets", tmp_path / "a.parquet", origin, change)
    clean = pa.parquet.read_table(tmp_path / "a.parquet")
    assert clean["size"].to_pylist() == [1.5, 2.5, 4, 5, 6]
    assert clean["label"].to_pylist() == ["cat", None, "cat", "cat", None]
