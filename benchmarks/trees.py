"""Boosted trees and networks on contaminated tables: fits, audits and refined fits.

    python -m benchmarks trees --data FOLDER

Each table in four states: a fifth of the labels flipped; a fifth of the rows from a class that was removed
(foreign); that with a fifth of the other labels flipped (mix); and clean. A third of the rows, at most 2,000,
is kept aside with true labels; at most 400 of the others are learned from, and of the four larger tables at
most 4,000 too. Default parameters, one thread. Seconds are of CPU, of refined fits without their audit.

    gl, gl+refine            our network; our committee on what the audit believes
    hgb, hgb+refine          scikit-learn's boosted trees; GrayClassifier(network="trees", refine=True)
    gl oracle, hgb oracle    on the samples that belong, with their true labels

Audits: "networks" is gl.audit(X, y), "hgb" gl.audit(X, y, model=...). A later run adds missing rows.
"""

from __future__ import annotations

import functools
import itertools
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score

import graylearn as gl
from benchmarks import audit_cells as cells
from benchmarks import record
from graylearn.data import Contaminated, contaminate
from graylearn.data.splits import stratified_choice
from graylearn.estimator.networks import logits_of
from graylearn.estimator.pipeline import Stage, Stages
from reproduction.catalog import load

REVISION = 2
NAMES = ("skyserver", "stellar", "speech", "wine", "iris", "wineqt", "abalone", "digits", "arrhythmia")
LARGER = ("skyserver", "stellar", "abalone", "arrhythmia")
SIZES = (400, 4000)
"""Rows that are learned from, at most; the second of LARGER alone."""
SETTINGS = {"flip20": (0.0, 0.2), "foreign": (0.2, 0.0), "mix": (0.2, 0.2), "clean": (0.0, 0.0)}
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


