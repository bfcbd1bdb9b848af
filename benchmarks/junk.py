"""Rows of junk in tables of few classes: does the audit find them, and who does?

    python -m benchmarks junk --data FOLDER        # results/junk.jsonl

--data holds star_classification.csv, Skyserver*.csv, abalone.data, WineQT.csv,
accent-mfcc-data-1.csv, mitbih_train.csv.gz; the others come with scikit-learn. A share of rows is added
whose labels are drawn at random:

    elsewhere   a cloud of its own, five spreads from the middle of each column
    noise       four times as wide as the data, in each column
    range       anywhere in three times the range of each column
    off         a row in which four values of five are 0

By themselves, and where 10 % of the other labels are wrong too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import graylearn as gl
from benchmarks import record
from graylearn.audit.kinds import OOD

RESULTS = Path(__file__).resolve().parent.parent / "results" / "junk.jsonl"
DESIGN = ("wine", "iris", "cancer", "digits 0 to 2", "digits 8 and 9", "heart beats")
ASIDE = ("stars", "sky", "accents", "abalone", "wine quality")
"""Looked at once the rule stood."""
SETTINGS = ((0.03, 0.0), (0.1, 0.0), (0.1, 0.1))
"""Shares of junk, and of wrong labels among the others."""
MOST = 1500
Table = tuple[np.ndarray, np.ndarray]


def table_of(name: str, folder: Path) -> Table:
    """Numbers and labels of a set, all rows."""
    loaders: dict[str, Callable[..., Table]] = {
        "wine": load_wine, "iris": load_iris, "cancer": load_breast_cancer
    }  # fmt: skip
    if name in loaders:
        return loaders[name](return_X_y=True)
    if name.startswith("digits"):
        x, y = load_digits(return_X_y=True)
        few = np.isin(y, (0, 1, 2) if "2" in name else (8, 9))
        return x[few], y[few]
    if name == "heart beats":
        table = pd.read_csv(folder / "mitbih_train.csv.gz", header=None)
        label = table.pop(table.columns[-1])
    elif name == "abalone":
        table = pd.read_csv(folder / "abalone.data", header=None)
        label = table.pop(0)
    elif name == "accents":
        table = pd.read_csv(folder / "accent-mfcc-data-1.csv")
        label = table.pop(table.columns[0])
    elif name == "wine quality":
        table = pd.read_csv(folder / "WineQT.csv").drop(columns="Id")
        label = table.pop("quality") > 5
    else:
        file = {"stars": "star_classification.csv", "sky": "Skyserver*.csv"}[name]
        table = pd.read_csv(next(folder.glob(file)))
        label = table.pop("class")
    return table.select_dtypes("number").to_numpy(float), label.to_numpy()


def elsewhere(x: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    side = 5 * random.choice([-1, 1], x.shape[1])
    return x.mean(0) + x.std(0) * (side + random.normal(size=(count, x.shape[1])))


def noise(x: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    return x.mean(0) + 4 * x.std(0) * random.normal(size=(count, x.shape[1]))


def anywhere(x: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    low, high = x.min(0), x.max(0)
    return random.uniform(2 * low - high, 2 * high - low, (count, x.shape[1]))


def off(x: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    return np.where(random.random((count, x.shape[1])) < 0.8, 0.0, x[random.integers(0, len(x), count)])


KINDS = {"elsewhere": elsewhere, "noise": noise, "range": anywhere, "off": off}


def measured(table: Table, kind: str, share: float, wrong: float, seed: int) -> dict[str, object]:
    """Who found what; of a set as it is, what was flagged."""
    random = np.random.default_rng(seed)
    x, y = table
    rows = random.permutation(len(x))[:MOST]
    x, y = np.asarray(x, dtype=float)[rows], np.unique(y[rows], return_inverse=True)[1]
    count, classes = round(share * len(x)), int(y.max()) + 1
    flipped = random.random(len(x)) < wrong
    y = np.where(flipped, (y + random.integers(1, classes, len(y))) % classes, y)
    given = np.vstack([x, KINDS[kind](x, count, random)]) if count else x
    label = np.concatenate([y, random.integers(0, classes, count)])
    order = random.permutation(len(given))
    junk, flipped = order >= len(x), np.append(flipped, np.zeros(count, dtype=bool))[order]
    found = gl.audit(given[order], label[order])
    flagged, bad = found.suspected, junk | flipped
    return {
        "N": len(given), "K": classes, "flagged": float(flagged.mean()),
        "precision": float(bad[flagged].mean()) if flagged.any() else None,
        "recall_junk": float(flagged[junk].mean()) if count else None,
        "recall_wrong": float(flagged[flipped].mean()) if wrong else None,
        "called_ood": float((found.kind[junk] == OOD).mean()) if count else None,
    }  # fmt: skip


def main() -> None:
    """Measure all sets."""
    given = record.asked_of_data(__doc__, RESULTS, seeds=2)
    warnings.simplefilter("ignore")
    settings = [("none", 0.0, 0.0), *((kind, *each) for kind in KINDS for each in SETTINGS)]
    for name in (*DESIGN, *ASIDE):
        table = table_of(name, given.data)
        group = "design" if name in DESIGN else "aside"
        for seed in given.seeds:
            for kind, share, wrong in settings:
                told = measured(table, kind, share, wrong, seed)
                asked = {"kind": kind, "share": share, "wrong": wrong, "seed": seed, "way": "all"}
                record.append(record.record("junk", name=name, group=group, **asked, **told), given.out)
