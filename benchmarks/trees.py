"""Boosted trees on contaminated tables: their own objectives, the Gray objective, audit and refined fit.

    python benchmarks/trees.py --data FOLDER --out results/trees.jsonl
    python benchmarks/trees.py --summary --out results/trees.jsonl

Each table in three states: a fifth of the labels flipped; a fifth of the rows from a class that was taken
out, with a fifth of the other labels flipped (mix); and clean. A third of the rows, at most 2,000, is kept
aside with true labels; at most 400 of the others are learned from. All libraries have their default
parameters and one thread. Seconds are of CPU, those of refined fits without their audit, which has a row.

    gl+refine                our network
    lgbm, xgb                their own objectives
    lgbm gray, xgb gray      the Gray objective
    lgbm+refine              GrayClassifier(network=LGBMClassifier(), refine=True)
    lgbm+drop                trees fitted without what the same audit suspects
    lgbm oracle              trees on the samples that belong, with their true labels

Audits: "networks" is gl.audit(X, y), the others gl.audit(X, y, model=...).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_iris
from sklearn.metrics import average_precision_score

sys.path.insert(0, str(Path(__file__).resolve().parent))
import audit_cells as cells
import record

import graylearn as gl
from graylearn.data import Contaminated, contaminate, load
from graylearn.data.splits import stratified_choice
from graylearn.estimator.networks import logits_of
from graylearn.estimator.pipeline import Stage, Stages
from graylearn.integrations.trees import gray_objective

REVISION = 1
TABLES = ("skyserver", "stellar", "speech", "wine", "iris", "wineqt", "abalone", "digits", "arrhythmia")
SETTINGS = ("flip20", "mix", "clean")
MAX_TRAIN, MAX_TEST = 400, 2000


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

    def __init__(self, table: str, setting: str, seed: int, data: Path) -> None:
        source = source_of(table, data)
        if setting != "mix":  # all classes belong
            x, y = np.concatenate([source.x, source.ood_x]), np.concatenate([source.y, source.ood_group])
            source = cells.Source(x, y, source.ood_x, source.ood_group)
        test = np.zeros(len(source.y), dtype=bool)
        test[stratified_choice(source.y, min(MAX_TEST, len(source.y) // 3), seed)] = True
        rows = np.flatnonzero(~test)
        if len(rows) > MAX_TRAIN:
            rows = rows[stratified_choice(source.y[rows], MAX_TRAIN, seed)]
        self.data: Contaminated = contaminate(
            source.x[rows].astype(np.float32),
            source.y[rows],
            source.ood_x.astype(np.float32),
            alpha=0.2 if setting == "mix" else 0.0,
            flip=0.0 if setting == "clean" else 0.2,
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


def lgbm(split: Split) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=split.seed, n_jobs=1, verbosity=-1)


def lgbm_gray(split: Split) -> Any:
    from graylearn.integrations.lightgbm import GrayLGBMClassifier

    return GrayLGBMClassifier(random_state=split.seed, n_jobs=1, verbosity=-1)


def xgb(split: Split) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=split.seed, n_jobs=1)


def xgb_gray(split: Split) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=split.seed, n_jobs=1, objective=gray_objective)


MODELS: dict[str, Callable[[Split], Any]] = {
    "lgbm": lgbm,
    "lgbm gray": lgbm_gray,
    "xgb": xgb,
    "xgb gray": xgb_gray,
}
AUDITS = ("networks", "lgbm")


class Given(Stages):
    """Stages of a pipeline whose audit was made before."""

    def __init__(self, audit: gl.Audit) -> None:
        self.audit = audit

    def keep(self, stage: Stage, make: Callable[[], Any]) -> Any:
        return self.audit if stage == "audit" else make()


class Refined:
    """A refined fit on an audit that was made before, without the folds that only `reject_at` reads."""

    def __init__(self, split: Split, audit: gl.Audit, **parameters: Any) -> None:
        self.made = gl.GrayClassifier(random_state=split.seed, device="cpu", refine=True, **parameters)
        self.result = self.made._pipeline(split.x, split.y, None, None, Given(audit)).run()
        self.refined_ = self.result.refined

    def predict(self, x: np.ndarray) -> np.ndarray:
        rows = self.made.encoder_.transform(x)
        return logits_of(self.result.network, rows, self.result.preparation).argmax(axis=1)


def fits(split: Split, audits: dict[str, gl.Audit]) -> dict[str, Callable[[], Any]]:
    """What to fit, by name."""
    clean, audit = split.data.clean(), audits["lgbm"]
    return {
        "gl+refine": lambda: Refined(split, audits["networks"]),
        **{name: lambda make=make: make(split).fit(split.x, split.y) for name, make in MODELS.items()},
        "lgbm+refine": lambda: Refined(split, audit, network=lgbm(split)),
        "lgbm+drop": lambda: lgbm(split).fit(audit.clean(split.x), audit.clean(split.y)),
        "lgbm oracle": lambda: lgbm(split).fit(np.asarray(clean.x), clean.y),
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


def measure(table: str, setting: str, seed: int, data: Path) -> list[dict[str, Any]]:
    split = Split(table, setting, seed, data)
    rows, audits = [], {}
    for name in AUDITS:
        began = time.process_time()
        model = None if name == "networks" else MODELS[name](split)
        audits[name] = gl.audit(split.x, split.y, model=model, seed=seed)
        seconds = time.process_time() - began
        rows.append({"what": "audit", "method": name, **judged(split, audits[name]), "seconds": seconds})
    for name, fit in fits(split, audits).items():
        began = time.process_time()
        fitted = fit()
        seconds = time.process_time() - began
        rows.append(
            {"what": "fit", "method": name, "accuracy": split.accuracy(fitted), "seconds": seconds}
            | ({"refined": bool(fitted.refined_)} if name.endswith("refine") else {})
        )
    where = {"table": table, "setting": setting, "seed": seed, "revision": REVISION}
    size = {"samples": len(split.y), "columns": split.x.shape[1], "classes": len(split.data.classes)}
    return [record.record("trees", **where, **size, **row) for row in rows]


def read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in rows if row["revision"] == REVISION]


def summary(rows: list[dict[str, Any]]) -> str:
    """Tables in Markdown: means over seeds, and over tables."""
    lines = []
    for setting in SETTINGS:
        kinds = [("fit", "accuracy"), ("audit", "f1" if setting != "clean" else "flagged")]
        kinds += [("audit", "average_precision")] if setting != "clean" else []
        for what, measured in kinds:
            found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
            for row in rows:
                if row["setting"] == setting and row["what"] == what:
                    found[row["method"]][row["table"]].append(row[measured])
            if not found:
                continue
            tables = [name for name in TABLES if any(name in each for each in found.values())]
            lines += [f"\n{setting}, {what}, {measured}\n", f"| | {' | '.join(tables)} | mean |"]
            lines.append("|---|" + "---:|" * (len(tables) + 1))
            for method, each in found.items():
                means = [float(np.mean(each[name])) if each[name] else np.nan for name in tables]
                form = "{:.1f}" if measured == "accuracy" else "{:.3f}"
                cells_ = " | ".join(form.format(value) for value in [*means, np.nanmean(means)])
                lines.append(f"| {method} | {cells_} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--out", type=Path, default=Path("results/trees.jsonl"))
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--summary", action="store_true", help="show what was measured, and measure nothing")
    args = parser.parse_args()
    if args.summary:
        print(summary(read(args.out)))
        return
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    done = {(row["table"], row["setting"], row["seed"]) for row in read(args.out)}
    for setting in args.settings:
        for seed in range(args.seeds):
            for table in args.tables:
                if (table, setting, seed) in done:
                    continue
                for row in measure(table, setting, seed, args.data):
                    record.append(row, args.out)
                print(table, setting, seed, flush=True)


if __name__ == "__main__":
    main()