class Split:
    """A contaminated training set, and clean samples to test on."""

    def __init__(self, table: str, size: int, setting: str, seed: int, data: Path) -> None:
        source = source_of(table, data)
        alpha, flip = SETTINGS[setting]
        if not alpha:  # all classes belong
            x, y = np.concatenate([source.x, source.ood_x]), np.concatenate([source.y, source.ood_group])
            source = cells.Source(x, y, source.ood_x, source.ood_group)
        test = np.zeros(len(source.y), dtype=bool)
        test[stratified_choice(source.y, min(MAX_TEST, len(source.y) // 3), seed)] = True
        rows = np.flatnonzero(~test)
        if len(rows) > size:
            rows = rows[stratified_choice(source.y[rows], size, seed)]
        self.data: Contaminated = contaminate(
            source.x[rows].astype(np.float32),
            source.y[rows],
            source.ood_x.astype(np.float32),
            alpha=alpha,
            flip=flip,
            on_shortage="subsample",
            seed=seed,
        )
        classes = np.asarray(self.data.classes)
        known = test & np.isin(source.y, classes)
        self.test_x, self.test_y = (
            source.x[known].astype(np.float32),
            np.searchsorted(classes, source.y[known]),
        )
        self.x, self.y, self.seed = np.asarray(self.data.x), self.data.y, seed
        self.bad = self.data.is_ood | self.data.is_flipped

    def accuracy(self, model: Any) -> float:
        return float(100 * np.mean(model.predict(self.test_x) == self.test_y))


def hgb(split: Split) -> Any:
    return HistGradientBoostingClassifier(random_state=split.seed)


METHODS = ("gl", "gl+refine", "hgb", "hgb+refine", "gl oracle", "hgb oracle")
AUDITS = ("networks", "hgb")
AUDIT_OF = {"gl+refine": "networks", "hgb+refine": "hgb"}


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
        self.result = self.made._pipeline(x, y, None, None, stages).run()
        self.refined_ = self.result.refined

    def predict(self, x: np.ndarray) -> np.ndarray:
        rows = self.made.encoder_.transform(x)
        return logits_of(self.result.network, rows, self.result.preparation).argmax(axis=1)


def fits(split: Split, audit: Callable[[str], gl.Audit]) -> dict[str, Callable[[], Any]]:
    """What to fit, by name; audit: that of this name, made when it is needed."""
    clean = split.data.clean()
    true = np.asarray(clean.x), clean.y
    return {
        "gl": lambda: Fitted(split, split.x, split.y),
        "gl+refine": lambda: Fitted(split, split.x, split.y, audit("networks")),
        "hgb": lambda: hgb(split).fit(split.x, split.y),
        "hgb+refine": lambda: Fitted(split, split.x, split.y, audit("hgb"), network=hgb(split)),
        "gl oracle": lambda: Fitted(split, *true),
        "hgb oracle": lambda: hgb(split).fit(*true),
    }


def judged(split: Split, audit: gl.Audit) -> dict[str, float]:
    """How well an audit found what is bad; on a clean set, what it flagged."""
    suspected, bad = audit.suspected, split.bad
    row = {"flagged": float(suspected.mean())}
    if bad.any():
        right = float((suspected & bad).sum())
        row |= {"f1": 2 * right / float(suspected.sum() + bad.sum())}
        row |= {"average_precision": float(average_precision_score(bad, audit.score))}
    return row


def measure(
    table: str, size: int, setting: str, seed: int, data: Path, done: set[str]
) -> list[dict[str, Any]]:
    """Rows of the methods' audits and fits but those that are done: "audit lgbm", "fit lgbm" and so on."""
    split = Split(table, size, setting, seed, data)
    rows: list[dict[str, Any]] = []

    @functools.cache
    def audit(name: str) -> gl.Audit:
        began = time.process_time()
        model = None if name == "networks" else hgb(split)
        found = gl.audit(split.x, split.y, model=model, seed=seed)
        seconds = time.process_time() - began
        if f"audit {name}" not in done:
            rows.append({"what": "audit", "method": name, **judged(split, found), "seconds": seconds})
        return found

    for name in AUDITS:
        if f"audit {name}" not in done:
            audit(name)
    for name, fit in fits(split, audit).items():
        if f"fit {name}" in done:
            continue
        if "+" in name:  # made before the clock starts
            audit(AUDIT_OF[name])
        began = time.process_time()
        fitted = fit()
        seconds = time.process_time() - began
        rows.append(
            {"what": "fit", "method": name, "accuracy": split.accuracy(fitted), "seconds": seconds}
            | ({"refined": bool(fitted.refined_)} if name.endswith("refine") else {})
        )
    where = {"table": table, "size": size, "setting": setting, "seed": seed, "revision": REVISION}
    shape = {"samples": len(split.y), "columns": split.x.shape[1], "classes": len(split.data.classes)}
    return [record.record("trees", **where, **shape, **_rounded(row)) for row in rows]


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


def read(path: Path = RESULTS) -> list[dict[str, Any]]:
    return [{"size": SIZES[0]} | row for row in record.rows(path)]  # revision 1 had that size alone


Values = dict[str, dict[str, list[float]]]
"""One value per seed, by method and table."""


def measured(
    methods: Sequence[str], core: Sequence[str], setting: str, size: int, what: str, name: str
) -> Values:
    """One measure by method and table, of the seeds that all of `core` have; a method that lacks one of
    them has no value there. Of two rows of one cell the later counts.
    """
    found = {
        (row["method"], row["table"], row["seed"]): row[name]
        for row in read()
        if (row["setting"], row["size"], row["what"]) == (setting, size, what)
    }
    values: Values = {method: {} for method in methods}
    for name in NAMES:
        seeds = {seed for _, table, seed in found if table == name}
        seeds = {seed for seed in seeds if all((method, name, seed) in found for method in core)}
        for method in methods:
            own = [found[method, name, seed] for seed in sorted(seeds) if (method, name, seed) in found]
            if seeds and len(own) == len(seeds):
                values[method][name] = own
    return {method: line for method, line in values.items() if line}


def of_means(size: int) -> str:
    """Accuracy in each state of the data, means over the tables, whose number is in brackets."""
    names = {"flip20": "flipped", "foreign": "foreign", "mix": "both", "clean": "clean"}
    core = {setting: measured(METHODS, METHODS, setting, size, "fit", "accuracy") for setting in names}
    body = []
    for method in METHODS:
        cells = [mean(map(mean, core[setting][method].values())) for setting in names]
        body.append([method, *(f"{each:.1f}" for each in cells), f"{mean(cells):.1f}"])
    tables = {setting: len(core[setting][METHODS[0]]) for setting in names}
    return record.markdown(["", *(f"{names[each]} ({tables[each]})" for each in names), "mean"], body)


def of_audits() -> str:
    """F1 and average precision of audits by networks and by trees, means over tables."""
    body = []
    for setting, name in (("flip20", "flipped"), ("foreign", "foreign"), ("mix", "both")):
        for method in ("networks", "hgb"):
            cells = [
                measured(("networks", "hgb"), ("networks", "hgb"), setting, size, "audit", what)[
                    method
                ].values()
                for what in ("f1", "average_precision")
                for size in SIZES
            ]
            body.append([f"{name}, {method}", *(f"{mean(map(mean, each)):.3f}" for each in cells)])
    head = ["", "F1, 400 rows", "F1, 4,000", "average precision, 400", "average precision, 4,000"]
    return record.markdown(head, body)


LAB_TABLES = {
    "trees.md": {
        "means, 400": lambda: of_means(400),
        "means, 4,000": lambda: of_means(4000),
        "audits": of_audits,
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
        done[cell].add(f"{row['what']} {row['method']}")
    for seed, size, setting, table in itertools.product(args.seeds, args.sizes, args.settings, args.tables):
        cell = table, size, setting, seed
        if size > SIZES[0] and table not in LARGER:
            continue
        for row in measure(*cell, args.data, done[cell]):
            record.append(row, args.out)
        print(*cell, flush=True)
