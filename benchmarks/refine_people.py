"""Accuracy after the refined fit where people, or noise like theirs, got the labels wrong.

    python -m benchmarks refine_people --data FOLDER --features FOLDER --seeds 0 1 2

CIFAR-10 features with the labels of CIFAR-10N, features of CIFAR-10 and Banking77 whose labels go wrong by
pairs and by feature (benchmarks/human_noise_sets.py), and the 329 rows of speech with labels flipped evenly.
Rows, methods and tables are those of benchmarks/refine.py, whose output they join. "relabelled": a committee
on the labels that the audit suggests, less the samples it finds no class for.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import human_noise_sets as sets
from benchmarks import record, refine, refine_tables
from graylearn.audit import audit
from graylearn.data import Contaminated
from graylearn.data.splits import stratified_choice
from reproduction.catalog import load

PEOPLE = ("aggregate", "worst")
DRAWN = ("pairs 0.2", "pairs 0.4", "by-feature 0.2", "by-feature 0.4")
CELLS = {"cifar10": (*PEOPLE, *DRAWN), "banking77": DRAWN, "speech": ("uniform 0.2",)}
ROWS_OF_PEOPLE, TEST_OF_PEOPLE = 2000, 1000
METHODS = (
    "oracle", "standard", "gl", "gl+refine", "gl+refine x1", *refine.COMMITTEES, "choose", "relabelled",
    "cleanlab",
)  # fmt: skip


def made(cell: str, setting: str, seed: int, folders: sets.Folders) -> tuple[sets.Case, np.ndarray]:
    """A set with its labels as given, and which of its rows are kept aside to test on."""
    if setting in PEOPLE:
        case = sets.people(setting, seed, folders, rows=ROWS_OF_PEOPLE + TEST_OF_PEOPLE)
        return case, np.arange(len(case.y)) >= ROWS_OF_PEOPLE
    noise, rate = setting.split()
    if cell == "speech":
        samples = load(cell, folders.data, split="all")
        x, y = samples.x.to_numpy(np.float32), samples.y
    else:
        x, y = sets.drawn_source(cell, folders, seed)
    random = np.random.default_rng([seed, round(1000 * float(rate)), list(sets.NOISES).index(noise)])
    given = sets.NOISES[noise](x, y, float(rate), random).astype(np.int64)
    test = np.zeros(len(y), dtype=bool)
    test[stratified_choice(y, len(y) // 3, seed)] = True
    return sets.Case(x, given, y, int(y.max()) + 1, cell in sets.ONE_TRUE_CLASS), test


class Split(refine.Split):
    """One training set whose labels are wrong as people err, and rows with true labels to test on."""

    def __init__(self, cell: str, setting: str, seed: int, folders: sets.Folders) -> None:
        case, test = made(cell, setting, seed, folders)
        assert case.x is not None
        rows = np.flatnonzero(~test)
        self.data = Contaminated(
            case.x[rows],
            case.y[rows],
            tuple(range(case.num_classes)),
            rows,
            "array",
            is_ood=np.zeros(len(rows), dtype=bool),
            is_flipped=case.bad[rows],
            true_y=case.true_y[rows],
            source=rows,
        )
        self.test_x, self.test_y = case.x[test], case.true_y[test]
        self.x, self.y, self.seed = np.asarray(self.data.x), self.data.y, seed


def relabelled(split: Split) -> dict[str, Any]:
    """A committee on the set as the audit would have it."""
    found = audit(split.x, split.y, seed=split.seed)
    kept = found.suggested >= 0
    return refine.committee(split, split.x[kept], found.suggested[kept])


def measure(
    cell: str, setting: str, seed: int, methods: list[str], folders: sets.Folders
) -> list[dict[str, Any]]:
    """Rows of all methods on one set."""
    split = Split(cell, setting, seed, folders)
    rows = []
    for method in methods:
        began = time.perf_counter()
        row = relabelled(split) if method == "relabelled" else refine.one(split, method)
        row["seconds"] = time.perf_counter() - began
        row["wrong"] = float(split.data.is_flipped.mean())
        rows.append(refine.row_of(split, (cell, setting, seed, method), row))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the tables and of cifar-10n")
    parser.add_argument("--features", type=Path, required=True, help="folder of the features")
    parser.add_argument("--cells", nargs="+", default=list(CELLS), choices=list(CELLS))
    parser.add_argument("--settings", nargs="+", help="the settings to measure; all unless told")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--out", type=Path, default=refine_tables.RESULTS)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    folders = sets.Folders(args.data, args.features, args.features)
    done = {(r["cell"], r["setting"], r["seed"], r["method"]) for r in refine_tables.read(args.out)}
    for seed in args.seeds:
        for cell in args.cells:
            for setting in CELLS[cell]:
                left = [m for m in args.methods if (cell, setting, seed, m) not in done]
                if not left or (args.settings and setting not in args.settings):
                    continue
                for row in measure(cell, setting, seed, left, folders):
                    record.append(record.record("refine", **row), args.out)
                print(cell, setting, seed, flush=True)
