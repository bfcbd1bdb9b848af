"""Hugging Face datasets on disk: an example, splits, and out of the library again."""

import struct

import datasets
import numpy as np
import pytest

import graylearn as gl
from graylearn.audit import Audit
from graylearn.errors import DataError


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


def test_a_split_is_chosen(tmp_path):
    datasets.DatasetDict(train=_pets(), test=_pets().select(range(2))).save_to_disk(str(tmp_path / "both"))
    with pytest.raises(DataError, match="holds the splits train, test"):
        gl.read(tmp_path / "both")
    assert len(gl.read(tmp_path / "both", split="test")) == 2


def test_an_audit_cleans_a_dataset_into_a_dataset():
    pets = _pets()
    audit = Audit.from_predictions(np.eye(2)[[0, 1] * 3], pets["label"])
    audit.suspected[1] = True
    clean = audit.clean(pets)
    assert clean["size"][:] == [1.5, 3, 4, 5, 6]
    assert clean.features == pets.features


def test_damaged_offsets_are_not_followed(tmp_path):
    words = datasets.Dataset.from_dict({"size": range(6), "label": ["cat", "dog"] * 3})
    words.save_to_disk(str(tmp_path / "words"))
    (part,) = (tmp_path / "words").glob("*.arrow")
    raw, offsets = part.read_bytes(), struct.pack("<7i", *range(0, 19, 3))
    assert offsets in raw
    part.write_bytes(raw.replace(offsets, struct.pack("<7i", *range(0, 16, 3), 2**30)))
    with pytest.raises(DataError, match="words is damaged or not a dataset"):
        gl.read(tmp_path / "words")
