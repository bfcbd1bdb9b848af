"""Do copies hide wrong labels? Sets of which a share stands there twice, wrong labels and all.

    python -m benchmarks copies --data FOLDER      # results/copies.jsonl, then a table

--data holds mitbih_train.csv.gz and Skyserver*.csv; digits come with scikit-learn, and `words` is drawn: four
columns of six words each, whose rows are equal by chance. 10 % of the labels are replaced by other classes,
then samples are copied. `once` is the audit as it is, `each` the one that asks about every copy.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import graylearn as gl
from benchmarks import record

RESULTS = Path(__file__).resolve().parent.parent / "results" / "copies.jsonl"
SETS = ("digits", "heart beats", "stars", "words")
SHARES = (0.0, 0.1, 0.3, 0.6, 1.0)
WRONG, MOST = 0.1, 2000
WAYS = ("once", "each")


def drawn(name: str, folder: Path, random: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Some samples of a set, and their labels as numbers."""
    if name == "words":
        words = random.integers(0, 6, size=(1500, 4))
        label = (words[:, 0] + 2 * words[:, 1] + (words[:, 2] > 0) + words[:, 3] % 2) % 4
        return pd.DataFrame(words).astype(str).add_prefix("word "), label
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "heart beats":
        table = pd.read_csv(folder / "mitbih_train.csv.gz", header=None)
        x, label = table.iloc[:, :-1], table.iloc[:, -1]
    else:
        table = pd.read_csv(next(folder.glob("Skyserver*.csv")))
        x, label = table[["ra", "dec", "u", "g", "r", "i", "z", "redshift"]], table["class"]
    rows = random.choice(len(table), MOST, replace=False)
    return x.to_numpy()[rows], pd.factorize(label, sort=True)[0][rows]


def measured(name: str, share: float, seed: int, way: str, folder: Path) -> dict[str, float | None]:
    """Precision and recall of the wrong labels, and recall of those that are copied."""
    random = np.random.default_rng(seed)
    x, label = drawn(name, folder, random)
    count, classes = len(label), int(label.max()) + 1
    wrong = random.random(count) < WRONG
    given = np.where(wrong, (label + random.integers(1, classes, count)) % classes, label)
    again = random.choice(count, round(share * count), replace=False)
    rows, copied = np.r_[np.arange(count), again], np.isin(np.r_[np.arange(count), again], again)
    every = lambda features, label: (np.arange(len(label)), np.arange(len(label)))  # noqa: E731
    audit = import_module("graylearn.audit.audit")  # `graylearn.audit` is also a function
    with patch.object(audit, "asked_once", audit.asked_once if way == "once" else every):
        overlap = "possible" if name == "stars" else "none"
        found = gl.audit(
            x.iloc[rows] if name == "words" else x[rows], given[rows], overlap=overlap, seed=seed
        )
    flagged, wrong = found.suspected, wrong[rows]
    return {
        "precision": float(wrong[flagged].mean()) if flagged.any() else 1.0,
        "recall": float(flagged[wrong].mean()),
        "recall_of_copies": float(flagged[wrong & copied].mean()) if share else None,
    }


def show(path: Path) -> None:
    """A line a set, share and way: means over the seeds."""
    found: dict[tuple[str, float, str], list[record.Row]] = {}
    for row in record.rows(path):
        found.setdefault((row["name"], row["share"], row["way"]), []).append(row)
    for (name, share, way), rows in sorted(found.items()):
        keys = ("precision", "recall", "recall_of_copies") if share else ("precision", "recall")
        means = [mean(row[key] for row in rows) for key in keys]
        print(f"{name:12} {share:4.1f} {way:5}", *(f"{value:.3f}" for value in means), len(rows))


def main() -> None:
    """Measure what is asked for."""
    given = record.asked_of_data(__doc__, RESULTS, seeds=3)
    warnings.simplefilter("ignore")
    for name in SETS:
        for share in SHARES:
            for seed in given.seeds:
                for way in WAYS:
                    told = measured(name, share, seed, way, given.data)
                    record.append(
                        record.record("copies", name=name, share=share, seed=seed, way=way, **told), given.out
                    )
    show(given.out)
