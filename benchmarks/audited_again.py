"""What does a second audit say of a set that was cleaned by the first?

    python -m benchmarks audited_again --data FOLDER      # results/audited_again.jsonl, then a table

--data holds mitbih_train.csv.gz, star_classification.csv and banking77-train.csv; digits come with
scikit-learn. 10 % of the labels are replaced by other classes; a tenth of the digits are eights and nines
under other labels. `all` does with every suspect what the first audit suggests, `sure` with those alone that
it is sure of.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from statistics import mean

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import graylearn as gl
from benchmarks import record
from graylearn.audit.kinds import MISLABELLED, SURE

RESULTS = Path(__file__).resolve().parent.parent / "results" / "audited_again.jsonl"
SETS = ("digits", "heart beats", "stars", "sentences")
WAYS = ("all", "sure")
WRONG, MOST, FOREIGN = 0.1, 2500, -1


@cache
def table(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features of a set and its true labels."""
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "heart beats":
        read = pd.read_csv(folder / "mitbih_train.csv.gz", header=None)
        read = read.groupby(187).sample(MOST // 5, random_state=0)
        return read.iloc[:, :-1].to_numpy(), read.iloc[:, -1].to_numpy(int)
    if name == "stars":
        read = pd.read_csv(folder / "star_classification.csv").sample(MOST, random_state=0)
        columns = ["alpha", "delta", "u", "g", "r", "i", "z", "redshift"]
        return read[columns].to_numpy(), pd.factorize(read["class"], sort=True)[0]
    read = pd.read_csv(folder / "banking77-train.csv").sample(MOST, random_state=0)
    return gl.data.embed_text(read["text"].tolist()), pd.factorize(read["category"], sort=True)[0]


def dirty(name: str, seed: int, folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(features, labels, true labels), foreign samples having none."""
    x, true = table(name, folder)
    known = true < 8 if name == "digits" else true >= 0
    alpha = 0.1 if name == "digits" else 0.0
    made = gl.contaminate(x[known], true[known], x[~known], alpha=alpha, flip=WRONG, seed=seed)
    return np.asarray(made.x), np.asarray(made.y), np.where(made.is_ood, FOREIGN, made.true_y)


def cleaned(found: gl.Audit, label: np.ndarray, way: str) -> tuple[np.ndarray, np.ndarray]:
    """(labels, which samples stay) after `apply --suspects suggested`, for `sure` with --only-sure."""
    decided = found.suspected & ((found.level == SURE) | (way == "all"))
    relabelled = decided & (found.kind == MISLABELLED)
    return np.where(relabelled, found.suggested, label), ~decided | relabelled


def scored(found: gl.Audit, wrong: np.ndarray) -> dict[str, float]:
    """How many are wrong and how many flagged, and how many of these are."""
    flagged = found.suspected
    return {"wrong": int(wrong.sum()), "flagged": int(flagged.sum()), "right": int((flagged & wrong).sum())}


def measured(name: str, seed: int, folder: Path) -> list[record.Row]:
    """The first audit, and one after each way to clean."""
    x, label, true = dirty(name, seed, folder)
    overlap = "possible" if name == "stars" else "none"
    first = gl.audit(x, label, overlap=overlap, seed=seed)
    told = [{"way": "first", **scored(first, label != true)}]
    for way in WAYS:
        given, stay = cleaned(first, label, way)
        second = gl.audit(x[stay], given[stay], overlap=overlap, seed=seed)
        told.append({"way": way, **scored(second, (given != true)[stay])})
    return [record.record("audited again", name=name, seed=seed, **row) for row in told]


def show(path: Path) -> None:
    """A line a set and way: means over the seeds."""
    found: dict[tuple[str, str], list[record.Row]] = {}
    for row in record.rows(path):
        found.setdefault((row["name"], row["way"]), []).append(row)
    for (name, way), rows in found.items():
        means = [mean(row[key] for row in rows) for key in ("wrong", "flagged", "right")]
        print(f"{name:12} {way:6}", *(f"{value:6.1f}" for value in means), len(rows))


def main() -> None:
    """Measure what is asked for."""
    given = record.asked_of_data(__doc__, RESULTS, seeds=3)
    warnings.simplefilter("ignore")
    for name in SETS:
        for seed in given.seeds:
            for row in measured(name, seed, given.data):
                record.append(row, given.out)
    show(given.out)
