"""The paper's tables, both protocols: made files of the publishers' layouts, and the real ones where here."""

import csv
import gzip
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from graylearn.errors import DataError
from reproduction.catalog import CATALOG, TABLES, datasets_table, load, paper_task
from reproduction.catalog.files import Finder
from reproduction.catalog.tables import RELEASED, find_table
from reproduction.catalog.tasks import feature_sum_labels
from reproduction.cells import Cell
from reproduction.released import released_parts

REAL = Path(os.environ.get("GRAYLEARN_DATA") or Path(__file__).parents[3] / "shared" / "data")

# Where the label stands in a publisher's file, whether it has a header, and how its classes are called.
LAYOUTS = {
    "abalone": ("abalone.data", 0, False),
    "arrhythmia": ("mitbih_train.csv", 187, False),
    "gene": ("labels.csv", 1, True),
    "iris": ("iris.data", 4, False),
    "skyserver": ("Skyserver_SQL2_27_2018 6_51_39 PM.csv", 13, True),
    "speech": ("accent-mfcc-data-1.csv", 0, True),
    "stellar": ("star_classification.csv", 13, True),
    "wineqt": ("WineQT.csv", 11, True),
}
MAGNITUDES = ["u", "g", "r", "i", "z"]
SDSS14 = [
    *("objid", "ra", "dec", *MAGNITUDES, "run", "rerun", "camcol", "field"),
    *("specobjid", "class", "redshift", "plate", "mjd", "fiberid"),
]
SDSS17 = [
    *("obj_ID", "alpha", "delta", *MAGNITUDES, "run_ID", "rerun_ID", "cam_col", "field_ID"),
    *("spec_obj_ID", "class", "redshift", "plate", "MJD", "fiber_ID"),
]
WINE = [
    *("fixed acidity", "volatile acidity", "citric acid", "residual sugar"),
    *(
        "chlorides",
        "free sulfur dioxide",
        "total sulfur dioxide",
        "density",
        "pH",
        "sulphates",
        "alcohol",
        "quality",
        "Id",
    ),
]
MADE_COUNTS = {
    "abalone": {"M": 15, "F": 13, "I": 14},
    "arrhythmia": {0: 40, 1: 6, 2: 9, 3: 4, 4: 8},
    "gene": {"PRAD": 14, "LUAD": 14, "BRCA": 30, "KIRC": 15, "COAD": 8},
    "iris": {"Iris-setosa": 12, "Iris-versicolor": 12, "Iris-virginica": 12},
    "skyserver": {"STAR": 20, "GALAXY": 25, "QSO": 5},
    "speech": {"ES": 5, "FR": 6, "GE": 6, "IT": 6, "UK": 9, "US": 30},
    "stellar": {"GALAXY": 30, "QSO": 9, "STAR": 11},
    "wineqt": {5: 30, 6: 28, 7: 10, 4: 6, 8: 4, 3: 2},
}


def write_rows(path, header, rows):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", newline="") as file:
        csv.writer(file).writerows([header, *rows] if header else rows)


def make_table(name, folder):
    """A small file of the publisher's layout; feature values are whole numbers, so that sums are exact."""
    rng = np.random.default_rng(len(name))
    labels = [label for label, count in MADE_COUNTS[name].items() for _ in range(count)]
    labels = [labels[place] for place in rng.permutation(len(labels))]
    values = rng.integers(-20, 40, (len(labels), 187)).tolist()
    n = len(labels)
    if name == "abalone":
        write_rows(folder / "abalone.data", None, [[y, *v[:8]] for y, v in zip(labels, values, strict=True)])
    elif name == "arrhythmia":
        rows = [[*v, f"{y:.18e}"] for y, v in zip(labels, values, strict=True)]
        write_rows(folder / "mitbih_train.csv.gz", None, rows)
    elif name == "gene":
        ids = [f"sample_{number}" for number in range(n)]
        rows = [[name, *v] for name, v in zip(ids, values, strict=True)]
        write_rows(folder / "data.csv", ["", *(f"gene_{g}" for g in range(187))], rows)
        write_rows(folder / "labels.csv", ["", "Class"], list(zip(ids, labels, strict=True)))
    elif name == "iris":
        write_rows(folder / "iris.data", None, [[*v[:4], y] for y, v in zip(labels, values, strict=True)])
        with (folder / "iris.data").open("a") as file:
            file.write("\n")  # the published file ends in an empty line
    elif name == "speech":
        rows = [[y, *v[:12]] for y, v in zip(labels, values, strict=True)]
        write_rows(folder / "accent-mfcc-data-1.csv", ["language", *(f"X{i}" for i in range(1, 13))], rows)
    elif name == "wineqt":
        rows = [[*v[:11], y, number] for number, (y, v) in enumerate(zip(labels, values, strict=True))]
        write_rows(folder / "WineQT.csv", WINE, rows)
    else:
        rows = [[*v[:13], y, *v[13:17]] for y, v in zip(labels, values, strict=True)]
        if name == "stellar":
            rows[7][3] = rows[7][4] = -9999.0
        write_rows(folder / LAYOUTS[name][0], SDSS14 if name == "skyserver" else SDSS17, rows)


HERE = {row.name for row in datasets_table(REAL) if row.present} if REAL.is_dir() else set()


def cases():
    """(where, name) of every table made, and of every one that is really here."""
    made = [("made", name) for name in TABLES]
    # Arrhythmia takes seconds to read and has a test of its own.
    return made + [("real", name) for name in TABLES if name in HERE and name != "arrhythmia"]


