"""Wrong labels that gather in one class: are they told from samples of no class?

    python -m benchmarks gathered --data FOLDER      # results/gathered.jsonl, then a table

--data holds banking77-train.csv; digits come with scikit-learn. Half of the labels of one digit, or of five
of the 77 intents, are drawn at random; `everywhere` has as many, drawn over all classes.
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
from graylearn.audit.kinds import OOD, SURE

RESULTS = Path(__file__).resolve().parent.parent / "results" / "gathered.jsonl"
SETS = {"digits": 1, "sentences": 5}
"""How many classes have wrong labels."""
WAYS = ("gathered", "everywhere")
KEYS = ("wrong", "flagged", "right", "ood", "sure_ood")


@cache
def table(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features of a set and its true labels."""
    if name == "digits":
        return load_digits(return_X_y=True)
    read = pd.read_csv(folder / "banking77-train.csv").sample(3000, random_state=0)
    return gl.data.embed_text(read["text"].tolist()), pd.factorize(read["category"], sort=True)[0]


def measured(name: str, way: str, seed: int, folder: Path) -> dict[str, int]:
    """How many are wrong and flagged, right of these, and `ood` of the right ones."""
    random = np.random.default_rng(seed)
    x, true = table(name, folder)
    classes = int(true.max()) + 1
    among = np.flatnonzero(np.isin(true, random.choice(classes, SETS[name], replace=False)))
    drawn = random.choice(among if way == "gathered" else len(true), len(among) // 2, replace=False)
    label = true.copy()
    label[drawn] = random.integers(classes, size=len(drawn))
    found = gl.audit(x, label, overlap="none", seed=seed)
    right = found.suspected & (label != true)
    ood = right & (found.kind == OOD)
    counts = (label != true, found.suspected, right, ood, ood & (found.level == SURE))
    return {key: int(count.sum()) for key, count in zip(KEYS, counts, strict=True)}


def main() -> None:
    """Measure what is asked for; a line a set and way, means over the seeds."""
    given = record.asked_of_data(__doc__, RESULTS, seeds=3)
    warnings.simplefilter("ignore")
    for name in SETS:
        for way in WAYS:
            told = [measured(name, way, seed, given.data) for seed in given.seeds]
            for seed, row in zip(given.seeds, told, strict=True):
                record.append(record.record("gathered", name=name, way=way, seed=seed, **row), given.out)
            print(f"{name:10} {way:11}", *(f"{mean(row[key] for row in told):6.1f}" for key in KEYS))
