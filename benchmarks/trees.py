"""Boosted trees and networks on contaminated tables: fits and refined fits.

    python -m benchmarks trees --data FOLDER

Each table in four states: a fifth of the labels flipped; a fifth of the rows from a class that was removed
(foreign); that with a fifth of the other labels flipped (mix); and clean. A third of the rows, at most 2,000,
is kept aside with true labels; at most 400 of the others are learned from, and of the four larger tables at
most 4,000 too. Default parameters, one thread. Seconds are of CPU, of refined fits without their audit.

    gl, gl+refine            our network; our committee on what the audit believes
    hgb, hgb+refine          scikit-learn's boosted trees; GrayClassifier(network="trees", refine=True)
    gl oracle, hgb oracle    on the samples that belong, with their true labels

The refined networks learn what gl.audit(X, y) believes, the refined trees what gl.audit(X, y, model=...)
does. A later run adds missing rows.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier

import graylearn as gl
from benchmarks import audit_cells as cells
from benchmarks import record
from benchmarks.audit_cells import Setting, Split
from graylearn.estimator.fitting import planned
from graylearn.estimator.networks import logits_of
from graylearn.estimator.pipeline import Stage, Stages
from reproduction.catalog import load

REVISION = 2
NAMES = ("skyserver", "stellar", "speech", "wine", "iris", "wineqt", "abalone", "digits", "arrhythmia")
LARGER = ("skyserver", "stellar", "abalone", "arrhythmia")
SIZES = (400, 4000)
"""Rows that are learned from, at most; the second of LARGER alone."""
SETTINGS = {
    "flip20": Setting(flip=0.2), "foreign": Setting(0.2), "mix": Setting(0.2, 0.2), "clean": Setting(),
}  # fmt: skip
"""The shares of rows that do not belong, and of wrong labels among the others."""
MAX_TEST = 2000
RESULTS = record.RESULTS / "trees.jsonl"


def source_of(table: str, data: Path) -> cells.Source:
    """Rows of all classes but one, and those of that one."""
    if table == "iris":
        return cells._split(*load_iris(return_X_y=True), [2])
    if table == "abalone":
        samples = load("abalone", data, split="all")
        return cells._split(samples.x.to_numpy(dtype=np.float64), samples.y, [0])
    return cells.CELLS[table](data, data)


def split_of(table: str, size: int, setting: str, seed: int, data: Path) -> Split:
    source, shares = source_of(table, data), SETTINGS[setting]
    if not shares.alpha:  # all classes belong
        x, y = np.concatenate([source.x, source.ood_x]), np.concatenate([source.y, source.ood_group])
        source = cells.Source(x, y, source.ood_x, source.ood_group)
    return Split(source, shares, seed, MAX_TEST, cap=size)


def hgb(split: Split) -> Any:
    return HistGradientBoostingClassifier(random_state=split.seed)


METHODS = ("gl", "gl+refine", "hgb", "hgb+refine", "gl oracle", "hgb oracle")


class Given(Stages):
    """Stages of a pipeline whose audit was made before."""

    def __init__(self, audit: gl.Audit) -> None:
        self.audit = audit

    def keep(self, stage: Stage, make: Callable[[], Any]) -> Any:
        return self.audit if stage == "audit" else make()


class Fitted:
    """A fit by our pipeline on an audit made before, without the folds that only `reject_at` reads."""

    def __init__(
        self, split: Split, x: np.ndarray, y: np.ndarray, audit: gl.Audit | None = None, **parameters: Any
    ) -> None:
        way: dict[str, Any] = {"audit": None} if audit is None else {"refine": True}
        self.made = gl.GrayClassifier(random_state=split.seed, device="cpu", **way, **parameters)
        stages = Stages() if audit is None else Given(audit)
        self.result = planned(self.made, x, y, stages=stages).run()
        self.refined_ = self.result.refined

    def predict(self, x: np.ndarray) -> np.ndarray:
        rows = self.made.encoder_.transform(x)
        return logits_of(self.result.network, rows, self.result.preparation).argmax(axis=1)


def fits(split: Split) -> dict[str, Callable[[], Callable[[], Any]]]:
    """What to fit, by name: each makes its audit, if it needs one, before the clock starts."""
    clean = split.data.clean()
    true = np.asarray(clean.x), clean.y

    def refined(model: Any, **parameters: Any) -> Callable[[], Any]:
        audit = gl.audit(split.x, split.y, model=model, seed=split.seed)
        return lambda: Fitted(split, split.x, split.y, audit, **parameters)

    return {
        "gl": lambda: lambda: Fitted(split, split.x, split.y),
        "gl+refine": lambda: refined(None),
        "hgb": lambda: lambda: hgb(split).fit(split.x, split.y),
        "hgb+refine": lambda: refined(hgb(split), network=hgb(split)),
        "gl oracle": lambda: lambda: Fitted(split, *true),
        "hgb oracle": lambda: lambda: hgb(split).fit(*true),
    }


def measure(
    table: str, size: int, setting: str, seed: int, data: Path, done: set[str]
) -> list[dict[str, Any]]:
    """Rows of the fits but those that are done."""
    split = split_of(table, size, setting, seed, data)
    rows: list[dict[str, Any]] = []
    for name, prepare in fits(split).items():
        if name in done:
            continue
        fit = prepare()
        began = time.process_time()
        fitted = fit()
        seconds = time.process_time() - began
        rows.append(
            {"method": name, "accuracy": split.accuracy(fitted.predict(split.test_x)), "seconds": seconds}
            | ({"refined": bool(fitted.refined_)} if name.endswith("refine") else {})
        )
    where = {"table": table, "size": size, "setting": setting, "seed": seed, "revision": REVISION}
    shape = {"samples": len(split.y), "columns": split.x.shape[1], "classes": len(split.data.classes)}
    return [record.record("trees", **where, **shape, **row) for row in rows]


def read(path: Path = RESULTS) -> list[dict[str, Any]]:
    return [{"size": SIZES[0]} | row for row in record.rows(path)]  # revision 1 had that size alone


Values = dict[str, dict[str, list[float]]]
"""One value per seed, by method and table."""


def measured(setting: str, size: int) -> Values:
    """Accuracy by method and table, of the seeds that all methods have; of two rows of a cell the later."""
    found = {
        (row["method"], row["table"], row["seed"]): row["accuracy"]
        for row in read()
        if (row["setting"], row["size"]) == (setting, size)
    }
    values: Values = {method: {} for method in METHODS}
    for name in NAMES:
        seeds = {seed for _, table, seed in found if table == name}
        seeds = {seed for seed in seeds if all((method, name, seed) in found for method in METHODS)}
        for method in METHODS if seeds else ():
            values[method][name] = [found[method, name, seed] for seed in sorted(seeds)]
    return values


def of_means(size: int) -> str:
    """Accuracy in each state of the data, means over the tables, whose number is in brackets."""
    names = {"flip20": "flipped", "foreign": "foreign", "mix": "both", "clean": "clean"}
    core = {setting: measured(setting, size) for setting in names}
    body = []
    for method in METHODS:
        cells = [mean(map(mean, core[setting][method].values())) for setting in names]
        body.append([method, *(f"{each:.1f}" for each in cells), f"{mean(cells):.1f}"])
    tables = {setting: len(core[setting][METHODS[0]]) for setting in names}
    return record.markdown(["", *(f"{names[each]} ({tables[each]})" for each in names), "mean"], body)


LAB_TABLES = {
    "trees.md": {
        "means, 400": lambda: of_means(400),
        "means, 4,000": lambda: of_means(4000),
    }
}


def main() -> None:
    parser = record.parser(str(__doc__), RESULTS)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--tables", nargs="+", default=list(NAMES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS))
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    done: dict[Any, set[str]] = defaultdict(set)
    for row in read(args.out):
        cell = row["table"], row["size"], row["setting"], row["seed"]
        done[cell].add(row["method"])
    for seed, size, setting, table in itertools.product(args.seeds, args.sizes, args.settings, args.tables):
        cell = table, size, setting, seed
        if size > SIZES[0] and table not in LARGER:
            continue
        for row in measure(*cell, args.data, done[cell]):
            record.append(row, args.out)
        print(*cell, flush=True)
