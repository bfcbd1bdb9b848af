"""Every ending that is promised is read as what it stands for."""

import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import graylearn as gl
from graylearn.data.formats import FORMATS

PETS = pd.DataFrame({"weight": [4.1, 9.5, 3.8], "label": ["cat", "dog", "cat"]})


def to_sqlite(path):
    with sqlite3.connect(path) as file:
        PETS.to_sql("pets", file, index=False)


def to_duckdb(path):
    with duckdb.connect(str(path)) as file:
        file.register("given", PETS)
        file.execute("create table pets as select * from given")


WRITERS = {
    "delimited": lambda path: PETS.to_csv(
        path, index=False, sep="\t" if path.suffix in (".tsv", ".tab") else ","
    ),
    "json": lambda path: PETS.to_json(path, orient="records", lines=path.suffix != ".json"),
    "parquet": lambda path: PETS.to_parquet(path),
    "feather": lambda path: PETS.to_feather(path),
    "excel": lambda path: PETS.to_excel(path.with_suffix(".xlsx"), index=False, engine="openpyxl"),
    "sqlite": to_sqlite,
    "duckdb": to_duckdb,
}


def check(samples):
    assert samples.classes == ("cat", "dog")
    assert samples.y.tolist() == [0, 1, 0]
    np.testing.assert_allclose(np.asarray(samples.x, dtype=float)[:, -1], PETS["weight"])


@pytest.mark.parametrize(
    ("name", "suffix"), [(name, suffix) for name in WRITERS for suffix in FORMATS[name].suffixes]
)
def test_a_table_is_known_by_any_of_its_endings(name, suffix, tmp_path):
    path = tmp_path / f"pets{suffix}"
    WRITERS[name](path)
    if not path.exists():  # a writer that insists on an ending of its own
        next(tmp_path.iterdir()).rename(path)
    check(gl.read(path))


@pytest.mark.parametrize("suffix", FORMATS["folder"].suffixes)
def test_an_image_is_known_by_any_of_its_endings(suffix, tmp_path):
    for label, grey in (("dark", 40), ("light", 200)):
        (tmp_path / label).mkdir()
        picture = Image.new("1" if suffix == ".pbm" else "L" if suffix == ".pgm" else "RGB", (8, 8))
        picture.paste(grey if picture.mode != "RGB" else (grey,) * 3, (0, 0, 8, 8))
        picture.save(tmp_path / label / f"a{suffix}", {".jfif": "JPEG"}.get(suffix))
    samples = gl.read(tmp_path, size=8)
    assert samples.classes == ("dark", "light")
    mean = np.asarray(samples.x).reshape(2, -1).mean(axis=1)
    if suffix != ".pbm":  # which has black and white alone
        np.testing.assert_allclose(mean, [40, 200], atol=6)
