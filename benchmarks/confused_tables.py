"""Labels of tables that are called those of another class: are they found, and is what overlaps left alone?

    pip download --no-deps river==0.26.1 orange3==3.40.0                   # into FOLDER, beside the tables
    python -m benchmarks confused_tables --data FOLDER      # results/confused_tables.jsonl, then a table

Of each class 0, 8 or 20 % bear the label of one other class, drawn for all classes. The rule was set with
`ground` (seven kinds of ground, of river) and `titanic` (of Orange) in view, the others are aside.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.decomposition import PCA

import graylearn as gl
from benchmarks import record
from graylearn.audit.kinds import SURE

RESULTS = Path(__file__).resolve().parent.parent / "results" / "confused_tables.jsonl"
DESIGN = ("ground", "titanic")
RATES = (0.0, 0.08, 0.2)
ROWS = 3000
Table = tuple[Any, np.ndarray]


def _packed(folder: Path, package: str, file: str) -> io.BytesIO:
    """A file of a package that was downloaded."""
    with zipfile.ZipFile(next(folder.glob(f"{package}-*.whl"))) as wheel:
        return io.BytesIO(wheel.read(file))


def _ground(folder: Path) -> Table:
    with zipfile.ZipFile(_packed(folder, "river", "river/datasets/segment.csv.zip")) as inner:
        read = pd.read_csv(inner.open(inner.namelist()[0]))
    return read.iloc[:, :-1], read.iloc[:, -1].to_numpy()


def _titanic(folder: Path) -> Table:
    read = pd.read_csv(_packed(folder, "orange3", "Orange/datasets/titanic.tab"), sep="\t", dtype=str)
    read = read.iloc[2:].reset_index(drop=True)  # below the names stand kinds and roles
    return read.drop(columns="survived"), read["survived"].to_numpy()


def _sky(file: str) -> Callable[[Path], Table]:
    def table(folder: Path) -> Table:
        read = pd.read_csv(folder / file).sample(ROWS, random_state=0)
        return read[[*"ugriz", "redshift"]].reset_index(drop=True), read["class"].to_numpy()

    return table


def _accents(folder: Path) -> Table:
    read = pd.read_csv(folder / "accent-mfcc-data-1.csv")
    return read.iloc[:, 1:], read.iloc[:, 0].to_numpy()


def _digits(directions: int) -> Callable[[Path], Table]:
    def table(_: Path) -> Table:
        x, y = datasets.load_digits(return_X_y=True)
        return PCA(directions, random_state=0).fit_transform(x), y

    return table


def _made(apart: float, seed: int) -> Callable[[Path], Table]:
    def table(_: Path) -> Table:
        made = {"n_informative": 8, "n_redundant": 2, "n_classes": 5, "n_clusters_per_class": 1, "flip_y": 0}
        return datasets.make_classification(2000, 12, class_sep=apart, random_state=seed, **made)

    return table


TABLES: dict[str, Callable[[Path], Table]] = {
    "ground": _ground,
    "titanic": _titanic,
    "sky": _sky("Skyserver_SQL2_27_2018 6_51_39 PM.csv"),
    "stars": _sky("star_classification.csv"),
    "accents": _accents,
    "wine": lambda _: datasets.load_wine(return_X_y=True),
    "cancer": lambda _: datasets.load_breast_cancer(return_X_y=True),
    "digits, 10 directions": _digits(10),
    "digits, 5 directions": _digits(5),
    "made, 2.5 apart": _made(2.5, 0),
    "made, 1.5 apart": _made(1.5, 1),
    "made, 1 apart": _made(1.0, 2),
}


def measured(x: Any, true: np.ndarray, rate: float, seed: int) -> dict[str, float]:
    """Shares wrong, flagged and sure, and how right the last two are."""
    random = np.random.default_rng([seed, 7])
    classes = random.permutation(np.unique(true))
    called = dict(zip(classes, np.roll(classes, 1), strict=True))
    label = np.where(random.random(len(true)) < rate, [called[each] for each in true], true)
    found = gl.audit(x, label, seed=seed)
    wrong, sure = label != true, found.level == SURE
    row = {"wrong": wrong.mean(), "flagged": found.suspected.mean(), "sure": sure.mean()}
    if rate:
        row["recall"] = found.suspected[wrong].mean()
    if rate and found.suspected.any():
        row["precision"] = wrong[found.suspected].mean()
    if rate and sure.any():
        row["sure_precision"] = wrong[sure].mean()
    return {key: round(float(value), 4) for key, value in row.items()}


def main() -> None:
    """Measure what is asked for; a line a table and rate, means over the seeds."""
    given = record.asked_of_data(__doc__, RESULTS, seeds=2)
    warnings.simplefilter("ignore")
    for name, table in TABLES.items():
        x, true = table(given.data)
        for rate in RATES:
            told = [measured(x, true, rate, seed) for seed in given.seeds]
            for seed, row in zip(given.seeds, told, strict=True):
                half = "design" if name in DESIGN else "aside"
                named = {"name": name, "half": half, "rate": rate, "seed": seed}
                record.append(record.record("confused-tables", **named, **row), given.out)
            means = {key: mean(row[key] for row in told if key in row) for row in told for key in row}
            print(f"{name:22} {rate:4}", *(f"{key} {value:.3f}" for key, value in means.items()), flush=True)