@pytest.fixture
def folder(request, tmp_path):
    where, name = request.param
    if where == "real":
        return REAL, name
    (tmp_path / "tabular").mkdir()
    make_table(name, tmp_path / "tabular")
    return tmp_path, name


all_tables = pytest.mark.parametrize("folder", cases(), indirect=True, ids=lambda case: "-".join(case))


def raw_labels(folder, name):
    """The labels as the csv module reads them, without the package's help; and which rows hold a sentinel."""
    found = find_table(name, Finder(folder)).where
    if found is None:  # Iris inside scikit-learn: 50 of each
        return ["setosa", "versicolor", "virginica"] * 50, set()
    file_name, column, has_header = LAYOUTS[name]
    path = found / file_name if found.is_dir() else found
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        rows = [row for row in csv.reader(file) if row][has_header:]
    sentinel = {number for number, row in enumerate(rows) if "-9999.0" in row}
    labels = [row[column].removeprefix("Iris-") for row in rows]
    if name == "arrhythmia":
        labels = [str(int(float(label))) for label in labels]
    return labels, sentinel


@all_tables
def test_every_row_and_class_is_read(folder):
    folder, name = folder
    labels, sentinel = raw_labels(folder, name)
    samples = load(name, folder)
    kept = Counter(label for row, label in enumerate(labels) if row not in sentinel)
    assert {str(c): n for c, n in zip(samples.classes, samples.class_counts, strict=True)} == kept
    assert samples.classes == tuple(sorted(samples.classes))
    assert samples.num_classes == CATALOG[name].classes
    assert samples.kind == "table"
    assert isinstance(samples.x, pd.DataFrame)
    assert np.isfinite(samples.x.to_numpy()).all()
    assert (samples.x.to_numpy() != -9999).all()
    names_of_rows = {"objid", "specobjid", "obj_ID", "spec_obj_ID", "Id", "class", "quality"}
    assert not names_of_rows & set(samples.x.columns)
    hidden = {"skyserver": 2, "stellar": 2}.get(name, 0)  # published features that only number the rows
    assert name == "gene" or samples.x.shape[1] == CATALOG[name].shape[0] - hidden


@all_tables
@pytest.mark.parametrize("labels", ["random", "specific"])
def test_the_papers_protocol_mixes_the_smallest_class_in(folder, labels):
    folder, name = folder
    samples = load(name, folder)
    smallest = min(samples.classes, key=lambda label: samples.class_counts[samples.classes.index(label)])
    train, test = paper_task(load(name, folder), 3, labels=labels)
    assert smallest not in train.classes
    assert train.classes == test.classes == tuple(label for label in samples.classes if label != smallest)

    # alpha is met to the sample, or the whole smallest class is in
    n_in, n_ood = int((~train.is_ood).sum()), int(train.is_ood.sum())
    of_smallest = samples.class_counts[samples.classes.index(smallest)]
    assert n_ood == min(round(n_in / 9), of_smallest)
    assert n_in + len(test) == len(samples) - of_smallest
    assert len(test) == round((len(samples) - of_smallest) / 5)

    # every sample of train and test is in truth what it says
    truth = dict(zip(samples.ids, (samples.classes[place] for place in samples.y), strict=True))
    assert {truth[row] for row in train.ids[train.is_ood]} == {smallest}
    assert [truth[row] for row in train.ids[~train.is_ood]] == [
        train.classes[y] for y in train.true_y[~train.is_ood]
    ]
    assert [truth[row] for row in test.ids] == [test.classes[y] for y in test.y]
    assert not set(train.ids) & set(test.ids)
    if labels == "specific":  # one OOD class, so one label
        assert len(set(train.y[train.is_ood])) == 1
    again, _ = paper_task(load(name, folder), 3, labels=labels)
    other, _ = paper_task(load(name, folder), 4, labels=labels)
    assert again.ids.tolist() == train.ids.tolist()
    assert other.ids.tolist() != train.ids.tolist()


@all_tables
def test_the_released_protocol_follows_the_authors_code(folder):
    folder, name = folder
    raw, _ = raw_labels(folder, name)
    ood_class = RELEASED[name].ood
    samples = load(name, folder, protocol="released")
    train, test, ood = released_parts(samples, Cell("table", name, "gl", 2, protocol="released"))
    ood_count = sum(label == str(ood_class) for label in raw)
    assert len(ood) == ood_count  # all of them
    assert ood_class not in train.classes == test.classes
    assert len(train) + len(test) + len(ood) == len(raw)  # sentinel rows too
    assert len(test) == int(np.ceil((len(raw) - ood_count) / 5))

    x, K = ood.x.to_numpy(), train.num_classes
    found = feature_sum_labels(x, K)
    expected = [int(abs(torch.tensor(row, dtype=torch.float32).sum().item())) % K for row in x]
    assert found.tolist() == expected
    sums = np.abs(x.sum(axis=1, dtype=np.float64))
    clear = (sums < 1e6) & (np.abs(sums - np.round(sums)) > 1e-2)  # where rounding cannot matter
    assert np.array_equal(found[clear], np.floor(sums[clear]).astype(int) % K)


def test_gene_needs_both_files_of_the_same_samples(tmp_path):
    make_table("gene", tmp_path)
    assert load("gene", tmp_path).ids[:2].tolist() == ["sample_0", "sample_1"]
    (tmp_path / "labels.csv").write_text(",Class\nsample_1,PRAD\nsample_0,LUAD\n")
    with pytest.raises(DataError, match="not the same ones in the same order"):
        load("gene", tmp_path)
    (tmp_path / "labels.csv").unlink()
    with pytest.raises(DataError, match=r"Gene is not in .* it needs data.csv, labels.csv; get it at https"):
        load("gene", tmp_path)
